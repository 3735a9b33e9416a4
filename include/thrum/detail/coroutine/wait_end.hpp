// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How an owner waits: park_record() is W2 of wait_point.hpp, end_wait() its W4.
//
// Besides what is waited for, three may end the wait, as with a goroutine: its deadline and its stop, if the
// caller has given one (wait_end), and the end of the runtime (task::cancellation). The relays and the timer
// lie with the record, whose owner continues only when they are out of use.
#ifndef THRUM_DETAIL_COROUTINE_WAIT_END_HPP
#define THRUM_DETAIL_COROUTINE_WAIT_END_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/coroutine/executor.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>
#include <thrum/detail/sched/run/arm.hpp>
#include <thrum/detail/start/stoppable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

/// When a wait ends by itself.
struct wait_end {
  struct alarm : basic_timer<traits> {
    wait_point* of = nullptr;
  };

  std::int64_t deadline = no_deadline;
  stop_relay* stop = nullptr;  // null: there is none
  alarm timer;
  wait_point* shown = nullptr;  // to `stop`
  bool is_armed = false;
};

inline void time_out_record(basic_timer<traits>& timer, bool /*first*/) noexcept {
  wait_point& point = *static_cast<wait_end::alarm&>(timer).of;
  if (withdraw_in_time(point)) {
    wake(point);
  }
}

/// Takes a point out that a stop cannot find, under the lock. False: a waker has it.
inline bool take_out_locked(wait_point& point, wake_cause cause) noexcept {
  if (point.withdraw(point, true) != withdrawal::done) {
    return false;
  }
  settle(point, cause);
  return true;
}

/// Lets a record wait by a point that is linked. The lock is held, and released. False: the wait is over already. If
/// true, another thread may continue the owner before this returns.
template <class Lock>
bool park_at(section& here, wait_record& record, wait_point& point, Lock& held) noexcept {
  wait_end* const until = record.until;
  if (until != nullptr) {
    gate_of(point).open();
  }
  if (record.owner->cancellation.show(point)) [[likely]] {
    record.shown = &point;
  } else if (take_out_locked(point, wake_cause::cancelled)) {
    held.unlock();
    return false;
  }
  if (until == nullptr) [[likely]] {
    held.unlock();
    return true;
  }
  if (until->stop != nullptr) {
    if (until->stop->show(point)) {
      until->shown = &point;
    } else if (take_out_locked(point, wake_cause::timed_out)) {
      held.unlock();
      return false;
    }
  }
  const std::int64_t when = until->deadline;
  if (when == no_deadline) {
    held.unlock();
    return true;
  }
  machine& m = here.this_m();
  until->timer.of = &point;
  until->timer.fire = &time_out_record;
  until->is_armed = true;
  const auto added = m.p->timers.add(until->timer, when);
  held.unlock();
  announce_timer(m, added, when);
  return true;
}

/// park_at, by the point that the record is.
template <class Lock>
bool park_record(section& here, wait_record& record, Lock& held) noexcept {
  return park_at(here, record, record, held);
}

/// Before the owner continues, or waits again: no other thread looks at the point any more.
inline void end_wait(wait_record& record) noexcept {
  if (wait_point* const shown = std::exchange(record.shown, nullptr)) {
    record.owner->cancellation.hide(*shown);
  }
  if (wait_end* const until = record.until) {
    if (wait_point* const shown = std::exchange(until->shown, nullptr)) {
      until->stop->hide(*shown);
    }
    if (std::exchange(until->is_armed, false)) {
      const section here;
      timer_heap<traits>::detach(until->timer);
    }
  }
}

/// Makes a record that has waited ready for another wait.
inline void renew(wait_record& record) noexcept {
  record.last_cause = record.cause.get();
  record.cause.set(wake_cause::none);
  std::destroy_at(&record.gate);
  std::construct_at(&record.gate);
}

/// No end.
struct endless {
  static constexpr bool is_endless = true;
  static constexpr bool is_stop = false;
  wait_end* prepare() noexcept { return nullptr; }
  bool is_over() const noexcept { return false; }
};

/// An end that the object that is waited for may bring, by its clock.
struct ended_by_clock {
  static constexpr bool is_endless = true;
  static constexpr bool is_stop = false;

  ended_by_clock() noexcept = default;
  /// Before it is prepared.
  ended_by_clock(ended_by_clock&& /*other*/) noexcept {}

  wait_end* prepare() noexcept {
    end.deadline = no_deadline;
    return &end;
  }
  bool is_over() const noexcept { return false; }
  wait_end end;
};

/// A stop, a time, or a moment.
template <until_condition Until>
class ended_by {
  using moment = std::decay_t<decltype(stop_detail::ending(std::declval<const Until&>()))>;

 public:
  static constexpr bool is_endless = false;
  static constexpr bool is_stop = stop_condition<moment>;

  explicit ended_by(const Until& until) : until_(stop_detail::ending(until)) {}
  /// Before it is prepared.
  ended_by(ended_by&& other) noexcept(std::is_nothrow_move_constructible_v<moment>)
      : until_(std::move(other.until_)) {}

  wait_end* prepare() {
    end.deadline = stop_detail::deadline_of(until_);
    if constexpr (stop_condition<moment>) {
      if (!callback_) {
        callback_.emplace(stop_detail::token_of(until_), request{&relay_});
        end.stop = &relay_;
      }
    }
    return &end;
  }
  bool is_over() const { return stop_detail::is_over(until_); }

  wait_end end;

 private:
  struct request {
    stop_relay* of;
    void operator()() const noexcept { of->request(); }
  };

  moment until_;
  stop_relay relay_{no_deadline};
  std::optional<std::stop_callback<request>> callback_;
};

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
