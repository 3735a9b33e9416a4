// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sched/run/gate.hpp in every interleaving within the bounds. Waiters are linked in an object; one
// thread releases them and destroys the object before they run, while their time is over and their
// runtime stops. What must hold: each wait is ended once, and nobody touches the object when it is
// gone. Then the mutants, first of all a withdrawal that goes by the object's lock alone.
//
// The light fence keeps the compiler alone from reordering, which no machine of the model does: so
// the mutant without it looks at the gate first.

#include "model/support/assertions.hpp"

#include <thrum/detail/sched/run/gate.hpp>

#include "model/support/checks.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <atomic>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::require;
using thrum::sched::withdrawal;

enum class mistake {
  nothing,
  enters_blindly,  // no gate: the object's lock decides
  waits_for_lock,  // a visitor waits for the lock, and does not look whether the gate was shut
  opens_late,      // a waiter opens its gate for the deadline when a stop can find it already
  leaves_open,     // a visitor that has taken the waiter out writes `closed`, not `left`
  waits_not,       // the thread that shuts the gate does not wait for the visitor inside
  shuts_not,       // the thread that releases a waiter does not shut its gate
  shuts_after,     // ... or shuts it only when the object is unlocked
  looks_first,     // ... or looks at the gate before it says that the waiter is released
  no_heavy_fence,  // the stop reads `released` without one
  looks_not,       // the stop does not look at `released`
  weak_leave,      // a visitor's leaving is relaxed
  weak_wait        // the wait for it is relaxed
};

/// The atomics of the gate, of which some accesses are wrong in a mutant.
template <class T, mistake Made>
class gate_atomic : public model::basic_atomic<T> {
  using base = model::basic_atomic<T>;
  using order = std::memory_order;
  static constexpr order weaker(order how, order right, mistake if_made) {
    return Made == if_made && how == right ? order::relaxed : how;
  }

 public:
  gate_atomic(T value) noexcept : base(value) {}  // not explicit: as std::atomic

  T load(order how) const noexcept {
    return base::load(weaker(how, order::acquire, mistake::weak_wait));
  }
  void store(T value, order how) noexcept {
    if (Made == mistake::leaves_open && how == order::release) {
      value = T{};
    }
    base::store(value, weaker(how, order::release, mistake::weak_leave));
  }
  T exchange(T value, order how) noexcept {
    const T old = base::exchange(value, weaker(how, order::acquire, mistake::weak_wait));
    return Made == mistake::waits_not ? T{} : old;
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
    return base::compare_exchange_strong(
        expected, desired, weaker(success, order::release, mistake::weak_leave), failure);
  }
};

template <mistake Made>
struct gate_traits : model::traits {
  template <class T>
  using atomic = gate_atomic<T, Made>;

  static void heavy_fence() noexcept {
    if (Made != mistake::no_heavy_fence) {
      model::traits::heavy_fence();
    }
  }
};

/// The object that is waited on. `gone_` is plain memory: to use the object while another thread
/// may destroy it is a race.
class object {
 public:
  bool try_lock() {
    touch();
    return locked_.load(std::memory_order_relaxed) == 0 &&
           locked_.exchange(1, std::memory_order_acquire) == 0;
  }
  void lock() {
    while (!try_lock()) {
      model::explorer::active().yield();
    }
  }
  void unlock() {
    touch();
    locked_.store(0, std::memory_order_release);
  }
  void destroy() { gone_ = 1; }

 private:
  void touch() const { require(gone_ == 0, "the object was touched when it was gone"); }

  model::atomic<int> locked_{0};
  model::cell<int> gone_{0};
};

template <mistake Made>
struct waiter {
  thrum::sched::basic_gate<gate_traits<Made>> gate;
  model::atomic<int> released{0};
  bool linked = true;        // under the object's lock
  model::cell<int> ends{0};  // how often the wait was ended
  model::note note;
};

template <mistake Made>
struct scene {
  using waiter_type = waiter<Made>;

  // ---- the thread that has something for the waiters ----

