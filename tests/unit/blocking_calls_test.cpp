// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Processors taken from calls that block, announced or not, without a signal. Go's
// PreemptionAfterSyscall is here; loops are in preemption_test.cpp.

#include "support/test.hpp"

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#else
#include <poll.h>
#endif
#include <unistd.h>

namespace {

thrum::options on_procs(unsigned procs) {
  thrum::options options;
  options.procs = procs;
  return options;
}

/// A pipe that closes itself.
struct pipe_ends {
  pipe_ends() {
#if defined(_WIN32)
    opened = ::_pipe(ends, 4096, _O_BINARY) == 0;
#else
    opened = ::pipe(ends) == 0;
#endif
  }
  ~pipe_ends() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2] = {-1, -1};
  bool opened = false;
};

}  // namespace

TEST_CASE("processors that go from one blocking call to the next leave time for everybody else") {
  thrum::run(on_procs(2), [] {
    std::atomic<bool> stop{false};
    thrum::wait_group blockers;
    for (int i = 0; i != 32; ++i) {
      blockers.go([&] {
        while (!stop) {
          thrum::blocking([] { ::usleep(50); });
        }
      });
    }
    thrum::wait_group others;
    others.go([] {
      for (int i = support::scaled(200); i > 0; --i) {
        thrum::this_goroutine::yield();
      }
    });
    others.go([] {
      for (int i = support::scaled(50); i > 0; --i) {
        thrum::sleep_for(1ms);
      }
    });
    const auto start = std::chrono::steady_clock::now();
    others.wait();
    CHECK(std::chrono::steady_clock::now() - start < support::long_time);
    stop = true;
    blockers.wait();
  });
}

TEST_CASE("a processor is taken from a call that blocks unannounced, without a signal") {
  const pipe_ends p;
  REQUIRE(p.opened);
  thrum::stats_snapshot s;
  std::atomic<bool> answered{false};
  std::atomic<int> failures{0};
  thrum::run(on_procs(1), [&] {
    auto reader = thrum::spawn([&] {
      char c = 0;
      failures += ::read(p.ends[0], &c, 1) != 1 || c != 'x';  // before anybody has written
      answered = true;
    });
    auto writer = thrum::spawn([&] {
      // On a busy machine the reader may come to its call late.
      support::eventually([] { return thrum::stats().retakes != 0; });
      const char c = 'x';
      failures += ::write(p.ends[1], &c, 1) != 1;
    });
    writer.join();
    reader.join();
    s = thrum::stats();
  });
  CHECK(failures == 0);
  CHECK(answered);
  CHECK(s.retakes != 0);
}

#if !defined(_WIN32)  // nothing interrupts a call there

TEST_CASE("poll is not interrupted while others run on its processor") {
  int interrupted = 0;
  int timed_out = 0;
  thrum::run(on_procs(1), [&] {
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    group.go([&] {
      // A signal may be on its way into the first, and on a busy machine into some more.
      const auto end = std::chrono::steady_clock::now() + support::long_time;
      while (timed_out != 5 && std::chrono::steady_clock::now() < end) {
        const int result = ::poll(nullptr, 0, 40);
        interrupted += result < 0 && errno == EINTR;
        timed_out += result == 0;
      }
      stop = true;
    });
    while (!stop) {
      thrum::sleep_for(1ms);
    }
    group.wait();
  });
  INFO(interrupted << " were interrupted");
  CHECK(timed_out == 5);
}

#endif

TEST_CASE("a wait for a std::mutex whose owner sleeps does not block the processor") {
  std::mutex held;
  bool has_slept = false;  // under the lock
  thrum::run(on_procs(1), [&] {
    thrum::chan<void> locked(0);
    auto holder = thrum::spawn([&] {
      const std::lock_guard guard(held);
      locked.send();
      thrum::sleep_for(20ms);  // on the one processor that the other is about to block
      has_slept = true;
    });
    locked.recv();
    {
      const std::lock_guard guard(held);
      CHECK(has_slept);
    }
    holder.join();
  });
}

#if !defined(_WIN32)  // pipes of the C library are no descriptors of the poller there

TEST_CASE("a goroutine from the poller that computes delays no timer of an idle processor") {
  std::atomic<bool> stop{false};
  std::atomic<bool> slept{false};
  pipe_ends input;
  REQUIRE(input.opened);
  thrum::runtime runtime(on_procs(2));
  auto reader = runtime.spawn([&] {
    auto sleeper = thrum::spawn([&] {
      thrum::sleep_for(60ms);
      slept = true;
    });
    thrum::io::wait_readable(input.ends[0]);
    while (!stop) {
    }
    sleeper.join();
  });
  std::this_thread::sleep_for(30ms);
  REQUIRE(::write(input.ends[1], "x", 1) == 1);
  CHECK(support::eventually([&] { return slept.load(); }));
  stop = true;
  reader.join();
}

#endif
