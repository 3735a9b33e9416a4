// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// One object in several shared objects of a process: tests/opt_in/shared_objects_test.cpp.

#include <thrum/detail/os/parts.hpp>

#if THRUM_OS_ELF

#include <thrum/detail/os/posix/process_wide.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace {

template <int number, int size>
struct alignas(64) kept {
  static constexpr std::string_view process_name = number == 0   ? "elf_test::first"
                                                   : number == 1 ? "elf_test::second"
                                                                 : "elf_test::large";
  unsigned char bytes[size] = {};
};

template <class T>
std::uintptr_t address_of() {
  return reinterpret_cast<std::uintptr_t>(&thrum::os::process_wide<T>::get());
}

constinit int early_ones = 0;

/// Counts how often it is made.
struct early {
  static constexpr std::string_view process_name = "elf_test::early";
  constexpr early() noexcept {
    if (!std::is_constant_evaluated()) {
      ++early_ones;
    }
  }
  int value = 7;
};

const int early_ones_at_first = early_ones;  // as the first variable of this file is initialised

}  // namespace

TEST_CASE("what is process-wide is made while the program is loaded, before variables are") {
  CHECK(early_ones == 1);
  CHECK(thrum::os::process_wide<early>::get().value == 7);
  CHECK(early_ones == 1);
  if (THRUM_HAS_AT_LOAD) {
    CHECK(early_ones_at_first == 1);
  }
}

TEST_CASE("process-wide memory begins as zeroes, is aligned, and overlaps nothing else") {
  using first = kept<0, 100>;
  using second = kept<1, 100>;
  using large = kept<2, 10'000>;
  CHECK(address_of<first>() % 64 == 0);
  CHECK(address_of<second>() % 64 == 0);
  CHECK(address_of<large>() % 64 == 0);
  thrum::os::process_wide<first>::get() = {};
  for (unsigned char& each : thrum::os::process_wide<first>::get().bytes) {
    each = 1;
  }
  for (unsigned char& each : thrum::os::process_wide<large>::get().bytes) {
    each = 2;
  }
  for (const unsigned char each : thrum::os::process_wide<second>::get().bytes) {
    REQUIRE(each == 0);
  }
  CHECK(thrum::os::process_wide<first>::get().bytes[99] == 1);
}

#endif