  void release(waiter_type& w) {
    if constexpr (Made == mistake::looks_first) {
      w.gate.shut();
    }
    w.released.store(1, std::memory_order_relaxed);
    if constexpr (Made != mistake::shuts_not && Made != mistake::shuts_after &&
                  Made != mistake::enters_blindly && Made != mistake::looks_first) {
      w.gate.shut();
    }
  }
  template <unsigned N>
  void release_all_and_destroy(waiter_type (&waiters)[N]) {
    bool taken[N] = {};
    of.lock();
    for (unsigned i = N; i-- > 0;) {
      if (waiters[i].linked) {
        taken[i] = true;
        waiters[i].linked = false;
        release(waiters[i]);
      }
    }
    of.unlock();
    if constexpr (Made == mistake::shuts_after) {
      of.destroy();
    }
    for (unsigned i = 0; i != N; ++i) {
      if (taken[i] && Made == mistake::shuts_after) {
        waiters[i].gate.shut();
      }
    }
    if constexpr (Made != mistake::shuts_after) {
      of.destroy();
    }
    for (unsigned i = 0; i != N; ++i) {
      if (taken[i]) {
        end(waiters[i]);
      }
    }
  }

  // ---- the thread that ends a wait at its deadline or at a stop ----

  withdrawal unlink(waiter_type& w) {
    if (!of.try_lock()) {
      return withdrawal::busy;
    }
    const bool ours = w.linked;
    w.linked = false;
    of.unlock();
    return ours ? withdrawal::done : withdrawal::refused;
  }
  void withdraw(waiter_type& w) {
    withdrawal outcome = withdrawal::busy;
    if constexpr (Made == mistake::enters_blindly) {
      while ((outcome = unlink(w)) == withdrawal::busy) {
        model::explorer::active().yield();
      }
    } else if constexpr (Made == mistake::waits_for_lock) {
      outcome = w.gate.visit([&]() noexcept {
        withdrawal inner;
        while ((inner = unlink(w)) == withdrawal::busy) {
          model::explorer::active().yield();
        }
        return inner;
      });
    } else {
      outcome = w.gate.visit([&]() noexcept { return unlink(w); });
    }
    if (outcome == withdrawal::done) {
      end(w);
    }
  }
  template <unsigned N>
  void stop(waiter_type (&waiters)[N]) {
    for (waiter_type& w : waiters) {
      w.gate.announce();
    }
    gate_traits<Made>::heavy_fence();
    for (waiter_type& w : waiters) {
      if (Made == mistake::looks_not || w.released.load(std::memory_order_relaxed) == 0) {
        withdraw(w);
      }
    }
  }

  void end(waiter_type& w) {
    w.ends = w.ends + 1;
    w.note.wake();
  }

  object of;
};

/// A deadline that is over while the waiter is released.
template <mistake Made>
struct timed : scene<Made> {
  static constexpr unsigned threads = 2;
  timed() { waiters[0].gate.open(); }
  void run(unsigned thread) {
    if (thread == 0) {
      this->release_all_and_destroy(waiters);
    } else {
      this->withdraw(waiters[0]);
    }
  }
  void at_end() { require(waiters[0].ends == 1, "a wait was not ended once"); }
  waiter<Made> waiters[1];
};

/// Two of them: one thread releases both in one hold of the lock, while two others end their waits.
template <mistake Made>
struct two_timed : scene<Made> {
  static constexpr unsigned threads = 3;
  two_timed() {
    for (auto& w : waiters) {
      w.gate.open();
    }
  }
  void run(unsigned thread) {
    if (thread == 0) {
      this->release_all_and_destroy(waiters);
    } else {
      this->withdraw(waiters[thread - 1]);
    }
  }
  void at_end() {
    require(waiters[0].ends == 1 && waiters[1].ends == 1, "a wait was not ended once");
  }
  waiter<Made> waiters[2];
};

/// A stop, which finds waits without a deadline.
template <mistake Made>
struct stopped : scene<Made> {
  static constexpr unsigned threads = 2;
  void run(unsigned thread) {
    if (thread == 0) {
      this->release_all_and_destroy(waiters);
    } else {
      this->stop(waiters);
    }
  }
  void at_end() {
    require(waiters[0].ends == 1 && waiters[1].ends == 1, "a wait was not ended once");
  }
  waiter<Made> waiters[2];
};

