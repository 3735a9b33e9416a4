// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/options.hpp>

#include <cstddef>
#include <string>

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/program.hpp"

using support::program_result;
using support::run_program;
using support::scoped_environment;

TEST_CASE("a THRUM_MAXPROCS that is no number of processors is ignored") {
  for (const char* text : {"", "x", "-1", "2x", "99999999999999"}) {
    const scoped_environment procs("THRUM_MAXPROCS", text);
    REQUIRE(thrum::options::from_environment().procs == 0);
  }
}

TEST_CASE("the poller is taken from the environment, if it is one that is known") {
  const auto poller = [](const char* text) {
    const scoped_environment named("THRUM_POLLER", text);
    return thrum::options::from_environment().poller;
  };
  CHECK(poller("io_uring") == thrum::poller_kind::io_uring);
  CHECK(poller("usual") == thrum::poller_kind::usual);
  CHECK(poller("") == thrum::poller_kind::usual);
  CHECK(poller("epol") == thrum::poller_kind::usual);
}

TEST_CASE("an unknown THRUM_POLLER is reported") {
  const program_result wrong = run_program("processors", "THRUM_DEBUG= THRUM_POLLER=epol");
  INFO(wrong.text);
  CHECK(wrong.says("thrum: THRUM_POLLER wants io_uring or usual, not 'epol'; it is ignored\n"));
}

#if THRUM_OS_LINUX && !THRUM_POLLER_KQUEUE
TEST_CASE("a program without the header of io_uring names it and uses epoll") {
  const program_result without = run_program("processors", "THRUM_DEBUG= THRUM_POLLER=io_uring");
  INFO(without.text);
  CHECK(without.exit_code == 0);
  CHECK(
      without.says("thrum: the poller io_uring is not part of this program, so epoll is used; "
                   "include <thrum/io_uring.hpp> in one of its source files\n"));
}
#endif

TEST_CASE("THRUM_DEBUG reaches a runtime object, also one that has options of its own") {
  const program_result r = run_program("runtime_objects", "THRUM_DEBUG=schedtrace=20");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK(r.says("gomaxprocs=2 "));
}

TEST_CASE("each word of the environment that is not understood is reported once") {
  const program_result r = run_program(
      "runtime_objects", "THRUM_MAXPROCS=abc THRUM_DEBUG=schedtrac=10,,hogs=many,dump,blocked=0");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  const auto times = [&](const std::string& words) {
    int n = 0;
    for (std::size_t at = 0; (at = r.text.find(words, at)) != std::string::npos; ++at) {
      ++n;
    }
    return n;
  };
  CHECK(times("thrum: THRUM_DEBUG: 'schedtrac=10' is ignored; known are schedtrace, ") == 1);
  CHECK(times("thrum: THRUM_DEBUG: hogs wants a number of time slices, not 'many'") == 1);
  CHECK(times("thrum: THRUM_DEBUG: dump wants 0 or 1, not ''") == 1);
  CHECK(times("thrum: THRUM_MAXPROCS wants a number of processors, not 'abc'") == 1);
  CHECK(times("thrum: ") == 4);
}

TEST_CASE("a THRUM_MAXPROCS that is no number of processors is reported") {
  const program_result wrong = run_program("processors", "THRUM_DEBUG= THRUM_MAXPROCS=abc");
  INFO(wrong.text);
  CHECK(
      wrong.says("thrum: THRUM_MAXPROCS wants a number of processors, not 'abc'; it is ignored\n"));
  CHECK(wrong.says("procs " + std::to_string(thrum::default_procs()) + "\n"));
  const program_result many = run_program("runtime_objects", "THRUM_DEBUG= THRUM_MAXPROCS=5000");
  INFO(many.text);
  CHECK(many.says("thrum: THRUM_MAXPROCS=5000: no more than 4096 processors are used\n"));
}

TEST_CASE("an environment that is understood is not reported") {
  for (const char* const text : {"THRUM_MAXPROCS= THRUM_DEBUG=", "THRUM_MAXPROCS=0",
                                 "THRUM_MAXPROCS=3 THRUM_DEBUG=dump=1,hogs=0,"}) {
    const program_result r = run_program("processors", text);
    INFO(text << ": " << r.text);
    CHECK_FALSE(r.says("thrum: "));
  }
}

TEST_CASE("THRUM_DEBUG=timerslack sets the slack of timers in microseconds") {
  const scoped_environment debug("THRUM_DEBUG", "timerslack=7");
  CHECK(thrum::options::from_environment().timer_slack == std::chrono::microseconds(7));
}

TEST_CASE("THRUM_DEBUG=migrate=1 sets options::migrate") {
  const scoped_environment debug("THRUM_DEBUG", "migrate=1");
  CHECK(thrum::options::from_environment().migrate);
}

TEST_CASE("without an environment the options are the defaults") {
  const scoped_environment debug("THRUM_DEBUG", nullptr);
  const scoped_environment procs("THRUM_MAXPROCS", nullptr);
  const auto o = thrum::options::from_environment();
  REQUIRE(o.procs == 0);
  REQUIRE(o.schedtrace.count() == 0);
  REQUIRE_FALSE(o.migrate);
  REQUIRE(o.preempt == thrum::preemption::async);
}
