// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Processes as POSIX has them: signals, copies of descriptors, programs that are folders.
// How a process ends where there are signals, forks, users, and others that reap.

#include <thrum/io/process.hpp>

#include "support/child.hpp"
#include "support/descriptors.hpp"
#include "support/shell.hpp"
#include "support/test.hpp"

#include <csignal>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using support::has_children;
using support::output_of;
using support::shell;
using thrum::io::exit_status;
using thrum::io::process;
using thrum::io::redirect;

TEST_CASE("a process that a signal has ended tells which one") {
  with_runtime([] {
    const exit_status killed = shell("kill -9 $$").wait();
    CHECK(killed.signal == SIGKILL);
    CHECK(!killed.success());
    CHECK(!killed.exited());
    CHECK(killed.to_string() == "signal 9");
  });
  CHECK(!has_children());
}

IN_RUNTIME("what goes through a program comes back as it was") {
  process p = process::spawn({"cat"}, {.in = redirect::pipe(), .out = redirect::pipe()});
  p.in().write("through a pipe");
  p.in().close();
  CHECK(p.out().read_all() == "through a pipe");
  CHECK(p.wait().success());
  CHECK(output_of("cat", {.in = redirect::null()}).empty());
  CHECK(output_of("echo a; echo b >&2", {.err = redirect::to_output()}) == "a\nb\n");
}

IN_RUNTIME("a process has no more of an environment than it is given") {
  CHECK(output_of("echo $A-$HOME", {.environment = {{"A=1", "PATH=/usr/bin:/bin"}}}) == "1-\n");
  CHECK(output_of("pwd", {.directory = "/usr"}) == "/usr\n");
}

TEST_CASE("a folder cannot be started") {
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // qemu-user makes a fork of the vfork by which the reason would come back
  }
  with_runtime([] {
    std::error_code error;
    CHECK(!process::spawn({"/"}, error));
    CHECK(error == std::errc::permission_denied);
  });
}

IN_RUNTIME("standard streams of ours can be given to a process in any order") {
  // Its output is our error, its error our output: each must be read before it is replaced.
  thrum::io::pipe out;
  thrum::io::pipe err;
  const int saved[2] = {::fcntl(1, F_DUPFD_CLOEXEC, 3), ::fcntl(2, F_DUPFD_CLOEXEC, 3)};
  ::dup2(out.writer().native_handle(), 1);
  ::dup2(err.writer().native_handle(), 2);
  std::error_code error;
  process p = process::spawn({"sh", "-c", "echo o; echo e >&2"},
                             {.out = redirect::to(2), .err = redirect::to(1)}, error);
  ::dup2(saved[0], 1);
  ::dup2(saved[1], 2);
  ::close(saved[0]);
  ::close(saved[1]);
  CHECK(!error);
  CHECK(p.wait().success());
  out.close_write();
  err.close_write();
  CHECK(out.reader().read_all() == "e\n");
  CHECK(err.reader().read_all() == "o\n");
}

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
