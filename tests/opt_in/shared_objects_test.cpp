// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// One library in a process, though several of its shared objects hold it and hide it: what
// os/posix/process_wide.hpp promises. The objects are tests/shared/plugin.cpp, twice.

#include "support/program.hpp"
#include "support/test.hpp"

#if defined(THRUM_SHARED_HOST) && defined(THRUM_SHARED_HOST_WITH_LIBRARY)

namespace {

support::program_result run_shared_host(const std::string& host, const std::string& mode) {
  return support::run_file(host, mode + " '" THRUM_SHARED_FIRST "' '" THRUM_SHARED_SECOND "'");
}

}  // namespace

TEST_CASE("shared objects that hide the library have one, and know each other's goroutines") {
  for (const char* const mode : {"local", "global"}) {
    const support::program_result r = run_shared_host(THRUM_SHARED_HOST, mode);
    INFO(r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.says("all is one"));
  }
}

TEST_CASE("an executable that hides the library has the one of its shared objects") {
  for (const char* const mode : {"local", "global"}) {
    const support::program_result r = run_shared_host(THRUM_SHARED_HOST_WITH_LIBRARY, mode);
    INFO(r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.says("all is one"));
  }
}

#endif

namespace {

struct first_of_a_kind {
  static constexpr std::string_view process_name = "tests::kind";
  int value = 1;
};

/// The same name with more in it, as from another version of the library.
struct second_of_a_kind {
  static constexpr std::string_view process_name = "tests::kind";
  int value = 2;
  int more = 3;
};

/// The same name and size, as from another shared object.
struct first_once_more {
  static constexpr std::string_view process_name = "tests::kind";
  int value = 4;
};

}  // namespace

TEST_CASE("what is process-wide is found by its name and size, and made once") {
  auto& first = thrum::os::process_wide<first_of_a_kind>::get();
  auto& second = thrum::os::process_wide<second_of_a_kind>::get();
  auto& again = thrum::os::process_wide<first_once_more>::get();
  CHECK(static_cast<void*>(&first) == static_cast<void*>(&again));
  CHECK(static_cast<void*>(&first) != static_cast<void*>(&second));
  CHECK(second.more == 3);
  CHECK(&first == &thrum::os::process_wide<first_of_a_kind>::get());
}
