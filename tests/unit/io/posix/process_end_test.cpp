// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a process ends where there are signals, forks, users, and others that reap.

#include <thrum/io/process.hpp>

#include "support/child.hpp"
#include "support/descriptors.hpp"
#include "support/shell.hpp"
#include "support/test.hpp"

#include <csignal>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using support::has_children;
using support::shell;
using thrum::io::process;
using thrum::io::redirect;

IN_RUNTIME("a process gets any signal that is sent to it") {
  process p = shell("exec sleep 60");
  p.signal(SIGINT);
  CHECK(p.wait().signal == SIGINT);
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

IN_RUNTIME("a wait for a process that others have reaped is an error, not a hang") {
  process p = shell("exit 1");
  ::siginfo_t info;
  thrum::blocking([&] { ::waitid(P_PID, static_cast<::id_t>(p.pid()), &info, WEXITED); });
  CHECK(error_of([&] { p.wait(); }) == std::errc::no_child_process);
  std::error_code error;
  CHECK_FALSE(p.wait(error).success());
  CHECK(error == std::errc::no_child_process);
  p.kill();
}
