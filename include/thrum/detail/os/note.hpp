// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How an OS thread sleeps until another wakes it: on a word while it has a value, which each system
// has a way for, or the wait table (wait_table.hpp); and the note, an event on one word.
//
// State of a note's word
//   clear      nothing has happened, no thread sleeps
//   sleeping   nothing has happened, a thread sleeps or is about to
//   set        the event has happened
//   nudged     nothing has happened, but the one that sleeps by sleep_or_nudge is to look around
// sleep moves clear to sleeping; wake moves anything to set; clear() moves anything to clear; nudge
// moves what is not set to nudged, and the sleeper moves that back to clear. Only
// a wake that finds `sleeping` pays for the system call. A sleep_for that times out leaves
// `sleeping` behind, which costs the next wake one needless call and nothing else.
//
// NT1: after its exchange wake uses the address of the word and never the word, because the sleeper
// may have returned and destroyed the note. A wake on an address that has become something
// else wakes, at worst, a sleeper of another note, which looks at its own word and sleeps on.
#ifndef THRUM_DETAIL_OS_NOTE_HPP
#define THRUM_DETAIL_OS_NOTE_HPP

#include <atomic>
#include <climits>
#include <cstdint>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps while `word` holds `expected`, for at most timeout_ns (negative: for ever). False on
/// timeout; a wake, a signal and a changed word all give true, so the caller looks at the word
/// again. Leaves errno alone: it belongs to the code that waits for a lock of the scheduler.
bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns) noexcept;

/// Wakes up to how_many threads that sleep on the address of `word`, which need not hold a word any
/// more. Leaves errno alone.
void futex_wake(std::atomic<std::uint32_t>& word, int how_many) noexcept;

/// A one-shot event: wake() makes this and every later sleep() return, until clear().
/// Any number of threads may sleep; any thread and any signal handler may wake.
class note {
 public:
  constexpr note() noexcept = default;
  note(const note&) = delete;
  note& operator=(const note&) = delete;

  /// Blocks the thread until the event has happened.
  void sleep() noexcept;

  /// Blocks the thread until the event has happened (true) or ns nanoseconds have passed (false).
  /// Does not block when ns <= 0.
  bool sleep_for(std::int64_t ns) noexcept;

  /// Makes the event happen. A second wake before clear() changes nothing.
  void wake() noexcept {
    std::atomic<std::uint32_t>& word = word_;
    // [note.1 >] publishes what was done before the event; sees: announce_sleep, is_set
    if (word.exchange(set, release) == sleeping) {
      futex_wake(word, INT_MAX);  // NT1
    }
  }

  /// How a sleep_or_nudge() has ended.
  enum class wakening : std::uint8_t { event, nudge, timeout };

  /// As sleep_for, for a note in which only this thread ever sleeps; also ends when a thread calls
  /// nudge(). Negative: for ever.
  wakening sleep_or_nudge(std::int64_t ns) noexcept;

  /// Ends the sleep_or_nudge() that sleeps now or comes next. The event has not happened by that, and
  /// if it has, this does nothing.
  void nudge() noexcept {
    std::uint32_t found = word_.load(relaxed);
    do {
      if (found == set || found == nudged) {
        return;
      }
      // [note.2 >] what there is to look at; sees: sleep_or_nudge
    } while (!word_.compare_exchange_weak(found, nudged, release, relaxed));
    if (found == sleeping) {
      futex_wake(word_, INT_MAX);
    }
  }

  /// Makes the note ready for the next event. No thread sleeps or wakes it at this time.
  void clear() noexcept {
    // relaxed: the owner itself hands the note to the next waker
    word_.store(clear_value, relaxed);
  }

  /// As clear(), while others may wake: what they did before a wake that this takes away is visible
  /// afterwards, and a later wake is not lost.
  void clear_while_woken() noexcept;

  [[nodiscard]] bool is_set() const noexcept {
    return word_.load(acquire) == set;  // [note.1 <] what was done before wake is visible here
  }

 private:
  static constexpr std::uint32_t clear_value = 0;
  static constexpr std::uint32_t set = 1;
  static constexpr std::uint32_t sleeping = 2;
  static constexpr std::uint32_t nudged = 3;

  // True when the event has happened; otherwise the word is `sleeping`.
  bool announce_sleep() noexcept {
    std::uint32_t found = clear_value;
    // [note.1 <] a found `set` makes visible what was done before wake. Success needs no order,
    // since the kernel compares the word again before it sleeps, but must not be weaker than
    // failure.
    word_.compare_exchange_strong(found, sleeping, acquire, acquire);
    if (found == nudged) {  // which is no business of this sleeper
      // [note.1 <] a found `set` makes visible what was done before wake; success needs no more
      word_.compare_exchange_strong(found, sleeping, acquire, acquire);
    }
    return found == set;
  }

  std::atomic<std::uint32_t> word_{clear_value};
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/clock.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE void note::sleep() noexcept {
  while (!announce_sleep()) {
    futex_wait(word_, sleeping, -1);
  }
}

THRUM_OUT_OF_LINE bool note::sleep_for(std::int64_t ns) noexcept {
  if (ns <= 0) {
    return is_set();
  }
  const std::int64_t deadline = deadline_after(ns);
  for (std::int64_t left = ns; left > 0; left = deadline - now()) {
    if (announce_sleep()) {
      return true;
    }
    futex_wait(word_, sleeping, left);
  }
  return is_set();
}

THRUM_OUT_OF_LINE note::wakening note::sleep_or_nudge(std::int64_t ns) noexcept {
  const std::int64_t deadline = ns < 0 ? ns : deadline_after(ns);
  for (;;) {
    std::uint32_t found = clear_value;
    // [note.1 <] as in announce_sleep; and a nudge that was found came before this
    word_.compare_exchange_strong(found, sleeping, acquire, acquire);
    if (found == set) {
      return wakening::event;
    }
    if (found == nudged) {
      // [note.1 <, note.2 <] what there is to look at; or, if it fails, what was done before wake
      return word_.compare_exchange_strong(found, clear_value, acquire, acquire) ? wakening::nudge
                                                                                 : wakening::event;
    }
    std::int64_t left = -1;
    if (ns >= 0) {
      left = deadline - now();
      if (left <= 0) {
        return wakening::timeout;
      }
    }
    futex_wait(word_, sleeping, left);
  }
}

THRUM_OUT_OF_LINE void note::clear_while_woken() noexcept {
  word_.exchange(clear_value, acquire);  // [note.1 <] what was done before wake is visible here
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_DETAIL_OS_NOTE_HPP
