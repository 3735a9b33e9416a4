// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/sched/core/host_threads.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <thread>

TEST_CASE("a thread is known as a host from its first poll on, and others are not") {
  auto& known = thrum::os::process_wide<thrum::sched::host_threads>::get();
  thrum::runtime runtime(support::with_procs(1));
  std::thread([&] {
    CHECK(known.key.get() == nullptr);
    runtime.poll();
    CHECK(known.key.get() != nullptr);
    CHECK(known.help.load() != nullptr);
    std::thread([&] { CHECK(known.key.get() == nullptr); }).join();
  }).join();
}
