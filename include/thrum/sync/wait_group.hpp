// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// wait_group: wait until a number of things are done.
//
// State: one word, counter in the upper half, waiters in the lower.
// Invariants
//   WG1  the counter is never negative, but for the moment before an error is taken back.
//   WG2  a waiter is counted in the word exactly while its point is linked, both under the lock.
// add and done touch only the word unless they bring it to zero with waiters there. An add that
// turns out to be an error takes back what it has added; a wait() that begins in between does wait,
// and is woken if taking back makes the counter zero.
//
// Tried and rejected: a place for the first waiter, claimed by the exchange that counts it, which
// needs no lock. Of ten locked instructions for go() and wait(), one at a time, eight remain, or
// seven if the last done() looks before it counts; the time stays as it was (66 ns, five runs in
// turns), since no other processor wants the line. And a group that is used again before every wait()
// has returned, which is an error that does no harm now, could lose a waiter.
//
// Source: Go's sync.WaitGroup, with a list of waiters in place of its semaphore.
#ifndef THRUM_SYNC_WAIT_GROUP_HPP
#define THRUM_SYNC_WAIT_GROUP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/go.hpp>
#include <thrum/stop_condition.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace coroutine_detail {
struct object_access;
}

/// Counts things to be done; wait() blocks while the count is not zero. Any thread may call
/// anything. The calls of add that raise the count from zero must happen before wait(). May be used
/// again once every wait() has returned.
class wait_group {
 public:
  constexpr wait_group() noexcept = default;

  /// The count begins with n. usage_error if that is negative.
  explicit constexpr wait_group(int n) : word_(static_cast<std::uint64_t>(n) << 32) {
    if (n < 0) {
      base::throw_usage("wait_group: the count is negative");
    }
  }
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;
  ~wait_group() {
    // relaxed: no other may use it now
    if (word_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      destroyed_too_early();
    }
  }

  /// Adds n to the count; a negative one subtracts. If the count would become negative, or is raised from
  /// zero while a wait() blocks: usage_error, and the count as it was. Does not block.
  void add(int n = 1) {
    using namespace base::orders;
    const auto delta = static_cast<std::uint64_t>(static_cast<std::int64_t>(n)) << 32;
    // [wg.word <>] acq_rel: what was done before done(), to each wait() that sees the zero.
    const std::uint64_t word = word_.fetch_add(delta, acq_rel) + delta;
    const auto counter = static_cast<std::int32_t>(word >> 32);
    const auto waiters = static_cast<std::uint32_t>(word);
    if (counter > 0 && (waiters == 0 || counter != n)) [[likely]] {
      return;
    }
    if (counter == 0 && waiters == 0) [[likely]] {
      return;
    }
    add_slow(counter, delta);
  }

  /// add(-1).
  void done() {
    using namespace base::orders;
    // [wg.word <>] acq_rel: as in add
    const std::uint64_t word = word_.fetch_sub(one, acq_rel);
    // More is left to be done, or this was the last and no goroutine waits.
    if (static_cast<std::int64_t>(word) >= static_cast<std::int64_t>(2 * one) || word == one)
        [[likely]] {
      return;
    }
    add_slow(static_cast<std::int32_t>((word - one) >> 32), 0 - one);
  }

  /// Blocks until the count is zero. A cancellation point.
  void wait() { wait_until_ns(sched::no_deadline); }

