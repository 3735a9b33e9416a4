// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The switches that config.hpp works out, the namespace they end up in, padding, and short names.
#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

using thrum::base::cache_line_size;
using thrum::base::padded;

namespace thrum { inline namespace THRUM_ABI { namespace base {
struct probe {};
}}}  // namespace thrum::THRUM_ABI::base

#define TEXT_OF(...) #__VA_ARGS__
#define EXPANDED_TEXT_OF(...) TEXT_OF(__VA_ARGS__)

TEST_CASE("every macro of the configuration is zero or one") {
  for (const int value : {THRUM_OS_LINUX,
                          THRUM_OS_MACOS,
                          THRUM_OS_FREEBSD,
                          THRUM_POLLER_KQUEUE,
                          THRUM_ARCH_X86_64_SYSV,
                          THRUM_ARCH_I686,
                          THRUM_ARCH_AARCH64_AAPCS64,
                          THRUM_ARCH_ARMHF,
                          THRUM_ARCH_RISCV64,
                          THRUM_ARCH_PPC64LE,
                          THRUM_ARCH_S390X,
                          THRUM_ARCH_LOONGARCH64,
                          THRUM_EXCEPTIONS,
                          THRUM_ASAN,
                          THRUM_TSAN,
                          THRUM_CHECKS,
                          THRUM_TRACE,
                          THRUM_HAS_NAKED,
                          THRUM_CALLS_KEEP_FLOATS,
                          THRUM_HAS_ARM_UNWINDER}) {
    CHECK((value == 0 || value == 1));
  }
}

TEST_CASE("exactly one processor is chosen") {
  CHECK(THRUM_ARCH_X86_64_SYSV + THRUM_ARCH_X86_64_WIN64 + THRUM_ARCH_I686 +
            THRUM_ARCH_AARCH64_AAPCS64 + THRUM_ARCH_AARCH64_WIN64 + THRUM_ARCH_ARMHF +
            THRUM_ARCH_RISCV64 + THRUM_ARCH_PPC64LE + THRUM_ARCH_S390X + THRUM_ARCH_LOONGARCH64 ==
        1);
}

TEST_CASE("the inline namespace names the version and every option that is on") {
  const std::string_view name = EXPANDED_TEXT_OF(THRUM_ABI);
  CHECK(name.starts_with("v0_1"));
  CHECK((name.find("_noexc") != name.npos) == (THRUM_EXCEPTIONS == 0));
  CHECK((name.find("_asan") != name.npos) == (THRUM_ASAN == 1));
  CHECK((name.find("_tsan") != name.npos) == (THRUM_TSAN == 1));
  CHECK((name.find("_checks") != name.npos) == (THRUM_CHECKS == 1));
  CHECK((name.find("_trace") != name.npos) == (THRUM_TRACE == 1));
}

TEST_CASE("names of a flavour are reached without naming the flavour") {
  CHECK(std::is_same_v<thrum::base::probe, thrum::THRUM_ABI::base::probe>);
}

TEST_CASE("a body between try and catch runs once, with exceptions or without") {
  int bodies = 0;
  int handlers = 0;
  THRUM_TRY { ++bodies; }
  THRUM_CATCH_ALL {
    ++handlers;
    THRUM_RETHROW;
  }
  CHECK(bodies == 1);
  CHECK(handlers == 0);
}

TEST_CASE("neighbouring padded values never share a cache line") {
  padded<char> values[4] = {};
  for (int i = 1; i < 4; ++i) {
    const auto a = reinterpret_cast<std::uintptr_t>(&values[i - 1].value) / cache_line_size;
    const auto b = reinterpret_cast<std::uintptr_t>(&values[i].value) / cache_line_size;
    CHECK(a != b);
  }
  CHECK(sizeof(padded<char[65]>) == 2 * cache_line_size);
}

TEST_CASE("the short names are the standard memory orders") {
  using namespace thrum::base::orders;
  STATIC_REQUIRE(relaxed == std::memory_order_relaxed);
  STATIC_REQUIRE(acquire == std::memory_order_acquire);
  STATIC_REQUIRE(release == std::memory_order_release);
  STATIC_REQUIRE(acq_rel == std::memory_order_acq_rel);
  STATIC_REQUIRE(seq_cst == std::memory_order_seq_cst);
}
