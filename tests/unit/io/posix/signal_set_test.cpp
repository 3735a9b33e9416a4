// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Signals as POSIX has them: what others asked of a handler, the runtime's own, a timer's.

#include <thrum/io/signal_set.hpp>

#include "support/child.hpp"
#include "support/signals.hpp"
#include "support/test.hpp"

#include <csignal>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

using thrum::io::signal_set;

TEST_CASE("an earlier handler and its flags are as before when the set is gone") {
  struct ::sigaction theirs {};
  theirs.sa_handler = SIG_IGN;
  theirs.sa_flags = SA_NODEFER;
  ::sigaction(SIGUSR1, &theirs, nullptr);
  {
    signal_set set{SIGUSR1};
    support::send_to_us(SIGUSR1);
    CHECK(set.chan().recv() == SIGUSR1);
  }
  struct ::sigaction found {};
  ::sigaction(SIGUSR1, nullptr, &found);
  CHECK(found.sa_handler == SIG_IGN);
  CHECK((found.sa_flags & SA_NODEFER) != 0);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("the runtime's own signal cannot be heard") {
  CHECK(support::is_usage_error("signal_set: SIGURG belongs to the runtime; choose another signal",
                                [] {
                                  signal_set{SIGUSR1, SIGURG};
                                }));
  CHECK(support::handler_of(SIGUSR1) == SIG_DFL);
}

TEST_CASE("waiting for a signal alone is no deadlock") {
  if (THRUM_TSAN) {
    return;  // the timer's signal goes to a thread that sleeps
  }
  const auto result = support::run_in_child([] {
    ::_exit(thrum::run([] {
      signal_set set{SIGALRM};
      ::itimerval once{};
      once.it_value.tv_usec = 300'000;
      ::setitimer(ITIMER_REAL, &once, nullptr);
      return set.chan().recv() == SIGALRM ? 7 : 1;
    }));
  });
  CHECK(result.errors.empty());
  CHECK(result.exit_code == 7);
}