  /// wait() for at most a time; returns whether the count was zero. A cancellation point.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) {
    return wait_until_ns(time_detail::deadline_after(time));
  }

  /// wait() until a moment of any clock; returns whether the count was zero. A cancellation point.
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> when) {
    return time_detail::retry_until(
        when, [this](std::int64_t deadline) { return wait_until_ns(deadline); });
  }

  /// wait() until a stop is requested; returns whether the count was zero. A cancellation point.
  template <until_condition Stop>
  [[nodiscard]] bool wait(const Stop& stop) {
    return stop_detail::until_stopped(
        stop, [this](std::int64_t deadline) { return wait_until_ns(deadline); });
  }

  /// add(1), starts f(args...) as a goroutine of the current runtime, and done() when it ends, also
  /// by goroutine_exit; not when an exception leaves it, which is a panic. What is kept of f and the
  /// arguments, and the goroutine's own values (goroutine_local), are destroyed before done(): they must
  /// neither be what keeps the group alive, nor wait for it. go(where, f, args...) starts it on the runtime
  /// `where`, from any thread; go(how, f, args...) with attributes.
  template <class F, class... Args>
  void go(F&& f, Args&&... args) {
    if constexpr (go_detail::not_runtime<F>) {
      start([](auto&&... task) { thrum::go(std::forward<decltype(task)>(task)...); },
            std::forward<F>(f), std::forward<Args>(args)...);
    } else {
      start([&f](auto&&... task) { f.go(std::forward<decltype(task)>(task)...); },
            std::forward<Args>(args)...);
    }
  }
  template <class F, class... Args>
  void go(attributes how, F&& f, Args&&... args) {
    start([&how](auto&&... task) { thrum::go(how, std::forward<decltype(task)>(task)...); },
          std::forward<F>(f), std::forward<Args>(args)...);
  }

 private:
  template <class Start, class F, class... Args>
  void start(Start go, F&& f, Args&&... args) {
    if constexpr (go_detail::is_task<F, Args...>()) {
      add(1);
      THRUM_TRY {
        if constexpr ((std::is_trivially_destructible_v<std::decay_t<F>> && ... &&
                       std::is_trivially_destructible_v<std::decay_t<Args>>)) {
          go(quick_call(*this), std::forward<F>(f), std::forward<Args>(args)...);
        } else {
          go(counted_call(*this), std::forward<F>(f), std::forward<Args>(args)...);
        }
      }
      THRUM_CATCH_ALL {
        done();
        THRUM_RETHROW;
      }
    }
  }

  /// What a counted goroutine calls, with f and the arguments, which are destroyed before it is
  /// (bound_call in task.hpp): then comes done(). Unless the goroutine panics: a wait() must not
  /// return then, perhaps to the end of the program, before the panic is reported. One that was not
  /// called says nothing.
  class counted_call : public go_detail::told_of_goroutine {
   public:
    explicit counted_call(wait_group& group) noexcept : group_(group) {}
    counted_call(wait_group& group, sched::goroutine* runs) noexcept : group_(group) { own = runs; }
    counted_call(counted_call&& other) noexcept : group_(other.group_) {}  // none moves once called
    counted_call& operator=(counted_call&&) = delete;
    THRUM_INLINE ~counted_call() {
      if (state_ != state::not_called && (state_ == state::returned || own->exiting)) {
        end_locals();
        group_.done();
      }
    }

    template <class F, class... Args>
    void operator()(F&& f, Args&&... args) {
      state_ = state::called;
      std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
      state_ = state::returned;
    }

   private:
    enum class state : std::uint8_t { not_called, called, returned };

    wait_group& group_;
    state state_ = state::not_called;
  };

  /// A counted_call where nothing of f and the arguments is left to be destroyed when f has returned: some
  /// instructions less.
  class quick_call : public go_detail::told_of_goroutine {
   public:
    explicit quick_call(wait_group& group) noexcept : group_(group) {}

    template <class F, class... Args>
    void operator()(F&& f, Args&&... args) {
      counted_call call(group_, own);
      call(std::forward<F>(f), std::forward<Args>(args)...);
    }

   private:
    wait_group& group_;
  };

  friend class task_group;
  friend struct coroutine_detail::object_access;

  // What counts one in the word.
  static constexpr std::uint64_t one = std::uint64_t{1} << 32;

  // The word of one that was destroyed too early: the next done() says so, if it still finds it.
  static constexpr std::uint64_t destroyed = 0xC000'0000'DEAD'0000;

  [[gnu::cold]] void destroyed_too_early() noexcept;

  /// `what` is destroyed, which may be waited for.
  [[gnu::cold]] void end_waits(const char* what) noexcept;

  [[gnu::cold]] void add_slow(std::int32_t counter, std::uint64_t delta);

  /// After an add that was an error: takes `delta` back and throws.
  [[gnu::cold]] void take_back(std::int32_t counter, std::uint64_t delta);

  /// Takes back `too_much` (WG1), and wakes all that wait if the counter is zero.
  void wake_if_zero(std::uint64_t too_much) noexcept;

  static sched::withdrawal withdraw(sched::wait_point& point, bool locked) noexcept;
  bool give_up_locked(sched::wait_point& point) noexcept;

  bool wait_until_ns(std::int64_t deadline);

  sched::wake_cause wait_until_zero(std::int64_t deadline) noexcept;

  std::atomic<std::uint64_t> word_{0};
  sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list waiters_{lock_};
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/sched/life/process_exit.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>

