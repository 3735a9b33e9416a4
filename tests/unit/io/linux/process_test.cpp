// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a process has of ours, as Linux tells it.
// Processes that have ended and that a debugger holds: their parent does not see it.

#include <thrum/detail/io/detached_children.hpp>

#include "support/debugger.hpp"
#include "support/process.hpp"
#include "support/shell.hpp"
#include "support/system_ways.hpp"
#include "support/test.hpp"

#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

using support::debugger_of;
using support::has_children;
using support::output_of;
using support::shell;
using thrum::io::process;
using thrum::io::redirect;

TEST_CASE("a process inherits none of our descriptors") {
  // What this program was started with itself.
  std::size_t ours = 0;
  support::for_each_entry("/proc/self/fd", [&](const std::filesystem::path& each) {
    const int fd = std::stoi(each.filename().string());
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(each, gone).string();
    const int flags = ::fcntl(fd, F_GETFD);
    ours += fd != 1 && flags >= 0 && (flags & FD_CLOEXEC) == 0 && target.find("pipe:") == 0 ? 1 : 0;
  });
  with_runtime([&] {
    thrum::io::pipe some;
    thrum::io::file file = thrum::io::file::open("/dev/null");
    some.write("x");
    char one;
    some.read(std::span(&one, 1));  // from here on there is a poller
    process other = shell("read x", {.in = redirect::pipe(), .out = redirect::pipe()});
    // Its streams and the folder that is listed; more if the test was started with more.
    const std::string own = output_of("ls -l /proc/self/fd");
    CHECK(own.find("eventpoll") == std::string::npos);
    CHECK(own.find("eventfd") == std::string::npos);
    CHECK(own.find("pidfd") == std::string::npos);
    // Only those are pipes that the test was started with, and the one to us.
    std::size_t pipes = 0;
    for (std::size_t at = 0; (at = own.find("pipe:", at)) != std::string::npos; ++at) {
      ++pipes;
    }
    CHECK(pipes <= ours + 2);
    other.in().close();
    other.wait();
  });
}

TEST_CASE("a process blocks no signal and takes SIGURG as usual, whatever our threads do") {
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  process p = process::spawn({"grep", "^Sig[BI]", "/proc/self/status"}, {.out = redirect::pipe()});
  const std::string text = p.out().read_all();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(p.wait().success());
  CHECK(text.find("SigBlk:\t0000000000000000") != std::string::npos);
  const std::size_t ignored = text.find("SigIgn:\t");
  REQUIRE(ignored != std::string::npos);
  const auto mask = std::stoull(text.substr(ignored + 8, 16), nullptr, 16);
  CHECK((mask >> (SIGURG - 1) & 1) == 0);
}

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