/// A stop, a deadline and a release at once.
template <mistake Made>
struct all_at_once : scene<Made> {
  static constexpr unsigned threads = 3;
  all_at_once() { waiters[0].gate.open(); }
  void run(unsigned thread) {
    if (thread == 0) {
      this->release_all_and_destroy(waiters);
    } else if (thread == 1) {
      this->stop(waiters);
    } else {
      this->withdraw(waiters[0]);
    }
  }
  void at_end() { require(waiters[0].ends == 1, "a wait was not ended once"); }
  waiter<Made> waiters[1];
};

/// The same from the moment when the waiter is published, its deadline armed and its object
/// unlocked.
template <mistake Made>
struct parking : scene<Made> {
  static constexpr unsigned threads = 3;
  void run(unsigned thread) {
    waiter<Made>& w = waiters[0];
    if (thread == 0) {
      this->of.lock();
      if (Made != mistake::opens_late) {
        w.gate.open();
      }
      published.store(1, std::memory_order_release);
      if (Made == mistake::opens_late) {
        w.gate.open();
      }
      armed.wake();
      this->of.unlock();
      this->release_all_and_destroy(waiters);
    } else if (thread == 1) {
      const bool found = published.load(std::memory_order_acquire) != 0;
      if (found) {
        this->stop(waiters);
      }
    } else {
      armed.sleep();
      this->withdraw(w);
    }
  }
  void at_end() { require(waiters[0].ends == 1, "a wait was not ended once"); }
  waiter<Made> waiters[1];
  model::atomic<int> published{0};
  model::note armed;
};

/// A stop and a deadline, and no thread that releases: one of the two ends the wait.
template <mistake Made>
struct without_release : scene<Made> {
  static constexpr unsigned threads = 2;
  without_release() { waiters[0].gate.open(); }
  void run(unsigned thread) {
    if (thread == 0) {
      this->stop(waiters);
    } else {
      this->withdraw(waiters[0]);
    }
  }
  void at_end() { require(waiters[0].ends == 1, "a wait was not ended once"); }
  waiter<Made> waiters[1];
};

}  // namespace

TEST_CASE("model: a wait ends once, and its object is left alone when it may be gone") {
  for (const machine on : every_machine) {
    holds<timed<mistake::nothing>>({on, 6, 3});
    holds<two_timed<mistake::nothing>>({on, 2, 2});
    holds<stopped<mistake::nothing>>({on, 4, 2});
    holds<all_at_once<mistake::nothing>>({on, 3, 2});
    holds<parking<mistake::nothing>>({on, 3, 1});
    holds<without_release<mistake::nothing>>({on, 6, 3});
  }
}

TEST_CASE("model: each mutant of the gate is found out") {
  constexpr model::options on_weak{machine::weak, 3, 2};
  constexpr model::options on_any{machine::sequential, 4, 0};
  CHECK(found_out<timed<mistake::enters_blindly>>(on_any));
  CHECK(found_out<stopped<mistake::enters_blindly>>(on_any));
  CHECK(found_out<timed<mistake::waits_for_lock>>(on_any));
  CHECK(found_out<parking<mistake::opens_late>>(on_any));
  CHECK(found_out<all_at_once<mistake::leaves_open>>(on_any));
  CHECK(found_out<timed<mistake::waits_not>>(on_any));
  CHECK(found_out<stopped<mistake::waits_not>>(on_any));
  CHECK(found_out<timed<mistake::shuts_not>>(on_any));
  CHECK(found_out<timed<mistake::shuts_after>>(on_any));
  CHECK(found_out<stopped<mistake::looks_first>>(on_any));
  CHECK(found_out<stopped<mistake::no_heavy_fence>>(on_weak));
  CHECK(found_out<stopped<mistake::looks_not>>(on_any));
  CHECK(found_out<timed<mistake::weak_leave>>(on_weak));
  CHECK(found_out<timed<mistake::weak_wait>>(on_weak));
}
