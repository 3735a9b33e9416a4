// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// timer: one moment in the future, as a channel or as a function that is called.
//
// A timer with a channel is that channel with a clock (chan/base.hpp): nothing is armed, nothing is
// buffered, and what is received is the time at which it was due. Hence what Go promises since 1.23
// costs nothing here: no stale value after stop() or reset(), and a timer without handles is freed.
//
// The function of a timer needs a caller: func_timer stands in a P's heap while it is armed. Its
// references: one for each handle, one for the entry in the heap, which passes on to the
// goroutine that runs the function.
//   FT1  arming and stopping happen under lock_; firing does not take it.
//   FT2  the last reference is never dropped by fire(): the heap still writes to the timer after
//        that.
//   FT3  after its runtime has stopped it is in no heap, and cannot be armed: only a goroutine of
//        that runtime arms it unseen, which is waited for before the heaps are emptied.
#ifndef THRUM_TIME_TIMER_HPP
#define THRUM_TIME_TIMER_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/start.hpp>
#include <thrum/detail/sched/thread/thread_creator.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/task.hpp>
#include <thrum/runtime.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace time_detail {

using namespace sched;
using namespace chan_detail;

/// A moment so long from now that is counted; the latest one is for timers that never fire.
template <class Rep, class Period>
std::int64_t due_after(std::chrono::duration<Rep, Period> time) noexcept {
  const std::int64_t when = deadline_after(time);
  return when == no_deadline ? latest_moment : when;
}

/// The channel of a timer or a ticker.
class timer_channel final : public chan_core<time_point>, public chan_clock {
 public:
  /// `period` 0: once.
  timer_channel(std::int64_t due, std::int64_t period_ns) noexcept;

  /// Whether it was going to be ready; no_deadline stops it.
  bool set(std::int64_t due, std::int64_t period_ns) noexcept;

 private:
  static void take_tick(chan_clock& clock, void* slot, std::int64_t now) noexcept;

  static void destroy(chan_base* self) noexcept { delete static_cast<timer_channel*>(self); }

  std::int64_t period_;  // under the lock
};

/// A function that is called in a goroutine of its own.
class func_timer : public basic_timer<traits> {
 public:
  func_timer(const func_timer&) = delete;
  func_timer& operator=(const func_timer&) = delete;

  void add_reference() noexcept {
    references_.fetch_add(1, relaxed);  // relaxed: the caller holds one already
  }
  void drop_reference() noexcept {
    // [ft.refs <>] acq_rel, with itself: every use by others happened before the last one destroys
    // it.
    if (references_.fetch_sub(1, acq_rel) == 1) {
      leave_heap();
      destroy_(this);
    }
  }

  /// False: it has fired, or was stopped before.
  bool stop() noexcept;

  /// Arms it anew; as stop(). usage_error if its runtime has stopped.
  bool reset(std::int64_t due);

  /// As reset(due), with its result in `was_armed`; returns false if its runtime has stopped.
  bool try_reset(std::int64_t due, bool& was_armed) noexcept;

 protected:
  using action = void (*)(func_timer*) noexcept;

  func_timer(runtime_scheduler& scheduler, action call, action destroy) noexcept
      : scheduler_(scheduler),
        number_(scheduler.registered.number()),
        call_(call),
        destroy_(destroy) {
    basic_timer::fire = [](basic_timer& timer, bool) noexcept {
      auto& self = static_cast<func_timer&>(timer);
      if (has_stack_at_hand(self.scheduler_)) [[likely]] {
        self.call_(&self);
      } else {
        self.start_late();
      }
    };
    basic_timer::discard = [](basic_timer& timer) noexcept {
      static_cast<func_timer&>(timer).drop_reference();
    };
  }
  ~func_timer() = default;

  runtime_scheduler& scheduler_;  // may be gone: FT3

 private:
  struct late : late_start {
    func_timer* of;
  };

  /// Whether a goroutine of the timer's runtime calls, which is there then.
  bool is_own(const section& here) const noexcept;

  /// There is no stack for its goroutine but from a hook, which may not be called where timers fire: the
  /// creator calls call_.
  void start_late() noexcept;

  /// If a timer that is not armed has left an entry in a heap of its runtime, takes it out.
  void leave_heap() noexcept;

  bool rearm(std::int64_t due) noexcept;

  const std::uint64_t number_;  // the scheduler's: another one may come to stand in its place
  const action call_;
  const action destroy_;
  std::atomic<std::uint32_t> references_{1};
  std::atomic<std::uint32_t> late_starts_{
      0};  // that the creator has been asked for and has not begun
  late late_{};
  spin_lock lock_{lock_rank::timer};
};

/// If the runtime ends before it calls a function of ours that derives from this, it calls the function's
/// discarded().
struct told_of_discard {};

template <class F>
class func_timer_of final : public func_timer {
 public:
  template <class From>
  func_timer_of(runtime_scheduler& scheduler, From&& f)
      : func_timer(scheduler, &call, &destroy), function_(std::forward<From>(f)) {
    if constexpr (std::is_base_of_v<told_of_discard, F>) {
      basic_timer::discard = [](basic_timer& timer) noexcept {
        auto& self = static_cast<func_timer_of&>(timer);
        self.function_.discarded();
        self.drop_reference();
      };
    }
  }

