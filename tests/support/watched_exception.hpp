// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Whether arch::call_watched shows an exception to the observer of the flavour of the library that the including file
// is compiled with.
#ifndef THRUM_TESTS_SUPPORT_WATCHED_EXCEPTION_HPP
#define THRUM_TESTS_SUPPORT_WATCHED_EXCEPTION_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/config.hpp>

#include <atomic>

#if THRUM_EXCEPTIONS

namespace {

int observed_exceptions = 0;

bool own_observer_sees_an_exception() {
  namespace arch = thrum::arch;
  observed_exceptions = 0;
  const arch::exception_observer before = arch::observe_exception.exchange(
      [](const void*) noexcept { ++observed_exceptions; }, std::memory_order_relaxed);
  bool caught = false;
  try {
    arch::call_watched([](void*) { throw 7; }, nullptr);
  } catch (const int&) {
    caught = true;
  }
  arch::observe_exception.store(before, std::memory_order_relaxed);
  return caught && observed_exceptions == 1;
}

}  // namespace

#endif
#endif  // THRUM_TESTS_SUPPORT_WATCHED_EXCEPTION_HPP
