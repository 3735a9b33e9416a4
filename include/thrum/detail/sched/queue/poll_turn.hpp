// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The turn at the poller. One thread may sleep there, until the first timer of all Ps; others poll
// in between without waiting, when no thread has for a while.
//
// One word holds the turn: 0 while a thread sleeps in the poller, else the time of the last poll. A
// second says until when that thread sleeps.
//
// Invariants
//   PT1  At most one thread is between begin_sleep() and end_sleep().
//   PT2  A timer that is armed is seen by the sleeper's second look at the heaps, after
//        begin_sleep(), or the thread that armed it learns from oversleeps() to wake the sleeper.
//   PT3  A thread that leaves the poller has said so (end_sleep) before it looks whether a P is
//        idle. So a thread that puts a P on that list and still sees a sleeper may rely on it: the
//        sleeper will find that P.
//
// PT2 is Dekker's pattern: one side arms and reads the word, the other writes the word and reads
// the heaps; hence sequential consistency on both. tests/model/timer_wake_model.cpp runs this code.
//
// As Go does with sched.lastpoll and sched.pollUntil.
//
// Fences of [s.poll]: call_to_poller.
#ifndef THRUM_DETAIL_SCHED_QUEUE_POLL_TURN_HPP
#define THRUM_DETAIL_SCHED_QUEUE_POLL_TURN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

template <class Traits>
class poll_turn {
  template <class T>
  using atomic = typename Traits::template atomic<T>;
  template <class U>
  using hint = base::hint<U, atomic<U>>;

 public:
  /// Stands for "for ever".
  static constexpr std::int64_t for_ever = 0;

  /// Whether a thread sleeps in the poller. If it is about to leave, it looks for an idle P later.
  [[nodiscard]] bool somebody_sleeps() const noexcept {
    // [s.poll =] seq_cst: after what the caller has published; sees: begin_sleep, end_sleep
    return last_.load(seq_cst) == 0;
  }

  /// Whether the thread in the poller sleeps past `when`. Asked after a timer was armed
  /// (PT2).
  [[nodiscard]] bool oversleeps(std::int64_t when) const noexcept {
    // [s.poll =] seq_cst: somebody_sleeps() came before; sees: begin_sleep
    const std::int64_t until = until_.load(seq_cst);
    return until == for_ever || until > when;
  }

  /// Takes the turn to sleep, until `until`. False: another thread has it.
  [[nodiscard]] bool begin_sleep(std::int64_t until) noexcept {
    // [s.poll =] seq_cst: before the second look at the timers; seen by somebody_sleeps. PT1: of
    // several exchanges one finds something else than 0.
    if (last_.exchange(0, seq_cst) == 0) {
      return false;
    }
    until_.exchange(until, seq_cst);  // [s.poll =] seq_cst: seen by oversleeps
    return true;
  }

  void end_sleep(std::int64_t now) noexcept {
    until_.exchange(for_ever, seq_cst);  // [s.poll =] seq_cst: as in begin_sleep
    last_.exchange(now, seq_cst);        // [s.poll =] seq_cst: PT3
  }

  /// Whether no thread sleeps there, and the last poll is that old.
  [[nodiscard]] bool is_due(std::int64_t now, std::int64_t age) const noexcept {
    // [s.poll <] acquire: the time, or 0; sees: begin_sleep, end_sleep
    const std::int64_t last = last_.load(acquire);
    return last != 0 && now - last >= age;
  }

  /// Calls `poll()`, which must not wait, unless a thread sleeps or looks there already. Returns
  /// whether it did. `now()` tells the time after it.
  template <class Poll, class Now>
  [[nodiscard]] bool look(Poll poll, Now now) noexcept {
    // [s.poll <] acquire: 0 means that a thread sleeps there; sees: begin_sleep, end_sleep
    std::int64_t last = last_.load(acquire);
    if (last == 0 || looks_.swap(true)) {
      return false;
    }
    poll();
    looks_.set(false);
    const std::int64_t after = now();
    if (last != never && after - last >= 2 * Traits::poll_interval_ns) [[unlikely]] {
      left_alone_at_.set(after);
    }
    // [s.poll =] seq_cst: for is_due. relaxed: the monitor has looked, or a thread sleeps there now
    last_.compare_exchange_strong(last, after, seq_cst, relaxed);
    return true;
  }

  /// When a thread last looked, or left; 0 while a thread sleeps there.
  [[nodiscard]] std::int64_t last_look() const noexcept {
    return last_.load(relaxed);  // relaxed: a time for a heuristic
  }

  /// Whether no thread sleeps there, and none has looked for half the time after which a busy P does: the
  /// goroutine for which a thread left the poller computes. Notes it for was_left_alone(). For the monitor.
  [[nodiscard]] bool note_if_left_alone(std::int64_t now) noexcept {
    constexpr std::int64_t unattended_ns = Traits::poll_interval_ns / 2;
    const std::int64_t last = last_look();
    if (last == 0 || now - last < unattended_ns) {
      return false;
    }
    left_alone_at_.set(now);
    return true;
  }

  /// Whether note_if_left_alone() was true within the last second, or a look came later than twice the
  /// interval of a busy P.
  [[nodiscard]] bool was_left_alone(std::int64_t now) const noexcept {
    return now - left_alone_at_.get() < lately_ns;
  }

  /// Takes the right to look once, for the monitor: no thread sleeps, and the last poll is that
  /// old.
  [[nodiscard]] bool take_if_due(std::int64_t now, std::int64_t age) noexcept {
    // [s.poll <] acquire: as in is_due
    std::int64_t last = last_.load(acquire);
    if (last == 0 || now - last < age ||
        // [s.poll =] seq_cst: for is_due. relaxed: another thread was faster
        !last_.compare_exchange_strong(last, now, seq_cst, relaxed)) {
      return false;
    }
    if (last != never) {
      left_alone_at_.set(now);
    }
    return true;
  }

 private:
  static constexpr std::int64_t lately_ns = 1'000'000'000;
  static constexpr std::int64_t never = 1;

  atomic<std::int64_t> last_{never};
  atomic<std::int64_t> until_{for_ever};
  /// A thread is inside a poll that does not wait; others need not look meanwhile.
  hint<bool> looks_{false};
  hint<std::int64_t> left_alone_at_{-lately_ns};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
