// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A goroutine may continue on another thread after every call that waits. What compilers keep of
// the old thread (addresses of thread_local objects) must not reach the library. These tests want
// to be compiled with optimisation.

#include "support/migrate.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

namespace {

thread_local long thread_of_this_variable = 0;

/// Reads a thread_local through a call that is not inlined, as users are told to.
[[gnu::noinline]] bool thread_local_is_own() {
  if (thread_of_this_variable == 0) {
    thread_of_this_variable = support::os_thread();
  }
  asm volatile("" ::: "memory");
  return thread_of_this_variable == support::os_thread();
}

[[gnu::noinline]] const long* address_in_this_thread() {
  asm volatile("" ::: "memory");
  return &thread_of_this_variable;
}

/// Whether the address of a thread_local is, behind a wait, the one that it was before.
template <class Wait>
bool address_stays(Wait wait) {
  const long* const cached = address_in_this_thread();
  wait();
  return cached == address_in_this_thread();
}

/// A runtime in which only waits switch: a goroutine that is preempted before a wait may be back on its thread behind it.
thrum::options migrating(unsigned procs) {
  thrum::options options;
  options.procs = procs;
  options.preempt = thrum::preemption::none;
  options.migrate = true;
  return options;
}

/// Yields and sleeps so many times each. Returns how many of these waits ended on the thread where they had begun.
int count_stays(int rounds) {
  int stayed = 0;
  for (int i = 0; i != rounds; ++i) {
    stayed += address_stays([] { thrum::this_goroutine::yield(); });
    stayed += address_stays([] { thrum::sleep_for(std::chrono::microseconds(1)); });
  }
  return stayed;
}

/// Does likewise by waiting for another goroutine. With one processor each of these calls waits once.
int count_stays_beside_another(int rounds) {
  int stayed = 0;
  thrum::chan<int> there(0);
  thrum::chan<int> back(0);
  auto partner = thrum::spawn([there, back] {
    for (const int i : there) {
      back.send(i);
    }
  });
  thrum::this_goroutine::yield();  // the partner waits
  for (int i = 0; i != rounds; ++i) {
    stayed += address_stays([&] {
      there.send(i);
      back.recv();
    });
    auto child = thrum::spawn([] {});
    stayed += address_stays([&] { child.join(); });
  }
  there.close();
  partner.join();
  return stayed;
}

}  // namespace

TEST_CASE("with options::migrate each wait ends on another thread, with any number of processors") {
  for (const unsigned procs : {1U, 2U, 4U}) {
    INFO("processors " << procs);
    CHECK(thrum::run(migrating(procs), [] { return count_stays(50); }) == 0);
  }
  CHECK(thrum::run(migrating(1), [] { return count_stays_beside_another(50); }) == 0);
}

TEST_CASE("with options::migrate and one thread goroutines wait as they do without") {
  thrum::options options = migrating(1);
  options.max_threads = 1;
  CHECK(thrum::run(options, [] { return count_stays(50) + count_stays_beside_another(50); }) ==
        4 * 50);
}

TEST_CASE("with options::migrate a goroutine in a thread_lock stays on its thread") {
  thrum::options options;
  options.procs = 2;
  options.migrate = true;
  thrum::run(options, [] {
    for (int i = 0; i != 20; ++i) {
      const thrum::thread_lock here;
      CHECK(address_stays([] { thrum::this_goroutine::yield(); }));
      CHECK(address_stays([] { thrum::sleep_for(std::chrono::microseconds(1)); }));
    }
  });
}

TEST_CASE("with options::migrate background goroutines migrate, too") {
  const int stayed = thrum::run(migrating(2), [] {
    return thrum::spawn({.priority = thrum::priority::background}, [] { return count_stays(50); })
        .join();
  });
  CHECK(stayed == 0);
}

IN_RUNTIME("goroutines do migrate, with any number of processors") {
  const support::crowd crowd;
  for (int i = 0; i != 5; ++i) {
    const long before = support::os_thread();
    REQUIRE(support::migrate());
    REQUIRE(support::os_thread() != before);
  }
}

IN_RUNTIME("every operation works right behind a migration in the same function") {
  const support::crowd crowd;
  const thrum::goroutine_id id = thrum::this_goroutine::id();
  thrum::this_goroutine::name("wanderer");
  thrum::chan<int> c(1);
  thrum::mutex mutex;
  thrum::wait_group group;
  for (int i = 0; i != support::affordable_migrations(scaled(10, 3)); ++i) {
    // The library asks which thread it is on before and behind each migration; if one answer
    // were kept for the other, these would work on a processor that another thread has.
    const std::lock_guard lock(mutex);
    c.send(i);
    REQUIRE(support::migrate());
    REQUIRE(c.recv() == i);
    REQUIRE(thrum::this_goroutine::id() == id);
    REQUIRE(support::migrate());
    REQUIRE(thrum::this_goroutine::name() == "wanderer");
    group.go([] {});
    REQUIRE(thrum::spawn([i] { return i; }).join() == i);
    REQUIRE(support::migrate());
    thrum::sleep_for(std::chrono::microseconds(10));
    group.wait();
    REQUIRE(thrum::runtime::current() != nullptr);
  }
}

IN_RUNTIME("a thread_local that is read behind a call is that of the present thread") {
  const support::crowd crowd;
  std::atomic<int> mistakes{0};
  thrum::wait_group group;
  const int rounds = support::affordable_migrations(scaled(1'000, 50));
  for (int g = 0; g != 10; ++g) {
    group.go([&] {
      for (int i = 0; i != rounds; ++i) {
        mistakes += thread_local_is_own() ? 0 : 1;
        thrum::this_goroutine::yield();
        mistakes += thread_local_is_own() ? 0 : 1;
        if (i % 20 == 0) {
          thrum::blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(20)); });
        }
      }
    });
  }
  group.wait();
  CHECK(mistakes == 0);
}

IN_RUNTIME("a mutex is unlocked on another thread than it was locked on") {
  const support::crowd crowd;
  thrum::mutex mutex;
  std::int64_t guarded = 0;
  thrum::wait_group group;
  constexpr int rounds = 3;
  for (int g = 0; g != 3; ++g) {
    group.go([&] {
      for (int i = 0; i != rounds; ++i) {
        const std::lock_guard lock(mutex);
        const std::int64_t before = guarded;
        support::migrate();
        guarded = before + 1;
      }
    });
  }
  group.wait();
  CHECK(guarded == 3 * rounds);
}

IN_RUNTIME("locals, floating point and strings survive migrations in a deep stack") {
  const support::crowd crowd;
  struct descend {
    double operator()(int depth, double x, const std::string& text) const {
      if (depth % 8 == 0) {
        support::migrate();
      }
      if (depth == 0) {
        return x + static_cast<double>(text.size());
      }
      const double below = (*this)(depth - 1, x * 1.5, text + "x");
      return below / 1.5 + static_cast<double>(text.size()) * 0;
    }
  };
  constexpr int depth = 40;
  double expected = 0;
  {
    double x = 1;
    for (int i = 0; i != depth; ++i) {
      x *= 1.5;
    }
    expected = x + depth;
    for (int i = 0; i != depth; ++i) {
      expected /= 1.5;
    }
  }
  CHECK(descend()(depth, 1.0, "") == expected);
}