 private:
  /// Gives a reference back also if the function throws.
  struct reference {
    explicit reference(func_timer_of* timer) noexcept : of(timer) {}
    reference(reference&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    ~reference() {
      if (of != nullptr) {
        of->drop_reference();
      }
    }
    func_timer_of* of;
  };

  static void call(func_timer* timer) noexcept {
    auto* const self = static_cast<func_timer_of*>(timer);
    THRUM_TRY {
      // FT2: the goroutine has the entry's reference, and its end is after the heap's last look.
      go_detail::start_task(self->scheduler_,
                            [held = reference(self)] { std::invoke(held.of->function_); });
    }
    THRUM_CATCH_ALL {
      base::fatal("after_func: no memory for the goroutine of a due timer; raise the memory limit");
    }
  }
  static void destroy(func_timer* timer) noexcept { delete static_cast<func_timer_of*>(timer); }

  F function_;
};

/// A counted reference to a func_timer, or none.
class func_timer_handle {
 public:
  func_timer_handle() noexcept = default;
  explicit func_timer_handle(func_timer* adopted) noexcept : timer_(adopted) {}
  func_timer_handle(const func_timer_handle& other) noexcept : timer_(other.timer_) {
    if (timer_ != nullptr) {
      timer_->add_reference();
    }
  }
  func_timer_handle(func_timer_handle&& other) noexcept
      : timer_(std::exchange(other.timer_, nullptr)) {}
  func_timer_handle& operator=(func_timer_handle other) noexcept;
  ~func_timer_handle();
  func_timer* get() const noexcept { return timer_; }

 private:
  func_timer* timer_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::time_detail

namespace thrum { inline namespace THRUM_ABI {

/// One moment in the future: a shared handle, cheap to copy. All members may be called from any
/// goroutine and any thread. A timer is freed once no handle of it or of its channel is left; one made by
/// after_func is kept until it has fired or was stopped.
///
/// When not to use: to bound a wait, the timed forms (recv_for, on_timeout) are shorter and
/// cheaper.
class timer {
 public:
  /// No timer: stop() and reset() are errors of use, chan() is the nil channel.
  timer() noexcept = default;

  /// A timer whose channel is ready once, `time` from now. Not positive: at once.
  template <class Rep, class Period>
  explicit timer(std::chrono::duration<Rep, Period> time)
      : channel_(chan_detail::adopt_reference{},
                 new time_detail::timer_channel(time_detail::due_after(time), 0)) {}

  /// Gives the time at which the timer was due, once for each time it is set. Its size and capacity
  /// are 0. The nil channel for a timer of after_func.
  recv_chan<time_point> chan() const noexcept { return channel_; }

  /// Whether this is a timer at all.
  bool is_set() const noexcept { return channel_ || function_.get() != nullptr; }

  /// Stops it. True: it had not come to its moment, or no receiver had taken that yet; none will. For a
  /// timer of after_func: the function will not be called; false says that it has been started, not that it
  /// has ended. usage_error for no timer.
  bool stop() const;

  /// Sets it to `time` from now, whatever it was before; returns what stop() would have.
  /// usage_error for no timer, and for one of after_func whose runtime has stopped.
  template <class Rep, class Period>
  bool reset(std::chrono::duration<Rep, Period> time) const {
    const std::int64_t due = time_detail::due_after(time);
    if (time_detail::func_timer* const called = function_.get()) {
      return called->reset(due);
    }
    return channel("timer::reset: the timer is empty: default-constructed or moved from")
        .set(due, 0);
  }

 private:
  template <class Rep, class Period, class F>
  friend timer after_func(runtime&, std::chrono::duration<Rep, Period>, F&&);

  explicit timer(time_detail::func_timer_handle of) noexcept : function_(std::move(of)) {}

  time_detail::timer_channel& channel(const char* error) const;

  recv_chan<time_point> channel_;
  time_detail::func_timer_handle function_;
};

/// Calls f() in a goroutine of its own on that runtime, `time` from now; from any thread. The timer
/// stops it or sets it to another time, also after it has been called. What leaves f is a panic.
/// usage_error if the runtime is stopped.
template <class Rep, class Period, class F>
timer after_func(runtime& where, std::chrono::duration<Rep, Period> time, F&& f) {
  constexpr bool callable = std::is_invocable_v<std::decay_t<F>&>;
  static_assert(callable, "after_func: the function must be callable without arguments");
  if constexpr (callable) {
    time_detail::func_timer_handle handle(
        new time_detail::func_timer_of<std::decay_t<F>>(where.scheduler(), std::forward<F>(f)));
    handle.get()->reset(time_detail::due_after(time));
    return timer(std::move(handle));
  } else {
    return timer();
  }
}

/// after_func(where, time, f) on the current runtime. usage_error outside of one.
template <class Rep, class Period, class F>
timer after_func(std::chrono::duration<Rep, Period> time, F&& f) {
  runtime* const own = runtime::current();
  if (own == nullptr) {
    go_detail::throw_outside("after_func", "name one before the time");
  }
  return after_func(*own, time, std::forward<F>(f));
}

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/life/registry.hpp>

#include <optional>

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
  // Ticks that no receiver has taken are dropped.
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
  return channel("timer::stop: the timer is empty: default-constructed or moved from")
      .set(sched::no_deadline, 0);
}

THRUM_OUT_OF_LINE time_detail::timer_channel& timer::channel(const char* error) const {
  if (!channel_) {
    base::throw_usage(error);
  }
  return *static_cast<time_detail::timer_channel*>(channel_.core());
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
