// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs with children by fork.

#include "programs/programs.hpp"
#include "support/end_after.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

int fork_and_use() {
  return thrum::run([] {
    const ::pid_t child = ::fork();
    if (child == 0) {
      thrum::go([] {});
      std::_Exit(0);
    }
    int status = 0;
    thrum::blocking([&] { return ::waitpid(child, &status, 0); });
    std::printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
  });
}

int fork_and_exec() {
  thrum::options options = thrum::options::from_environment();
  options.time_slice = 200us;
  return thrum::run(options, [] {
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] {
        while (!stop) {
          if (THRUM_TSAN) {  // it keeps signals back
            thrum::this_goroutine::preemption_point();
          }
        }
      });
    }
    int good = 0;
    for (int i = 0; i != 20; ++i) {
      const ::pid_t child = ::fork();
      if (child == 0) {
        ::execl("/bin/true", "true", static_cast<char*>(nullptr));
        std::_Exit(1);
      }
      int status = 1;
      thrum::blocking([&] { return ::waitpid(child, &status, 0); });
      good += status == 0;
    }
    stop = true;
    group.wait();
    std::printf("good %d\n", good);
    return 0;
  });
}

int exit_in_child() {
  support::end_after(30);
  static const struct at_end {
    ~at_end() { std::puts("destroyed"); }
  } object;
  return thrum::run([] {
    const ::pid_t child = ::fork();
    if (child == 0) {
      std::printf("written by the child, ");
      std::exit(5);
    }
    int status = 0;
    thrum::blocking([&] { return ::waitpid(child, &status, 0); });
    std::printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
  });
}

const programs::entry forks_entries[] = {
    {"fork_and_use", fork_and_use},
    {"fork_and_exec", fork_and_exec},
    {"exit_in_child", exit_in_child},
};
const programs::group forks_registered(forks_entries);

}  // namespace
