// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Processes that have ended and that a debugger holds: their parent does not see it.

#include <thrum/detail/io/detached_children.hpp>

#include "support/debugger.hpp"
#include "support/process.hpp"
#include "support/shell.hpp"
#include "support/system_ways.hpp"
#include "support/test.hpp"

#include <csignal>

#include <signal.h>
#include <unistd.h>

using support::debugger_of;
using support::has_children;
using support::shell;
using thrum::io::process;
using thrum::io::redirect;

TEST_CASE("a dead process that a debugger holds is waited for no longer than asked") {
  for (const bool pidfds : {true, false}) {
    support::allow_process_handles(pidfds);
    process p = shell("exec sleep 60");
    support::allow_process_handles(true);
    debugger_of debugger(p.pid());
    if (!debugger.holds()) {
      return;
    }
    with_runtime([&] {
      p.kill();
      REQUIRE(support::eventually([&] { return support::is_zombie(p.pid()); }));
      CHECK_FALSE(p.try_wait());
      CHECK_FALSE(p.wait_for(20ms));
      auto waiter = thrum::spawn([&] { return p.wait(); });
      thrum::sleep_for(20ms);
      debugger.let_go();
      CHECK(waiter.join().signal == SIGKILL);
    });
  }
  CHECK(!has_children());
}

TEST_CASE("a detached process that a debugger holds is reaped when that lets it go") {
  using thrum::io_detail::detached_children;
  CHECK(support::eventually([] { return detached_children::size() == 0; }));  // of earlier tests
  process p = shell("exec sleep 60");
  debugger_of debugger(p.pid());
  if (!debugger.holds()) {
    return;
  }
  const std::int64_t pid = p.pid();
  p.kill();
  p.detach();
  CHECK(support::eventually([&] { return support::is_zombie(pid); }));
  thrum::sleep_for(5ms);
  CHECK(detached_children::size() == 1);
  debugger.let_go();
  CHECK(support::eventually([] { return detached_children::size() == 0; }));
  CHECK(!has_children());
}
