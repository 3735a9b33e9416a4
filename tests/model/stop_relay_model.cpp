// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sched/run/stop_relay.hpp in every interleaving within the bounds: a waiter shows its point, while a
// stop is requested and another thread releases it. What must hold: the wait ends once, and the
// requester does not touch the point when the waiter has gone on. Then the mutants.

#include "model/support/assertions.hpp"

#include <thrum/detail/sched/run/stop_relay.hpp>

#include "model/support/checks.hpp"
#include "model/support/model_traits.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <atomic>
#include <cstdint>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::require;

enum class watch_mistake {
  nothing,
  waits_not,      // the waiter does not wait for the requester's last look
  looks_late,     // the requester says that it has looked before it does
  weak_told,      // it says so relaxed
  weak_wait,      // the waiter's wait for that is relaxed
  weak_show,      // the point is shown relaxed
  sleeps_anyway,  // a waiter that was too late to show its point parks nevertheless
};

/// The atomics of the relay, of which some accesses are wrong in a mutant.
template <class T, watch_mistake Made>
class watch_atomic : public model::basic_atomic<T> {
  using base = model::basic_atomic<T>;
  using order = std::memory_order;

 public:
  watch_atomic(T value) noexcept : base(value) {}  // not explicit: as std::atomic

  T load(order how) const noexcept {
    return base::load(Made == watch_mistake::weak_wait ? order::relaxed : how);
  }
  void store(T value, order how) noexcept {
    base::store(value, Made == watch_mistake::weak_told ? order::relaxed : how);
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
    const bool weak = Made == watch_mistake::weak_show && success == order::release;
    return base::compare_exchange_strong(expected, desired, weak ? order::relaxed : success,
                                         failure);
  }
};

template <watch_mistake Made>
struct relay_traits : model::traits {
  template <class T>
  using atomic = watch_atomic<T, Made>;
  static void back_off(std::uint32_t) noexcept { model::explorer::active().yield(); }
};

struct shown_point {
  alignas(8) model::cell<int> gone{0};
  model::cell<int> shown{0};
  bool linked = false;  // under the object's lock
  model::cell<int> ends{0};
  model::note note;
};

template <watch_mistake Made>
struct stopped_wait {
  static constexpr unsigned threads = 3;

  void run(unsigned thread) {
    if (thread == 0) {
      wait();
    } else if (thread == 1) {
      request();
    } else {
      release();
    }
  }
  void at_end() { require(point.ends == 1, "the wait was not ended once"); }

  void wait() {
    of.lock();
    point.shown = 1;
    point.linked = true;
    const bool shown = relay.show(point);
    if (!shown && Made != watch_mistake::sleeps_anyway) {
      point.linked = false;
      point.ends = point.ends + 1;
      of.unlock();
      return;
    }
    of.unlock();
    point.note.sleep();
    if (shown && Made != watch_mistake::waits_not) {
      relay.hide(point);
    }
    point.gone = 1;
  }
  void request() {
    const auto look = [this](shown_point& found) {
      require(found.shown == 1, "a point was found before it was shown");
      require(found.gone == 0, "a point was touched when it was gone");
      return take(found);
    };
    shown_point* ours = nullptr;
    if constexpr (Made == watch_mistake::looks_late) {
      shown_point* found = nullptr;
      relay.request([&](shown_point& at) {
        found = &at;
        return false;
      });
      ours = found != nullptr && look(*found) ? found : nullptr;
    } else {
      ours = relay.request(look);
    }
    if (ours != nullptr) {
      end(*ours);
    }
  }
  void release() {
    if (take(point)) {
      end(point);
    }
  }
  bool take(shown_point& at) {
    of.lock();
    const bool taken = at.linked;
    at.linked = false;
    of.unlock();
    return taken;
  }
  void end(shown_point& at) {
    at.ends = at.ends + 1;
    at.note.wake();
  }

  model::mutex of{0};
  thrum::sched::basic_stop_relay<relay_traits<Made>, shown_point> relay;
  shown_point point;
};

}  // namespace

TEST_CASE("model: a stop ends a wait once, and leaves its point alone when it may be gone") {
  for (const machine on : every_machine) {
    holds<stopped_wait<watch_mistake::nothing>>({on, 4, 2});
  }
}

TEST_CASE("model: each mutant of the stop relay is found out") {
  constexpr model::options on_weak{machine::weak, 4, 2};
  constexpr model::options on_any{machine::sequential, 5, 0};
  CHECK(found_out<stopped_wait<watch_mistake::waits_not>>(on_any));
  CHECK(found_out<stopped_wait<watch_mistake::looks_late>>(on_any));
  CHECK(found_out<stopped_wait<watch_mistake::sleeps_anyway>>(on_any));
  CHECK(found_out<stopped_wait<watch_mistake::weak_show>>(on_weak));
  CHECK(found_out<stopped_wait<watch_mistake::weak_told>>(on_weak));
  CHECK(found_out<stopped_wait<watch_mistake::weak_wait>>(on_weak));
}
