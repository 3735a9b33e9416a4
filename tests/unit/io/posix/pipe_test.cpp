// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes and what POSIX adds to them: SIGPIPE, exec, the limit of descriptors.

#include <thrum/io/pipe.hpp>

#include "support/system_ways.hpp"
#include "support/test.hpp"

#include <csignal>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace io = thrum::io;

namespace {

/// Both ways to do without the signal: the system's, and ours.
struct without_nosignal_flag {
  without_nosignal_flag() { support::allow_signal_free_writes(false); }
  ~without_nosignal_flag() { support::allow_signal_free_writes(true); }
};

bool is_pending(int signal) {
  ::sigset_t pending;
  ::sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

}  // namespace

TEST_CASE("writing to a pipe without a reader is an error, not a signal") {
  const auto check = [] {
    io::pipe p;
    p.close_read();
    CHECK(error_of([&] { p.write("x"); }) == std::errc::broken_pipe);
    CHECK(error_of([&] { p.write("x"); }) == std::errc::broken_pipe);
    CHECK(!is_pending(SIGPIPE));
  };
  const auto check_waiting = [&] {
    check();
    io::pipe p;
    auto writer =
        thrum::spawn([&] { return error_of([&] { p.write(std::string(10'000'000, 'x')); }); });
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    p.close_read();
    CHECK(writer.join() == std::errc::broken_pipe);
  };
  check();
  with_runtime(check_waiting);
  const without_nosignal_flag older_system;
  check();
  with_runtime(check_waiting);
}

TEST_CASE("a write to a pipe leaves a SIGPIPE of others, and the thread's mask, as they were") {
  const without_nosignal_flag older_system;
  std::thread([] {  // with a mask of its own
    io::pipe p;
    p.close_read();
    ::sigset_t broken_pipe;
    ::sigset_t mask;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);

    CHECK(error_of([&] { p.write("x"); }) == std::errc::broken_pipe);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    CHECK(sigismember(&mask, SIGPIPE) == 0);

    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    CHECK(error_of([&] { p.write("x"); }) == std::errc::broken_pipe);
    CHECK(!is_pending(SIGPIPE));
    ::raise(SIGPIPE);
    CHECK(error_of([&] { p.write("x"); }) == std::errc::broken_pipe);
    CHECK(is_pending(SIGPIPE));
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    CHECK(sigismember(&mask, SIGPIPE) == 1);
    int taken = 0;
    CHECK(::sigwait(&broken_pipe, &taken) == 0);
    CHECK(taken == SIGPIPE);
  })
      .join();
  struct ::sigaction now {};
  ::sigaction(SIGPIPE, nullptr, &now);
  CHECK(now.sa_handler == SIG_DFL);
}

TEST_CASE("the ends of a pipe are closed by exec") {
  io::pipe p;
  for (const int each : {p.reader().native_handle(), p.writer().native_handle()}) {
    CHECK((::fcntl(each, F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("a pipe that the system refuses is an error") {
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const ::rlimit few{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::error_code error;
  const io::pipe refused(error);
  const std::error_code thrown = error_of([] { io::pipe again; });
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(error == std::errc::too_many_files_open);
  CHECK(thrown == std::errc::too_many_files_open);
}
