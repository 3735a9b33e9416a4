// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How owners of waits are continued, and how an executor begins and ends: the functions of executor.hpp.
#ifndef THRUM_DETAIL_COROUTINE_CARRY_HPP
#define THRUM_DETAIL_COROUTINE_CARRY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/coroutine/executor.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/detail/sched/run/start.hpp>
#include <thrum/detail/sched/run/take.hpp>
#include <thrum/detail/start/task.hpp>

#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

inline void executor::push(wait_record& ready) noexcept {
  ready.next_ready = nullptr;
  runtime_scheduler* on = nullptr;
  {
    const section here;
    const scoped held(lock_);
    (last_ != nullptr ? last_->next_ready : first_) = &ready;
    last_ = &ready;
    if (!is_coming_) {
      is_coming_ = true;
      ++carriers_;
      on = scheduler_;
    }
  }
  // Afterwards the executor may serve another runtime, unless we start a carrier, which it waits for.
  if (on != nullptr) {
    launch_carrier(*on);
  }
}

inline void executor::launch_carrier(runtime_scheduler& on) noexcept {
  const section here;
  if (has_stack_at_hand(on)) [[likely]] {
    start_carrier(this);
    return;
  }
  late_.of = this;  // CO1: not asked for again before this carrier has begun
  late_.start = [](late_start& what) noexcept { start_carrier(static_cast<late&>(what).of); };
  on.creator.request_start(late_);
}

inline void executor::start_carrier(executor* self) noexcept {
  THRUM_TRY { go_detail::start_task(*self->scheduler_, &carry, self); }
  THRUM_CATCH_ALL {
    base::fatal(
        "coroutine, waiter: no memory for the goroutine that continues them; raise the memory "
        "limit");
  }
}

/// The next wait that has ended; null: there is none, or the carrier ends. It has been counted out then.
inline wait_record* executor::take(bool is_first, bool ends) noexcept {
  const section here;
  wait_point* waits = nullptr;
  runtime_scheduler* on = nullptr;
  lock_.lock();
  if (is_first) {
    is_coming_ = false;
  }
  wait_record* const ready = ends ? nullptr : first_;
  if (ready != nullptr) {
    first_ = ready->next_ready;
    if (first_ == nullptr) {
      last_ = nullptr;
    } else if (!is_coming_) {
      is_coming_ = true;
      ++carriers_;
      on = scheduler_;
    }
  } else {
    --carriers_;
    if (is_idle_locked()) {  // CO4
      waits = guardian_.pop(wake_cause::notified);
    }
  }
  lock_.unlock();
  if (on != nullptr) [[unlikely]] {
    launch_carrier(*on);
  }
  if (waits != nullptr) {
    wake(here.m(), *waits);
  }
  return ready;
}

/// A wait has ended: its owner continues, unless it waits for more.
inline void end(wait_record& ready) noexcept {
  wait_owner& owner = *ready.owner;
  end_wait(ready);
  const wake_cause cause = ready.cause.get();
  const bool is_over = cause == wake_cause::closed || cause == wake_cause::cancelled ||
                       (cause == wake_cause::notified && !ready.is_hint);
  if (!is_over && ready.again != nullptr && ready.again(ready)) {
    return;
  }
  owner.go_on(owner, ready);
}

inline void task::resume(wait_owner& /*self*/, wait_record& ended) noexcept {
  auto& own =
      static_cast<task&>(*ended.owner);  // gcc sees that `here` goes before what refers to it
  carrier here;
  own.on = &here;
  here.next = ended.waits;
  if (!THRUM_EXCEPTIONS && ended.cause.get() == wake_cause::cancelled) {
    own.exited = true;
    own.finish();
    return;
  }
  while (here.next) {
    std::exchange(here.next, nullptr).resume();
  }
  if (here.ended != nullptr) {
    here.ended->finish();
  }
}

/// A carrier. It ends after its share: the next one, which is coming if there is anything to resume (CO1), goes
/// behind the other goroutines of the processor, which would wait for ever beside two coroutines that wake each
/// other.
inline void executor::carry(executor* self) noexcept {
  constexpr std::uint32_t share = 256;
  for (std::uint32_t n = 0; n != share; ++n) {
    wait_record* const ready = self->take(n == 0, false);
    if (ready == nullptr) {
      return;  // CO2
    }
    end(*ready);
  }
  {
    const section here;
    end_slice(here.this_m());
  }
  self->take(false, true);
}

