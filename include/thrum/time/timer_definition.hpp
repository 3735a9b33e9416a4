// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What time/timer.hpp declares: the bodies that are not inlined.
#ifndef THRUM_TIME_TIMER_DEFINITION_HPP
#define THRUM_TIME_TIMER_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/chan.hpp>
#include <thrum/deadline.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/life/registry.hpp>
#include <thrum/time/timer.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace time_detail {

THRUM_OUT_OF_LINE timer_channel::timer_channel(std::int64_t due, std::int64_t period_ns) noexcept
    : chan_core<time_point>(*static_cast<chan_clock*>(this), &destroy), period_(period_ns) {
  when = due;
  chan_clock::produce = &take_tick;
}

THRUM_OUT_OF_LINE bool timer_channel::set(std::int64_t due, std::int64_t period_ns) noexcept {
  bool was_armed = false;
  change_clock([&] {
    was_armed = when != no_deadline;
    when = due;
    period_ = period_ns;
  });
  return was_armed;
}

THRUM_OUT_OF_LINE void timer_channel::take_tick(chan_clock& clock, void* slot,
                                                std::int64_t now) noexcept {
  auto& self = static_cast<timer_channel&>(clock);
  static_cast<std::optional<time_point>*>(slot)->emplace(std::chrono::nanoseconds(self.when));
  if (self.period_ == 0) {
    self.when = no_deadline;
    return;
  }
  // Ticks that nobody has taken are dropped.
  const std::int64_t due = self.when + (now - self.when) / self.period_ * self.period_;
  self.when = due < latest_moment - self.period_ ? due + self.period_ : latest_moment;
}

THRUM_OUT_OF_LINE bool func_timer::stop() noexcept {
  bool was_armed;
  {
    const section here;
    scoped guard(lock_);  // FT1
    was_armed = timer_heap<traits>::remove(*this);
  }
  if (was_armed) {
    drop_reference();  // the entry's
  }
  return was_armed;
}

THRUM_OUT_OF_LINE void func_timer::start_late() noexcept {
  scheduler_.announce_start();
  // [ft.late <>] acq_rel, with itself: what stands in late_, to the creator, which has read it.
  if (late_starts_.fetch_add(1, acq_rel) != 0) {
    return;
  }
  late_.of = this;
  late_.start = [](late_start& what) noexcept {
    func_timer& self = *static_cast<late&>(what).of;
    runtime_scheduler& scheduler = self.scheduler_;
    // [ft.late <>] acq_rel: late_ may be asked for again. Each of them has a reference: the last call may
    // destroy the timer.
    for (std::uint32_t n = self.late_starts_.exchange(0, acq_rel); n != 0; --n) {
      self.call_(&self);
      scheduler.take_back_announcement();
    }
  };
  scheduler_.creator.request_start(late_);
}

THRUM_OUT_OF_LINE bool func_timer::reset(std::int64_t due) {
  bool was_armed = false;
  if (try_reset(due, was_armed)) {
    return was_armed;
  }
  base::throw_usage(
      "timer::reset: the runtime in which after_func was called has stopped; call after_func in "
      "one that runs");
}

THRUM_OUT_OF_LINE bool func_timer::try_reset(std::int64_t due, bool& was_armed) noexcept {
  const section here;
  if (is_own(here)) {
    was_armed = rearm(due);
    return true;
  }
  return registry::use(&scheduler_, number_, [&] { was_armed = rearm(due); });
}

THRUM_OUT_OF_LINE bool func_timer::is_own(const section& here) const noexcept {
  const auto* const m = here.m();
  return m != nullptr && m->g != nullptr && m->scheduler == &scheduler_ &&
         m->scheduler->registered.number() == number_;
}

THRUM_OUT_OF_LINE void func_timer::leave_heap() noexcept {
  const section here;
  const auto leave = [this] { timer_heap<traits>::detach(*this); };
  if (is_own(here)) {
    leave();
  } else if (timer_heap<traits>::has_entry(*this)) {
    registry::visit(&scheduler_, number_, leave);
  }
}

THRUM_OUT_OF_LINE bool func_timer::rearm(std::int64_t due) noexcept {
  scoped guard(lock_);
  const bool was_armed = timer_heap<traits>::remove(*this);
  if (!was_armed) {
    add_reference();
  }
  arm(scheduler_, *this, due);
  return was_armed;
}

THRUM_OUT_OF_LINE func_timer_handle& func_timer_handle::operator=(
    func_timer_handle other) noexcept {
  std::swap(timer_, other.timer_);
  return *this;
}

THRUM_OUT_OF_LINE func_timer_handle::~func_timer_handle() {
  if (timer_ != nullptr) {
    timer_->drop_reference();
  }
}

}  // namespace time_detail

THRUM_OUT_OF_LINE bool timer::stop() const {
  if (time_detail::func_timer* const called = function_.get()) {
    return called->stop();
  }
  return channel("timer::stop: called on no timer").set(sched::no_deadline, 0);
}

THRUM_OUT_OF_LINE time_detail::timer_channel& timer::channel(const char* error) const {
  if (!channel_) {
    base::throw_usage(error);
  }
  return *static_cast<time_detail::timer_channel*>(channel_.core());
}

}}  // namespace thrum::THRUM_ABI

#endif
