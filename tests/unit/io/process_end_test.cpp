// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a process ends: told to, killed, detached, reaped by us or by others.

#include <thrum/io/detached_children.hpp>
#include <thrum/io/process.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/descriptors.hpp"
#include "support/error_of.hpp"
#include "support/eventually.hpp"
#include "support/shell.hpp"
#include "support/system_ways.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using support::error_of;
using support::has_children;
using support::shell;
using support::with_procs;
using support::with_runtime;
using thrum::io::exit_status;
using thrum::io::process;
using thrum::io::redirect;

TEST_CASE("a process can be told to end, and made to") {
  with_runtime([] {
    process p = shell("exec sleep 60");
    p.terminate();
    CHECK(p.wait().signal == SIGTERM);
    p.terminate();
    p.kill();
    CHECK(error_of([&] { p.signal(SIGTERM); }) == std::errc::no_such_process);
    process q = shell("exec sleep 60");
    q.kill();
    CHECK(q.wait().signal == SIGKILL);
    process r = shell("exec sleep 60");
    r.signal(SIGINT);
    CHECK(r.wait().signal == SIGINT);
    CHECK(error_of([&] { process().wait(); }) == std::errc::no_child_process);
    process().kill();
  });
}

TEST_CASE("a process that is destroyed is killed and leaves no zombie") {
  with_runtime([] {
    std::int64_t pid = 0;
    {
      process p = shell("exec sleep 60", {.in = redirect::pipe()});
      pid = p.pid();
      CHECK(::kill(static_cast<::pid_t>(pid), 0) == 0);
    }
    CHECK(::kill(static_cast<::pid_t>(pid), 0) == -1);
    process p = shell("exec sleep 60");
    p = shell("exit 1");
    CHECK(p.wait().code == 1);
    { const process ended = shell("exit 0"); }
  });
  CHECK(!has_children());
}

TEST_CASE("after a fork a process is ended by the object of its parent, not by the copy") {
  process p = shell("exec sleep 60");
  const auto result = support::run_in_child([&] {
    { const process copy = std::move(p); }
    ::_exit(7);
  });
  CHECK(result.exit_code == 7);
  CHECK_FALSE(p.try_wait());
  p.terminate();
  CHECK(p.wait().signal == SIGTERM);
}

TEST_CASE("a process that we may not kill lives on when it is destroyed, and is reaped later") {
  if (::geteuid() != 0) {
    return;  // only root has a child that is no longer its own after a change of users
  }
  const auto result = support::run_in_child([] {
    int input[2];
    ::_exit([&] {
      if (!support::open_pipe(input, support::waits::yes)) {
        return 1;
      }
      std::int64_t pid = 0;
      {
        const process p = process::spawn(
            {"cat"},
            {.in = redirect::to(input[0]), .out = redirect::null(), .err = redirect::null()});
        pid = p.pid();
        constexpr ::uid_t nobody = 65534;
        if (::setuid(nobody) != 0) {
          return 2;
        }
      }
      if (::kill(static_cast<::pid_t>(pid), 0) == 0 || errno != EPERM) {
        return 3;
      }
      ::close(input[1]);
      return support::eventually([&] {
        process::spawn({"true"}).wait();
        return !has_children();
      })
                 ? 7
                 : 4;
    }());
  });
  CHECK(result.exit_code == 7);
}

TEST_CASE("a stop ends the wait for a process, and the process") {
  if (!support::has_process_handles) {
    return;  // there it blocks one, and nothing ends it: io/process.hpp says so
  }
  CHECK(support::is_unwound_at_stop([] {
    process p = shell("exec sleep 60");
    p.wait();
  }));
  CHECK(!has_children());
}

TEST_CASE("a detached process lives on, and is reaped when it ends") {
  with_runtime([] {
    thrum::io::pipe line;
    process p = shell("read x; echo $x",
                      {.in = redirect::pipe(), .out = redirect::to(line.writer().native_handle())});
    line.close_write();
    const std::int64_t pid = p.pid();
    thrum::io::pipe_writer to_child = std::move(p.in());
    p.detach();
    CHECK(!p);
    to_child.write("alive\n");
    CHECK(line.reader().read_all() == "alive\n");
    CHECK(support::eventually([&] { return ::kill(static_cast<::pid_t>(pid), 0) == -1; }));
  });
  CHECK(!has_children());
}

TEST_CASE("detached processes are reaped without a runtime, with pidfds and without") {
  for (const bool pidfds : {true, false}) {
    support::allow_process_handles(pidfds);
    with_runtime([] { shell("exec sleep 0.02").detach(); });
    shell("exit 0").detach();
    shell("exec sleep 0.01").detach();
    CHECK(support::eventually([] { return !has_children(); }));
    CHECK(support::eventually([] { return thrum::io_detail::detached_children::size() == 0; }));
  }
  support::allow_process_handles(true);
}

TEST_CASE("starting a process asks none of the detached ones whether it has ended") {
  using thrum::io_detail::detached_children;
  with_runtime([] {
    std::vector<thrum::io::pipe_writer> inputs;
    constexpr std::size_t n = 20;
    for (std::size_t i = 0; i != n; ++i) {
      process p = shell("read line", {.in = redirect::pipe()});
      inputs.push_back(std::move(p.in()));
      p.detach();
    }
    CHECK(detached_children::size() == n);
    const std::uint64_t before = detached_children::looks();
    shell("exit 0").wait();
    if (support::has_process_handles) {  // else all are asked in intervals
      CHECK(detached_children::looks() == before);
    }
    inputs.clear();
    CHECK(support::eventually([] { return detached_children::size() == 0; }));
    if (support::has_process_handles) {
      CHECK(detached_children::looks() == before + n);
    }
  });
  CHECK(!has_children());
}

TEST_CASE("a wait for a process that others have reaped is an error, not a hang") {
  with_runtime([] {
    process p = shell("exit 1");
    ::siginfo_t info;
    thrum::blocking([&] { ::waitid(P_PID, static_cast<::id_t>(p.pid()), &info, WEXITED); });
    CHECK(error_of([&] { p.wait(); }) == std::errc::no_child_process);
    std::error_code error;
    CHECK_FALSE(p.wait(error).success());
    CHECK(error == std::errc::no_child_process);
    p.kill();
  });
}

TEST_CASE("without pidfds a process is waited for, killed and reaped all the same") {
  support::allow_process_handles(false);
  with_runtime(with_procs(1), [] {
    process p = shell("read line; exit 5", {.in = redirect::pipe()});
    CHECK_FALSE(p.try_wait());
    CHECK_FALSE(p.wait_for(3ms));
    std::atomic<int> sum{0};
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] { sum += p.wait().code; });
    }
    p.in().write("go\n");
    CHECK(p.wait_for(support::long_time) == exit_status{5, 0, false});
    group.wait();
    CHECK(sum == 20);
    process q = shell("exec sleep 60");
    q.terminate();
    CHECK(q.wait().signal == SIGTERM);
    { const process killed = shell("exec sleep 60"); }
    shell("exit 0").detach();
    CHECK(support::eventually([] { return !has_children(); }));
  });
  support::allow_process_handles(true);
  CHECK(!has_children());
}
