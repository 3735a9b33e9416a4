// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#if defined(_WIN32)

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include "support/catch.hpp"

#include <thread>

TEST_CASE("a thread that asks for short waits comes before those that compute, and no other does") {
  int of_asking = THREAD_PRIORITY_ERROR_RETURN;
  int of_other = THREAD_PRIORITY_ERROR_RETURN;
  std::thread([&] {
    thrum::os::ask_for_short_waits();
    of_asking = ::GetThreadPriority(::GetCurrentThread());
    std::thread([&] { of_other = ::GetThreadPriority(::GetCurrentThread()); }).join();
  }).join();
  CHECK(of_asking == THREAD_PRIORITY_HIGHEST);
  CHECK(of_other == THREAD_PRIORITY_NORMAL);
}

#endif  // _WIN32
