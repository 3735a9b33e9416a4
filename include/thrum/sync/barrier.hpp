// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// barrier: a number of goroutines or threads that go on together, phase after phase.
//
// arrive_and_wait() arrives and joins the waiters in one step, under the lock; and the last one to
// arrive, which has nothing to wait for, leaves the barrier alone once the others are woken. So it may
// be destroyed as soon as one such call has returned, although others are perhaps still about to.
#ifndef THRUM_SYNC_BARRIER_HPP
#define THRUM_SYNC_BARRIER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/stop_condition.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace sync_detail {

/// The completion of a barrier that needs none.
struct no_completion {
  void operator()() const noexcept {}
};

}  // namespace sync_detail

/// As std::barrier. The completion runs once each phase, in the caller that arrives last, before
/// any of them goes on. It may block; what it throws, and its cancellation, leaves the arrival when
/// the others have been let go. Waits are cancellation points; a goroutine that is cancelled while
/// it waits has arrived all the same. It may be destroyed once an arrive_and_wait() without a stop has
/// returned, if the others that have arrived are in such calls, too.
template <class Completion = sync_detail::no_completion>
class barrier {
 public:
  /// Names a phase.
  class arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend class barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  /// usage_error if `expected` is negative.
  explicit constexpr barrier(std::ptrdiff_t expected, Completion completion = Completion())
      : expected_(expected), missing_(expected), completion_(std::move(completion)) {
    if (expected < 0) {
      base::throw_usage("barrier: the number of participants is negative");
    }
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  ~barrier() {
    if (!waiters_.empty()) [[unlikely]] {
      sync_detail::end_waits("barrier: it", lock_, waiters_.points);
    }
  }

  /// The greatest number of participants.
  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::ptrdiff_t>::max();
  }

  /// Arrives n times at the current phase. usage_error if n is not positive or more than are
  /// missing.
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
    return arrival_token(arrive_at(n, 0));
  }

  /// Blocks until the phase of the token is over. A cancellation point.
  void wait(arrival_token&& token) const { wait_for(token.phase_, sched::no_deadline); }

  /// wait(token) until a stop is requested; returns whether the phase is over. The arrival stays. A
  /// cancellation point.
  template <until_condition Stop>
  [[nodiscard]] bool wait(arrival_token&& token, const Stop& stop) const {
    return stop_detail::until_stopped(stop, [this, phase = token.phase_](std::int64_t deadline) {
      return wait_for(phase, deadline);
    });
  }

  /// Arrives at the current phase and blocks until it is over. A cancellation point.
  void arrive_and_wait() {
    const arrival mine = arrive_and_park();
    finish(mine.how);
    if (mine.how == outcome::last) {
      sync_detail::after_operation();
    } else {
      sched::exit_if_cancelled(mine.cause);
    }
  }

  /// arrive_and_wait() until a stop is requested; returns whether the phase is over. The arrival stays.
  template <until_condition Stop>
  [[nodiscard]] bool arrive_and_wait(const Stop& stop) {
    return wait(arrive(), stop);
  }

  /// Arrives, and takes part in no later phase.
  void arrive_and_drop() { arrive_at(1, 1); }

 private:
  enum class outcome : std::uint8_t { too_many, last, others_missing };

  struct arrival {
    outcome how;
    sched::wake_cause cause;  // of one that has waited
  };

  outcome arrive_locked(std::ptrdiff_t n, std::ptrdiff_t leaving) noexcept {
    if (n <= 0 || n > missing_) {
      return outcome::too_many;
    }
    missing_ -= n;
    expected_ -= leaving;
    return missing_ == 0 ? outcome::last : outcome::others_missing;
  }

  std::uint64_t arrive_at(std::ptrdiff_t n, std::ptrdiff_t leaving) {
    std::uint64_t phase;
    outcome how;
    {
      const sched::section here;
      const sched::scoped guard(lock_);
      phase = phase_;
      how = arrive_locked(n, leaving);
    }
    finish(how);
    return phase;
  }

  arrival arrive_and_park() noexcept {
    sched::section here;
    sync_detail::waiting self(here, waiters_);
    lock_.lock();
    const outcome how = arrive_locked(1, 0);
    if (how != outcome::others_missing) {
      lock_.unlock();
      return {how, sched::wake_cause::notified};
    }
    return {how, self.wait({sched::wait_reason::barrier_wait, true, sched::no_deadline})};
  }

  void finish(outcome how) {
    if (how == outcome::too_many) {
      base::throw_usage(
          "barrier::arrive: the number of arrivals is negative or exceeds the number that the "
          "phase still expects");
    }
    if (how == outcome::last) {
      end_phase();
    }
  }

  /// No participant can arrive now, so only waiters compete for the lock.
  void end_phase() {
    struct release_all {
      ~release_all() { of.begin_next_phase(); }
      barrier& of;
    } const at_the_end{*this};
    completion_();
  }

  void begin_next_phase() noexcept {
    const sched::section here;
    lock_.lock();
    ++phase_;
    missing_ = expected_;
    sched::wake_list released;
    waiters_.take_all(sched::wake_cause::notified, released);
    lock_.unlock();
    released.wake_all();
  }

  bool wait_for(std::uint64_t phase, std::int64_t deadline) const {
    const sched::wake_cause cause = wait_locked(phase, deadline);
    sched::exit_if_cancelled(cause);
    return cause == sched::wake_cause::notified;
  }

  sched::wake_cause wait_locked(std::uint64_t phase, std::int64_t deadline) const noexcept {
    sched::section here;
    sync_detail::waiting self(here, waiters_);
    lock_.lock();
    if (phase_ != phase) {
      lock_.unlock();
      sched::preemption_point(here);
      return sched::wake_cause::notified;
    }
    return self.wait({sched::wait_reason::barrier_wait, true, deadline});
  }

  // -- under lock_ --
  std::ptrdiff_t expected_;
  std::ptrdiff_t missing_;
  std::uint64_t phase_ = 0;

  [[no_unique_address]] Completion completion_;
  mutable sched::spin_lock lock_{sched::lock_rank::waiters};
  mutable sync_detail::wait_list waiters_{lock_};
};

}}  // namespace thrum::THRUM_ABI

#endif
