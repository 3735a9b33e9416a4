// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program with debug/mutex_watch.hpp in it, whose goroutines park with and without a std::mutex.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/debug/mutex_watch.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

using namespace std::chrono_literals;

std::mutex shelf;
std::mutex drawer;

/// So that what is locked on a thread is unlocked there, as the C library asks.
thrum::options one_processor() {
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  options.preempt = thrum::preemption::none;
  return options;
}

[[gnu::noinline]] void park_in_the_kitchen() {
  thrum::sleep_for(1ms);
  asm volatile("");
}

int held_over_park() {
  return thrum::run(one_processor(), [] {
    const thrum::thread_lock own_thread;
    thrum::this_goroutine::name("cook");
    for (int i = 0; i != 3; ++i) {  // one place, three times
      const std::lock_guard lock(shelf);
      park_in_the_kitchen();
    }
    return 0;
  });
}

int held_in_two_places() {
  return thrum::run(one_processor(), [] {
    const thrum::thread_lock own_thread;
    {
      const std::scoped_lock both(shelf, drawer);
      park_in_the_kitchen();
    }
    if (shelf.try_lock()) {
      thrum::chan<int> nothing(0);
      int got = 0;
      nothing.recv_for(got, 1ms);
      shelf.unlock();
    }
    return 0;
  });
}

int nothing_held() {
  return thrum::run(one_processor(), [] {
    { const std::lock_guard lock(shelf); }
    {
      std::unique_lock refused(shelf, std::try_to_lock);
      std::thread([] {
        if (shelf.try_lock()) {
          shelf.unlock();
        }
      }).join();
    }
    std::unique_lock early(drawer);
    early.unlock();
    park_in_the_kitchen();
    return 0;
  });
}

int held_by_others() {
  return thrum::run(one_processor(), [] {
    thrum::chan<void> locked(0);
    thrum::chan<void> go_on(0);
    std::thread holder([&] {
      const std::lock_guard lock(shelf);
      locked.close();
      go_on.recv();
    });
    locked.recv();
    thrum::mutex own;
    const std::lock_guard lock(own);  // it may be held over a park
    park_in_the_kitchen();
    go_on.close();
    thrum::blocking([&] { holder.join(); });
    return 0;
  });
}

const programs::entry entries[] = {
    {"held_over_park", held_over_park},
    {"held_in_two_places", held_in_two_places},
    {"nothing_held", nothing_held},
    {"held_by_others", held_by_others},
};
const programs::group registered(entries);

}  // namespace
