// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose first thread runs goroutines, and how they end.

#include "programs/programs.hpp"

#include <thrum.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

thrum::options on_first_thread() {
  thrum::options options = thrum::options::from_environment();
  options.main_thread = true;
  return options;
}

int deadlock_on_the_first_thread() {
  return thrum::run(on_first_thread(), [] {
    thrum::go(thrum::on_host, {.name = "other"}, [] { thrum::chan<int>(1).recv(); });
    thrum::chan<int>(1).recv();
  });
}

int exit_on_the_first_thread() {
  return thrum::run(on_first_thread(), [] {
    thrum::go([] { thrum::chan<int>().recv(); });
    thrum::sleep_for(1ms);
    std::exit(3);
  });
}

int exit_inside_of_poll() {
  thrum::runtime runtime;
  runtime.go(thrum::on_host, [] { std::exit(4); });
  runtime.poll();
  return 1;
}

int exit_inside_of_poll_of_a_static_runtime() {
  static thrum::runtime runtime;
  runtime.go(thrum::on_host, [] { std::exit(5); });
  runtime.poll();
  return 1;
}

void tell_end_of(::pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int fork_of_a_host_that_polls() {
  thrum::runtime runtime;
  runtime.poll();
  const ::pid_t child = ::fork();
  if (child == 0) {
    runtime.poll();
    std::_Exit(0);
  }
  tell_end_of(child);
  int ran = 0;
  runtime.go(thrum::on_host, [&] { ++ran; });
  runtime.poll();
  std::printf("the parent ran %d\n", ran);
  return 0;
}

int fork_inside_of_poll() {
  thrum::runtime runtime;
  runtime.go(thrum::on_host, [] {
    const ::pid_t child = ::fork();
    if (child == 0) {
      thrum::sleep_for(1ms);
      std::_Exit(0);
    }
    tell_end_of(child);
  });
  runtime.run_until_idle();
  return 0;
}

[[gnu::noinline]] int use_up(const volatile char* outer, int depth) {
  volatile char own[1024];
  own[0] = outer != nullptr ? outer[0] : '\0';
  return depth == 0 ? own[0] : use_up(own, depth - 1) + own[0];
}

int overflow_on_the_first_thread() {
  return thrum::run(on_first_thread(), [] { return use_up(nullptr, 1 << 20); });
}

int overflow_inside_of_poll() {
  thrum::runtime runtime;
  runtime.go(thrum::on_host, {.name = "deep"}, [] { use_up(nullptr, 1 << 20); });
  runtime.poll();
  return 0;
}

int overflow_inside_of_run_for() {
  thrum::runtime runtime;
  std::thread([&runtime] {
    runtime.go(thrum::on_host, {.name = "deep"}, [] { use_up(nullptr, 1 << 20); });
    runtime.run_for(std::chrono::minutes(10));
  }).join();
  return 0;
}

int panic_inside_of_poll() {
  thrum::runtime runtime;
  runtime.go(thrum::on_host, {.name = "bad"}, [] { throw 7; });
  runtime.poll();
  return 0;
}

constexpr programs::entry entries[] = {
    {"deadlock_on_the_first_thread", &deadlock_on_the_first_thread},
    {"exit_on_the_first_thread", &exit_on_the_first_thread},
    {"exit_inside_of_poll", &exit_inside_of_poll},
    {"exit_inside_of_poll_of_a_static_runtime", &exit_inside_of_poll_of_a_static_runtime},
    {"fork_of_a_host_that_polls", &fork_of_a_host_that_polls},
    {"fork_inside_of_poll", &fork_inside_of_poll},
    {"overflow_inside_of_poll", &overflow_inside_of_poll},
    {"overflow_inside_of_run_for", &overflow_inside_of_run_for},
    {"overflow_on_the_first_thread", &overflow_on_the_first_thread},
    {"panic_inside_of_poll", &panic_inside_of_poll},
};
const programs::group hosts_in_register(entries);

}  // namespace
