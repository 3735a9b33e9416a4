// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A select of a coroutine or a waiter: the engine's steps (select/engine.hpp) around a wait that ends by a call.
//
// Each case has a callback_point on its channel; the thread that serves one wins the selection and pushes the
// record. The record itself is the point that a deadline and a cancel win by. Both go through the selection's gate.
// SE2 holds: the thread that continues takes each lock but the winner's before the frame ends.
#ifndef THRUM_DETAIL_COROUTINE_SELECT_WAIT_HPP
#define THRUM_DETAIL_COROUTINE_SELECT_WAIT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/coroutine/promise.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/detail/coroutine/waits.hpp>
#include <thrum/detail/select/call.hpp>
#include <thrum/detail/select/carry_out.hpp>
#include <thrum/detail/select/cases.hpp>
#include <thrum/detail/select/engine.hpp>
#include <thrum/detail/start/deadline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

/// A select_call that continues a record.
struct recorded_select : select_detail::select_call {
  wait_record* of;

  /// The function of its points: the cause stands in the point, and `again` reads it.
  static void continue_record(callback_point& self) noexcept {
    wait_record& record = *static_cast<recorded_select&>(*self.selection).of;
    record.cause.set(wake_cause::notified);
    record.owner->runs_on->push(record);
  }

  /// A deadline or a cancel wins through the record.
  static withdrawal withdraw(wait_point& point, bool locked) noexcept {
    auto& own = static_cast<recorded_select&>(*point.selection);
    if (!locked) {
      if (!own.last_released->try_lock()) {
        return withdrawal::busy;
      }
      own.last_released->unlock();
    }
    return own.win(point) ? withdrawal::done : withdrawal::refused;
  }

  static bool park(section& here, select_call& by, std::int64_t due,
                   select_detail::locked_channels& held) noexcept {
    wait_record& record = *static_cast<recorded_select&>(by).of;
    record.selection = &by;
    record.withdraw = &withdraw;
    record.until->deadline = std::min(record.until->deadline, due);
    return park_record(here, record, held);
  }
};

template <class... Cases>
class select_wait : public awaiting<select_wait<Cases...>, ended_by_clock> {
  static constexpr std::size_t n = sizeof...(Cases);
  static_assert((std::size_t{0} + ... + std::size_t{Cases::is_default}) <= 1,
                "async_select: it has more than one otherwise(); pass at most one");
  using base_type = awaiting<select_wait, ended_by_clock>;

 public:
  explicit select_wait(Cases&&... cases) : cases_(std::move(cases)...) {
    this->again = &look_again;
    this->is_hint = true;
  }
  ~select_wait() {
    leave();
    releases dropped;
    release(dropped);
  }

  bool begin(wait_owner& of) {
    std::apply(
        [&](auto&... each) {
          ((select_detail::prepare(each, operations_, prepared_), ++prepared_), ...);
        },
        cases_);
    return base_type::begin(of);
  }

  bool start(bool /*may_wait*/) noexcept {
    using kind = select_detail::select_start::kind;
    const std::size_t timed = first_timed();
    const std::int64_t deadline = timed != n ? deadline_of(timed) : no_deadline;
    const bool may_park = default_index == n && deadline > time_detail::time_now();
    recorded_select* by = nullptr;
    if (may_park) {
      by = &round_.emplace(*this);
      this->until->deadline = deadline;
    }
    const select_detail::select_start came =
        select_detail::start_select(frame(), by, &recorded_select::park);
    switch (came.what) {
      case kind::waits: return true;
      case kind::chosen:
        round_.reset();
        chosen_ = came.index;
        return not_waiting(*this, wake_cause::notified);
      case kind::no_channels: {
        round_.reset();
        section here;
        return park_alone(here, *this, lock_);
      }
      case kind::not_ready: break;
    }
    if (may_park) {
      return false;  // cancelled before the wait, which has won
    }
    chosen_ = default_index != n ? default_index : timed;
    return not_waiting(*this, wake_cause::notified);
  }

  std::size_t await_resume() {
    leave();
    releases released;
    release(released);
    this->exit_if_cancelled();
    each_case([&](std::size_t i, auto& of) {
      if (i == chosen_) {
        of.run();
      }
    });
    released.finish();
    return chosen_;
  }

 private:
  using releases =
      std::conditional_t<(noexcept(std::declval<Cases&>().release(true)) && ...),
                         select_detail::release_of_all_surely, select_detail::release_of_all>;

  struct round : recorded_select {
    explicit round(wait_record& record) noexcept {
      of = &record;
      points = of_cases;
      for (callback_point& each : of_cases) {
        each.call = &continue_record;
        each.object = static_cast<wait_point*>(&each);
      }
    }
    callback_point of_cases[n];
  };

  static constexpr std::size_t default_index = [] {
    constexpr bool defaults[] = {Cases::is_default...};
    return static_cast<std::size_t>(std::find(defaults, defaults + n, true) - defaults);
  }();

  template <class F>
  void each_case(F f) {
    std::size_t i = 0;
    std::apply([&](auto&... each) { (f(i++, each), ...); }, cases_);
  }

  select_detail::select_frame frame() noexcept { return {operations_, n, by_address_, nullptr}; }

  std::int64_t deadline_of(std::size_t which) noexcept {
    std::int64_t found = no_deadline;
    each_case([&](std::size_t i, auto& of) { found = i == which ? of.deadline() : found; });
    return found;
  }

  /// The case whose time comes first; n: none has one.
  std::size_t first_timed() noexcept {
    std::size_t found = n;
    std::int64_t first = no_deadline;
    each_case([&](std::size_t i, auto& of) {
      if (of.deadline() < first) {
        first = of.deadline();
        found = i;
      }
    });
    return found;
  }

  /// L4.
  void leave() noexcept {
    if (round_) {
      const std::size_t index = select_detail::end_select(frame(), *round_);
      chosen_ = index != n ? index : chosen_;
      round_.reset();
      this->selection = nullptr;
    }
  }

  template <class Releases>
  void release(Releases& each_of) noexcept {
    const std::size_t prepared = std::exchange(prepared_, 0);
    each_case([&](std::size_t i, auto& of) {
      if (i < prepared) {
        each_of([&]() noexcept(noexcept(of.release(true))) { of.release(i == chosen_); });
      }
    });
  }

  static bool look_again(wait_record& self) noexcept {
    auto& own = static_cast<select_wait&>(self);
    own.leave();
    if (own.chosen_ != n) {
      return false;
    }
    const std::size_t timed = own.first_timed();
    if (timed != n && own.deadline_of(timed) <= time_detail::time_now()) {
      bool has_come = true;
      own.each_case(
          [&](std::size_t i, auto& of) { has_come = i == timed ? of.has_come() : has_come; });
      if (has_come) {
        own.chosen_ = timed;
        return false;
      }
    }
    return base_type::start_again(own);
  }

  std::tuple<Cases...> cases_;
  select_detail::select_operation* operations_[n];
  chan_detail::chan_base* by_address_[n];
  std::size_t prepared_ = 0;
  std::size_t chosen_ = n;
  std::optional<round> round_;
  spin_lock lock_{lock_rank::sleeper};
};

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
