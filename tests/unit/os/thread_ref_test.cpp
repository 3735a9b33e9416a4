// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What one thread sees of another, and how it interrupts it.
// The asymmetric fences.

#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/os.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/fence_sides.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

using namespace thrum;

namespace {

/// A thread that has opened its reference, and sleeps until it is told to do something else.
class referred_thread {
 public:
  referred_thread()
      : thread_([this] {
          self.open();
          target.argument = this;
          target.interrupt = [](void* argument) noexcept {
            auto& own = *static_cast<referred_thread*>(argument);
            ++(own.self.is_calling_thread() ? own.heard : own.heard_elsewhere);
          };
          if (takes_signals_) {
            stack_.open(target);
          }
          opened_.wake();
          for (;;) {
            order_.sleep();
            order_.clear_while_woken();
            if (ends_) {
              break;
            }
            while (computes_) {
            }
          }
          self.close();
          if (takes_signals_) {
            stack_.close();
          }
          closed_.wake();
          last_.sleep();
        }) {
    opened_.sleep();
  }
  ~referred_thread() {
    close();
    last_.wake();
    thread_.join();
  }
  void compute() {
    computes_ = true;
    order_.wake();
  }
  void sleep() { computes_ = false; }
  void close() {
    ends_ = true;
    computes_ = false;
    order_.wake();
    closed_.sleep();
  }

  os::thread_ref self;
  os::preempt_target target;
  std::atomic<int> heard{0};
  std::atomic<int> heard_elsewhere{0};

 private:
  os::signal_stack stack_;
  const bool takes_signals_ = stack_.reserve();
  std::atomic<bool> computes_{false};
  std::atomic<bool> ends_{false};
  os::note opened_, order_, closed_, last_;
  std::thread thread_;
};

/// Whether it was interrupted without a mark, where there are marks.
template <class Target>
bool is_unmarked(const Target& target) {
  if constexpr (requires { target.unmarked; }) {
    return target.unmarked;
  } else {
    return false;
  }
}

/// There are moments at which a system may refuse it.
bool interrupt_at_last(referred_thread& other) {
  return support::eventually([&] { return other.self.interrupt(other.target); });
}

/// Whether the reference says so sooner or later, or the system does not say.
bool is_seen(const os::thread_ref& of, os::thread_look what) {
  return support::eventually([&] {
    const os::thread_look seen = of.look();
    return seen == what || seen == os::thread_look::unknown;
  });
}

}  // namespace

TEST_CASE("a reference knows the thread that has opened it, and takes no other for it") {
  os::thread_ref own;
  CHECK_FALSE(own.is_calling_thread());
  own.open();
  CHECK(own.is_calling_thread());
  std::thread([&] { CHECK_FALSE(own.is_calling_thread()); }).join();
  own.close();
  CHECK_FALSE(own.is_calling_thread());
}

TEST_CASE("another thread is seen to sleep, to compute, and to sleep again") {
  referred_thread other;
  CHECK(is_seen(other.self, os::thread_look::in_system));
  other.compute();
  CHECK(is_seen(other.self, os::thread_look::computes));
  other.sleep();
  CHECK(is_seen(other.self, os::thread_look::in_system));
}

TEST_CASE("the CPU time of another thread grows while it computes, and stands while it sleeps") {
  referred_thread other;
  other.compute();
  const std::int64_t before = other.self.cpu_now();
  CHECK(support::eventually([&] { return other.self.cpu_now() - before > 1'000'000; }));
  other.sleep();
  CHECK(support::eventually([&] {
    const std::int64_t seen = other.self.cpu_now();
    os::sleep_ns(1'000'000);
    return other.self.cpu_now() == seen;
  }));
}

TEST_CASE("a thread that waits for another one does not nap") {
  referred_thread other;
  CHECK(is_seen(other.self, os::thread_look::in_system));
  CHECK_FALSE(other.self.naps());
}

TEST_CASE("a thread reference that is not open shows nothing, and interrupts no thread") {
  const os::thread_ref never;
  os::preempt_target target;
  CHECK(never.cpu_now() == 0);
  CHECK(never.look() == os::thread_look::in_system);
  CHECK_FALSE(never.naps());
  CHECK_FALSE(never.interrupt(target));
  CHECK_FALSE(is_unmarked(target));
}

TEST_CASE("a thread is interrupted where it computes, and where it sleeps if the system can") {
  if (!os::has_preempt_signal) {
    return;
  }
  os::install_preempt_handler();
  referred_thread other;
  other.compute();
  CHECK(interrupt_at_last(other));
  CHECK(support::eventually([&] { return other.heard == 1; }));
  other.sleep();
#if defined(_WIN32)
  // What is done in a call of the system would replace what the call returns.
  CHECK(is_seen(other.self, os::thread_look::in_system));
  CHECK_FALSE(other.self.interrupt(other.target));
#else
  // A sanitizer that defers signals keeps one that comes just before a system call until its end.
  if (!base::signals_are_deferred) {
    CHECK(other.self.interrupt(other.target));
    CHECK(support::eventually([&] { return other.heard == 2; }));
  }
#endif
  CHECK(other.heard_elsewhere == 0);
}

TEST_CASE("a thread that several others interrupt at once goes on where it was, each time") {
  if (!os::has_preempt_signal) {
    return;
  }
  os::install_preempt_handler();
  referred_thread other;
  other.compute();
  std::atomic<bool> over{false};
  const auto interrupt = [&] {
    while (!over) {
      other.self.interrupt(other.target);
      os::yield_thread();
    }
  };
  std::thread first(interrupt);
  std::thread second(interrupt);
  CHECK(support::eventually([&] { return other.heard >= 200; }));
  over = true;
  first.join();
  second.join();
  CHECK(other.heard_elsewhere == 0);
}

TEST_CASE("a thread that has closed its reference is not interrupted any more") {
  referred_thread other;
  other.close();
  CHECK_FALSE(other.self.interrupt(other.target));
  CHECK_FALSE(other.self.is_calling_thread());
}

TEST_CASE("of a light and a heavy fence at least one side sees the other's store") {
  os::prepare_heavy_fence();
  CHECK(support::both_missed(
            5'000, [] { os::light_fence(); }, [](const os::thread_ref&) { os::heavy_fence(); }) ==
        0);
}

TEST_CASE("a heavy fence for the thread of the other side alone is one") {
  os::prepare_heavy_fence();
  CHECK(support::both_missed(
            5'000, [] { os::light_fence(); },
            [](const os::thread_ref& other) { os::heavy_fence_for(other); }) == 0);
}

TEST_CASE("of what kind the fences are is the same whenever they are prepared") {
  CHECK(os::prepare_heavy_fence() == os::prepare_heavy_fence());
}
