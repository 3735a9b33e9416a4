// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Objects that are destroyed while goroutines still need them. In a bubble, where a sleep ends only when all
// others wait.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/sync/weighted_semaphore.hpp>
#include <thrum/testing/bubble.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;

/// wait(object), in a goroutine, while the object is destroyed.
template <class Object, class Wait>
int destroy(Object make(), Wait wait) {
  thrum::testing::bubble([&] {
    auto object = make();
    thrum::go([&] { wait(object); });
    thrum::sleep_for(1ms);
  });
  std::puts("came back");
  return 0;
}

/// A bubble's clock stands while a goroutine waits for a lock.
template <class Lock, class Wait>
int destroy_lock(Wait wait) {
  return thrum::run(thrum::options{.procs = 1}, [&] {
    {
      Lock lock;
      lock.lock();
      bool begun = false;
      thrum::go([&] {
        begun = true;
        wait(lock);
      });
      for (int turns = 0; !begun || turns != 1'000; turns += begun) {
        thrum::this_goroutine::yield();
      }
    }
    std::puts("came back");
    return 0;
  });
}

template <class Object, auto... args>
struct made {
  Object object{args...};
};

int destroyed_chan() {
  return destroy<made<thrum::chan<int>, 0U>>([] { return made<thrum::chan<int>, 0U>{}; },
                                             [](auto& of) { of.object.recv(); });
}

int destroyed_chan_in_select() {
  return destroy<made<thrum::chan<int>, 0U>>(
      [] { return made<thrum::chan<int>, 0U>{}; },
      [](auto& of) { thrum::select(thrum::on_send(of.object, 1, [] {})); });
}

int destroyed_mutex() {
  return destroy_lock<thrum::mutex>([](auto& lock) { lock.lock(); });
}

int destroyed_shared_mutex() {
  return destroy_lock<thrum::shared_mutex>([](auto& lock) { lock.lock_shared(); });
}

int destroyed_condition_variable() {
  return destroy<made<thrum::condition_variable>>([] { return made<thrum::condition_variable>{}; },
                                                  [](auto& of) {
                                                    thrum::mutex own;
                                                    std::unique_lock lock(own);
                                                    of.object.wait(lock);
                                                  });
}

int destroyed_condition_variable_any() {
  return destroy<made<thrum::condition_variable_any>>(
      [] { return made<thrum::condition_variable_any>{}; },
      [](auto& of) {
        thrum::mutex own;
        std::unique_lock lock(own);
        of.object.wait(lock);
      });
}

int destroyed_semaphore() {
  return destroy<made<thrum::binary_semaphore, 0>>(
      [] { return made<thrum::binary_semaphore, 0>{}; }, [](auto& of) { of.object.acquire(); });
}

int destroyed_weighted_semaphore() {
  return destroy<made<thrum::weighted_semaphore, 1>>(
      [] { return made<thrum::weighted_semaphore, 1>{}; },
      [](auto& of) {
        of.object.acquire();
        of.object.acquire();
      });
}

int destroyed_latch() {
  return destroy<made<thrum::latch, 1>>([] { return made<thrum::latch, 1>{}; },
                                        [](auto& of) { of.object.wait(); });
}

int destroyed_barrier() {
  return destroy<made<thrum::barrier<>, 2>>([] { return made<thrum::barrier<>, 2>{}; },
                                            [](auto& of) { of.object.arrive_and_wait(); });
}

int destroyed_wait_group() {
  return destroy<made<thrum::wait_group, 1>>([] { return made<thrum::wait_group, 1>{}; },
                                             [](auto& of) { of.object.wait(); });
}

int destroyed_task_group() {
  thrum::testing::bubble([] {
    thrum::task_group group(1);
    group.go([] { thrum::sleep_for(1h); });
    thrum::go([&] { group.go([] {}); });
    thrum::sleep_for(1ms);
  });
  std::puts("came back");
  return 0;
}

int wait_group_without_wait() {
  return thrum::run([] {
    thrum::wait_group group;
    group.go([] { thrum::sleep_for(1h); });
    return 0;
  });
}

/// An exception leaves the scope; the goroutine is done later, if there is still something to be seen.
int wait_group_left_by_an_exception() {
  return thrum::run([] {
    try {
      thrum::wait_group group;
      group.go([] { thrum::sleep_for(1h); });
      throw std::runtime_error("on the way to wait()");
    } catch (const std::runtime_error& error) {
      std::puts(error.what());
    }
    std::fflush(stdout);
    std::_Exit(0);
    return 0;
  });
}

// Made before the first runtime: on some systems what is made later goes before goroutines stand still.
thrum::chan<int> silent(0);

int exit_with_waiters() {
  return thrum::run([] {
    static thrum::mutex held;
    held.lock();
    thrum::go([] { held.lock(); });
    thrum::go([] { silent.recv(); });
    thrum::sleep_for(1ms);
    std::exit(7);
    return 0;
  });
}

/// The scope of a goroutine that is told to end, with another that waits in what it owns.
int stop_with_waiters() {
  return thrum::run(thrum::options{.procs = 1}, [] {
    thrum::go([] {
      thrum::chan<int> own(0);
      thrum::go([&own] { own.recv(); });
      thrum::sleep_for(1h);
    });
    thrum::sleep_for(1ms);
    return 7;
  });
}

const programs::entry lifetime_entries[] = {
    {"destroyed_chan", destroyed_chan},
    {"destroyed_chan_in_select", destroyed_chan_in_select},
    {"destroyed_mutex", destroyed_mutex},
    {"destroyed_shared_mutex", destroyed_shared_mutex},
    {"destroyed_condition_variable", destroyed_condition_variable},
    {"destroyed_condition_variable_any", destroyed_condition_variable_any},
    {"destroyed_semaphore", destroyed_semaphore},
    {"destroyed_weighted_semaphore", destroyed_weighted_semaphore},
    {"destroyed_latch", destroyed_latch},
    {"destroyed_barrier", destroyed_barrier},
    {"destroyed_wait_group", destroyed_wait_group},
    {"destroyed_task_group", destroyed_task_group},
    {"wait_group_without_wait", wait_group_without_wait},
    {"wait_group_left_by_an_exception", wait_group_left_by_an_exception},
    {"exit_with_waiters", exit_with_waiters},
    {"stop_with_waiters", stop_with_waiters},
};
const programs::group lifetimes_registered(lifetime_entries);

}  // namespace
