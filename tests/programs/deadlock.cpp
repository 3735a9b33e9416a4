// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs in which every goroutine is parked: for good, or only as it seems.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/time.h>

namespace {

using namespace std::chrono_literals;

/// Longer than the monitor takes to look for a deadlock.
constexpr auto long_enough = 150ms;

/// Ends the program by a timer of the system: a thread would keep the report of a deadlock away.
void end_well_in_a_moment() {
  std::signal(SIGALRM, [](int) { std::_Exit(0); });
  const itimerval once{{0, 0}, {0, 300'000}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
}

int deadlock() {
  return thrum::run([] { thrum::chan<int>(0).recv(); });
}

int deadlock_of_three() {
  return thrum::run([] {
    static thrum::mutex mutex;
    thrum::go({.name = "producer"}, [] { thrum::chan<int>(0).send(1); });
    mutex.lock();
    thrum::go({.name = "locker"}, [] { mutex.lock(); });
    thrum::select();
  });
}

int deadlock_without_host() {
  return thrum::run([] { thrum::spawn(thrum::on_host, [] {}).join(); });
}

int deadlock_after_output() {
  return thrum::run([] {
    std::fputs("the last words", stdout);
    thrum::chan<int>().recv();
  });
}

int deadlock_after_timers() {
  return thrum::run([] {
    const thrum::chan<int> ch(0);
    int got = 0;
    if (ch.recv_for(got, 10ms) == thrum::recv_status::timeout) {
      std::puts("nothing came");
    }
    thrum::go([ch] { ch.send(1); });
    ch.recv_for(got, 1h);
    ch.recv();
  });
}

int deadlock_after_thread() {
  return thrum::run([] {
    std::thread([] { std::this_thread::sleep_for(long_enough); }).detach();
    thrum::chan<int>(0).recv();
  });
}

int waits_for_thread() {
  return thrum::run([] {
    const thrum::chan<int> ch(0);
    std::thread helper([ch] {
      std::this_thread::sleep_for(long_enough);
      ch.send(0);
    });
    const int result = *ch.recv();
    helper.join();
    return result;
  });
}

int sleeps_for_ever() {
  end_well_in_a_moment();
  return thrum::run([] { thrum::sleep_for(std::chrono::hours::max()); });
}

int waits_for_timer() {
  return thrum::run([] {
    thrum::sleep_for(long_enough);
    const thrum::chan<int> ch(0);
    int got = 0;
    ch.recv_for(got, long_enough);
    thrum::select(thrum::on_recv(ch), thrum::on_timeout(long_enough));
  });
}

int waits_for_system_call() {
  return thrum::run([] {
    const thrum::chan<int> ch(0);
    thrum::go([ch] {
      thrum::blocking([] { std::this_thread::sleep_for(long_enough); });
      ch.send(0);
    });
    return *ch.recv();
  });
}

int waits_in_runtime() {
  thrum::runtime runtime;
  const thrum::chan<int> ch(0);
  runtime.go([ch] { ch.recv(); });
  std::this_thread::sleep_for(long_enough);
  ch.send(0);
  return 0;
}

int waits_undetected() {
  thrum::options options = thrum::options::from_environment();
  options.detect_deadlock = false;
  end_well_in_a_moment();
  return thrum::run(options, [] { thrum::chan<int>(0).recv(); });
}

/// The thread that waits for a child to end can end no wait of ours.
int deadlock_beside_child() {
  using thrum::io::redirect;
  // Not with our output: its reader waits until all that hold it have ended.
  thrum::io::process::spawn({"sleep", "5"}, {.out = redirect::null(), .err = redirect::null()})
      .detach();
  return thrum::run([] { thrum::chan<int>(0).recv(); });
}

const programs::entry deadlock_entries[] = {
    {"deadlock_beside_child", &deadlock_beside_child},
    {"deadlock", deadlock},
    {"deadlock_of_three", deadlock_of_three},
    {"deadlock_without_host", deadlock_without_host},
    {"deadlock_after_output", deadlock_after_output},
    {"deadlock_after_timers", deadlock_after_timers},
    {"deadlock_after_thread", deadlock_after_thread},
    {"waits_for_thread", waits_for_thread},
    {"sleeps_for_ever", sleeps_for_ever},
    {"waits_for_timer", waits_for_timer},
    {"waits_for_system_call", waits_for_system_call},
    {"waits_in_runtime", waits_in_runtime},
    {"waits_undetected", waits_undetected},
};
const programs::group deadlock_registered(deadlock_entries);

}  // namespace