inline executor* executor::find_locked(const runtime_scheduler& scheduler) noexcept {
  executor* free = nullptr;
  for (executor* each = all().first; each != nullptr; each = each->next_) {
    const scoped held(each->lock_);
    if (each->scheduler_ == &scheduler) {
      return each;
    }
    if (each->scheduler_ == nullptr) {
      free = each;
    }
  }
  return free;
}

inline executor::added executor::add_locked(wait_owner& what, runtime_scheduler& on) noexcept {
  if (scheduler_ != &on) {  // carriers that run read it without the lock
    scheduler_ = &on;
  }
  what.runs_on = this;
  what.is_cancelled = stops_;
  owners_.push_back(what);
  return {!std::exchange(is_guarded_, true), stops_};
}

inline void executor::remove(wait_owner& what) noexcept {
  const section here;
  for (std::uint32_t turn = 0;; ++turn) {
    {
      const scoped held(lock_);
      if (cancels_ != &what) [[likely]] {
        owners_.remove(what);
        return;
      }
    }
    sched::back_off(turn);
  }
}

/// The guardian could not be started.
THRUM_COLD inline void executor::take_back(wait_owner& what) noexcept {
  const section here;
  const scoped list(all().lock);
  const scoped held(lock_);
  owners_.remove(what);
  if (!owners_.empty()) {
    base::fatal(
        "co_spawn, waiter::start: no memory for the goroutine that waits for coroutines and "
        "waiters; raise the "
        "memory limit");
  }
  is_guarded_ = false;
  scheduler_ = nullptr;
}

inline executor::added executor::list(wait_owner& what, runtime_scheduler& on) {
  // [co.last <] acquire: the executor that another thread has made
  if (executor* const last = last_found().load(acquire)) {
    const section here;
    const scoped held(last->lock_);
    if (last->scheduler_ == &on && last->is_guarded_) [[likely]] {
      return last->add_locked(what, on);
    }
  }
  for (executor* made = nullptr;;) {
    {
      const section here;
      const scoped every(all().lock);
      if (made != nullptr) {
        made->next_ = all().first;
        all().first = made;
      }
      if (executor* const found = find_locked(on)) {
        last_found().store(found, release);  // [co.last >] release: what made it
        const scoped held(found->lock_);
        return found->add_locked(what, on);
      }
    }
    made = new executor;  // CO3
  }
}

inline void executor::add(runtime& on, wait_owner& what) {
  const added how = list(what, on.scheduler());
  if (how.guarded_here) {
    THRUM_TRY { on.go({.name = "coroutines"}, &guard, what.runs_on); }
    THRUM_CATCH_ALL {
      what.runs_on->take_back(what);
      THRUM_RETHROW;
    }
  }
  if (how.stops) {
    what.cancel();
  }
}

/// The guardian.
inline void executor::guard(executor* self) noexcept {
  for (bool stops = false;;) {
    if (self->wait_for_owners(!stops) == wake_cause::cancelled) {
      stops = true;
      self->cancel_owners();
    }
    const section here;
    const scoped list(all().lock);
    const scoped held(self->lock_);
    if (self->is_idle_locked()) {
      self->stops_ = self->is_guarded_ = false;
      self->scheduler_ = nullptr;
      return;
    }
  }
}

inline wake_cause executor::wait_for_owners(bool cancellable) noexcept {
  section here;
  sync_detail::waiting self(here, guardian_);
  lock_.lock();
  if (is_idle_locked()) {
    lock_.unlock();
    return wake_cause::notified;
  }
  return self.wait({wait_reason::join, cancellable});
}

/// The runtime stops. Owners that are added from here on are cancelled by add().
THRUM_COLD inline void executor::cancel_owners() noexcept {
  const section here;
  for (;;) {
    lock_.lock();
    stops_ = true;
    wait_owner* const first = owners_.front();
    if (first == nullptr || first->is_cancelled) {  // those behind it are cancelled, too
      lock_.unlock();
      return;
    }
    owners_.remove(*first);
    owners_.push_back(*first);
    first->is_cancelled = true;
    cancels_ = first;
    lock_.unlock();
    first->cancel();
    lock_.lock();
    cancels_ = nullptr;
    lock_.unlock();
  }
}

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