#include <exception>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::end_waits(const char* what) noexcept {
  sync_detail::end_waits(what, lock_, waiters_.points);
}

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::destroyed_too_early() noexcept {
  end_waits("wait_group: it");
  // relaxed: no other may use it now
  const auto counter = static_cast<std::int32_t>(word_.load(std::memory_order_relaxed) >> 32);
  auto* const m = sched::current_m();
  // Elsewhere, and after goroutines were ended by a stop, a count that is left may be all that is left.
  if (counter > 0 && m != nullptr && m->g != nullptr && !m->g->exiting &&
      !m->scheduler->ending.has_begun() && std::uncaught_exceptions() == 0 &&
      !sched::process_exit::is_mine()) {
    base::message<160> text("wait_group: it is destroyed while its count is ");
    text.append(counter).append(
        "; call wait() first, or let the goroutines that call done() share it");
    base::fatal(text.view());
  }
  word_.store(destroyed, std::memory_order_relaxed);  // relaxed: for those that come too late
}

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::add_slow(std::int32_t counter, std::uint64_t delta) {
  if (counter == 0) {
    wake_if_zero(0);
  } else {
    take_back(counter, delta);
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::take_back(std::int32_t counter, std::uint64_t delta) {
  const bool is_raised = static_cast<std::int64_t>(delta) > 0;
  if (counter > 0 && !is_raised) {
    return;  // no error: another add has gone beyond the greatest count and is about to take that back (WG1)
  }
  // relaxed: those that have seen it destroyed come too late for any order
  if (counter < 0 && static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed)) ==
                         static_cast<std::uint32_t>(destroyed)) {
    base::fatal(
        "wait_group::done: the wait_group is destroyed already; call wait() before its end, or let "
        "the goroutines that call done() share it");
  }
  wake_if_zero(delta);
  base::throw_usage(counter < 0 && is_raised
                        ? "wait_group::add: the count would exceed 2147483647; is a done() missing?"
                    : counter < 0 ? "wait_group::add: the count would be negative; there are more "
                                    "calls of done() than of add()"
                                  : "wait_group::add: the count rises from zero while a goroutine "
                                    "waits; call add() before wait()");
}

THRUM_OUT_OF_LINE void wait_group::wake_if_zero(std::uint64_t too_much) noexcept {
  using namespace base::orders;
  const sched::section here;
  sched::wait_point* only = nullptr;
  sched::wake_list all;
  lock_.lock();
  std::uint64_t word = word_.load(relaxed);  // relaxed: the caller has seen the zero
  if (too_much != 0) {
    word = word_.fetch_sub(too_much, acq_rel) - too_much;  // [wg.word <>] acq_rel: as in add
  }
  if ((word >> 32) == 0) {
    const auto waiters = static_cast<std::uint32_t>(word);
    if (waiters == 1) [[likely]] {
      only = waiters_.pop(sched::wake_cause::notified);
    } else {
      waiters_.take_all(sched::wake_cause::notified, all);
    }
    // relaxed: under the lock; what is in the upper half may have been added meanwhile (WG2)
    word_.fetch_sub(waiters, relaxed);
  }
  lock_.unlock();
  if (only != nullptr) [[likely]] {
    sched::wake(here.m(), *only);
  } else {
    all.wake_all();
  }
}

THRUM_OUT_OF_LINE sched::withdrawal wait_group::withdraw(sched::wait_point& point,
                                                         bool locked) noexcept {
  auto& group = *static_cast<wait_group*>(point.object);
  return sched::unlink_under(group.lock_, locked,
                             [&]() noexcept { return group.give_up_locked(point); });
}

THRUM_OUT_OF_LINE bool wait_group::give_up_locked(sched::wait_point& point) noexcept {
  using namespace base::orders;
  bool ours = point.linked;
  if (ours) {
    std::uint64_t word = word_.load(relaxed);
    // [wg.word <>] acq_rel: a done() that finds no waiter leaves the list alone. If it has found
    // us, it waits for the lock to wake us
    do {
      ours = static_cast<std::uint32_t>(word) != 0 && (word >> 32) != 0;
    } while (ours && !word_.compare_exchange_weak(word, word - 1, acq_rel, relaxed));
    if (ours) {
      waiters_.points.remove(point);
    }
  }
  return ours;
}

THRUM_OUT_OF_LINE bool wait_group::wait_until_ns(std::int64_t deadline) {
  using namespace base::orders;
  // [wg.word <] acquire: what was done before the zero.
  if ((word_.load(acquire) >> 32) == 0) {
    sync_detail::after_operation();
    return true;
  }
  const sched::wake_cause cause = wait_until_zero(deadline);
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE sched::wake_cause wait_group::wait_until_zero(std::int64_t deadline) noexcept {
  using namespace base::orders;
  sched::section here;
  sched::wait_point point;
  point.g = here.g();
  point.object = this;
  point.withdraw = &withdraw;
  lock_.lock();
  std::uint64_t word = word_.load(acquire);  // [wg.word <] what was done before
  do {
    if ((word >> 32) == 0) {
      lock_.unlock();
      return sched::wake_cause::notified;
    }
    // [wg.word <>] acq_rel: from here on done() looks for us; acquire: what was done
    // before the zero.
  } while (!word_.compare_exchange_weak(word, word + 1, acq_rel, acquire));
  waiters_.points.push_back(point);
  return sched::wait(here, point, lock_, {sched::wait_reason::wait_group_wait, true, deadline});
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
