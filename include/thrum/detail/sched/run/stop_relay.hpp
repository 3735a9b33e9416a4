// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a request to stop ends a wait: of a std::stop_token, or of a context by its token.
//
// Purpose
//   A call that is given a stop keeps a stop_relay in its frame while it waits, with a
//   std::stop_callback that calls request(). Each wait of the call shows its wait point to the relay;
//   the request withdraws the point, as a timer does (withdraw_in_time), and wakes the waiter.
//
// State: one word.
//   0        no wait, no request
//   a point  the call waits there
//   looking  requested; the requester may still look at the point that it found
//   told     requested, and the requester looks at nothing any more
//
// The two sides
//   waiter      under the lock of its object, once its point is linked: 0 -> point. If that fails,
//               it was requested: it takes its point out itself. When it runs again: point -> 0; if
//               that fails, it waits for `told` before its point goes.
//   requester   exchanges the word for `looking`; withdraws the point that it found, if any; told;
//               and wakes the waiter if it was the one that took it out.
//
// How a wait knows of its relay: the call passes `until_stopped` as the deadline, down the ways that
// deadlines go, and the goroutine, or the thread, leads to the relay. So waits without a stop pay
// nothing for it, not even an argument. A real deadline besides stands in the relay.
//
// Invariant
//   SR1  the requester touches a point only between its exchange and `told`; after that, only if it
//        has taken the point out, whose waiter stays parked until it is woken.
//
// Checked by stop_relay_model.cpp and stoppable_test.cpp.
#ifndef THRUM_DETAIL_SCHED_RUN_STOP_RELAY_HPP
#define THRUM_DETAIL_SCHED_RUN_STOP_RELAY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template <class Traits, class Point>
class basic_stop_relay {
 public:
  /// Shows the waiter's point, under the lock of its object. False: the stop was requested before.
  bool show(Point& point) noexcept {
    std::uintptr_t expected = idle;
    // [stop.word >] release: the point, to the requester. relaxed: nothing is read of it
    return word_.compare_exchange_strong(expected, address_of(point), release, relaxed);
  }

  /// Called by the waiter when it runs again. Afterwards the requester looks at the point no more.
  void hide(Point& point) noexcept {
    std::uintptr_t expected = address_of(point);
    // relaxed: no requester has seen the point
    if (word_.compare_exchange_strong(expected, idle, relaxed, relaxed)) {
      return;
    }
    // [stop.word <] acquire: the requester's last look, before the point goes.
    for (std::uint32_t turn = 0; word_.load(acquire) != told; ++turn) {
      Traits::back_off(turn);
    }
  }

  /// Called by the requester, once. end_wait(point) says whether it took the point out. Returns that
  /// point, which the caller wakes; else null.
  template <class EndWait>
  Point* request(EndWait end_wait) noexcept {
    // [stop.word <] acquire: the point.
    const std::uintptr_t found = word_.exchange(looking, acquire);
    auto* const point = reinterpret_cast<Point*>(found);
    const bool ours = point != nullptr && end_wait(*point);
    word_.store(told, release);  // [stop.word >] release: our last look at the point (SR1)
    return ours ? point : nullptr;
  }

  bool is_requested() const noexcept {
    const std::uintptr_t word = word_.load(relaxed);  // relaxed: what came with it is not ours
    return word == looking || word == told;
  }

 private:
  // No address of a point, which are aligned.
  static constexpr std::uintptr_t idle = 0;
  static constexpr std::uintptr_t looking = 1;
  static constexpr std::uintptr_t told = 2;

  static std::uintptr_t address_of(Point& point) noexcept {
    return reinterpret_cast<std::uintptr_t>(&point);
  }

  typename Traits::template atomic<std::uintptr_t> word_{idle};
};

class stop_relay : public basic_stop_relay<traits, wait_point> {
 public:
  explicit stop_relay(std::int64_t when, bool of_io = false) noexcept
      : deadline(when), ends_io(of_io) {}

  /// The stop is requested.
  void request() noexcept {
    const section here;
    wait_point* const point = basic_stop_relay::request(
        [](wait_point& found) noexcept { return withdraw_in_time(found); });
    if (point != nullptr) {
      wake(*point);
    }
  }

  /// When the waits end besides.
  std::int64_t deadline;

  /// Whether it ends the waits for input and output, by an io_deadline; and whether it has ended one.
  const bool ends_io;
  bool has_ended_io = false;
};

/// The relay of the caller's waits until_stopped. Where `here` is no goroutine, the thread's.
stop_relay* current_stop_relay(const section& here) noexcept;

/// Makes it another one. Returns the one before.
stop_relay* exchange_stop_relay(const section& here, stop_relay* by) noexcept;

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>

#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct thread_stop_relay {
  static inline constinit THRUM_THREAD_LOCAL os::thread_word<stop_relay*> value = nullptr;
};

// Not inlined: the address of a thread's variable must not outlive a switch of the goroutine.

THRUM_NOINLINE THRUM_OUT_OF_LINE stop_relay* current_stop_relay(const section& here) noexcept {
  if (const goroutine* const g = here.g()) {
    return g->stop;
  }
  return thread_stop_relay::value;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE stop_relay* exchange_stop_relay(const section& here,
                                                                 stop_relay* by) noexcept {
  if (goroutine* const g = here.g()) {
    return std::exchange(g->stop, by);
  }
  stop_relay* const before = thread_stop_relay::value;
  thread_stop_relay::value = by;
  return before;
}

}}}  // namespace thrum::THRUM_ABI::sched
#endif

#endif
