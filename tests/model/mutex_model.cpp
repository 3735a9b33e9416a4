// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The word of a mutex in every interleaving within the bounds: lock, unlock and time-outs do here
// what those of sync/mutex.hpp do, step by step, with a note for the goroutine that parks and with
// chance instead of the clock: a wait may have been long or not, and may end by itself or not.
//
// What must hold: the section excludes (its data is plain), nobody sleeps for ever, and when its
// last user has destroyed the mutex, nobody touches it (MU4). Then the mutants.

#include "model/support/assertions.hpp"

#include "model/support/checks.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::require;

enum class mistake {
  nothing,
  // An access is relaxed instead.
  weak_lock,
  weak_unlock,
  weak_queue_lock,
  weak_queue_unlock,
  weak_release,
  // Steps.
  releases_first,      // Go's: lets others in, then looks for a waiter to wake
  wakes_nobody,        // unlock only lets others in
  queue_wakes_nobody,  // the thread that drops the queue bit leaves the waking to others (MU2)
  keeps_woken,         // a waiter that was awake keeps its bit when it gets the mutex
  passes_nothing,      // a starving mutex is let go instead of passed on (MU3)
  forgets_granted,     // a waiter that was passed the mutex locks it again
  stays_linked         // a waiter is unlinked after the exchange that lets others at the list
};

constexpr std::uint32_t locked = 1;
constexpr std::uint32_t queue = 2;
constexpr std::uint32_t starving = 4;
constexpr std::uint32_t woken = 8;
constexpr std::uint32_t flags = 15;
constexpr std::uint32_t nobody = 0;
constexpr unsigned most = 3;

/// In a list by number, as a pointer takes the rest of the word. The number of thread i is i + 1.
struct parked {
  model::cell<std::uint32_t> next{nobody};
  model::cell<std::uint32_t> prev{nobody};
  model::cell<std::uint32_t> last{nobody};
  model::cell<int> linked{0};
  model::cell<int> granted{0};
  model::note note;
};

/// The word, and whether it is still there when an access of it takes effect.
class word {
 public:
  bool gone = false;

  std::uint32_t load(std::memory_order how) { return here(value_.load(how)); }
  std::uint32_t fetch_or(std::uint32_t bits, std::memory_order how) {
    return here(value_.fetch_or(bits, how));
  }
  std::uint32_t fetch_and(std::uint32_t bits, std::memory_order how) {
    return here(value_.fetch_and(bits, how));
  }
  std::uint32_t fetch_sub(std::uint32_t n, std::memory_order how) {
    return here(value_.fetch_sub(n, how));
  }
  bool exchange(std::uint32_t& expected, std::uint32_t next, std::memory_order success) {
    return here(value_.compare_exchange_strong(expected, next, success, std::memory_order_relaxed));
  }
  bool is_zero() { return value_.load(std::memory_order_relaxed) == 0; }

 private:
  template <class Result>
  Result here(Result result) const {
    require(!gone, "the mutex was touched after it was destroyed");
    return result;
  }

  model::atomic<std::uint32_t> value_{0};
};

unsigned chance() { return model::explorer::active().choose(2); }

template <mistake Made>
class small_mutex {
 public:
  small_mutex() = default;

  /// False: it timed out.
  bool lock(unsigned thread, bool timed) {
    if ((word_.fetch_or(locked, order(mistake::weak_lock, std::memory_order_acquire)) & locked) ==
        0) {
      return true;
    }
    return lock_slow(thread, timed);
  }

  void unlock() {
    if constexpr (Made == mistake::releases_first) {
      if ((word_.load(std::memory_order_relaxed) & starving) != 0) {
        lock_queue();
        release();
        return;
      }
      const std::uint32_t before = word_.fetch_sub(locked, std::memory_order_release);
      std::uint32_t w = before - locked;
      while (head(w) != nobody && (w & (locked | woken | queue)) == 0) {
        if (word_.exchange(w, w | queue, std::memory_order_acquire)) {
          unlock_queue();
          return;
        }
      }
      return;
    }
    std::uint32_t w = locked;
    if (word_.exchange(w, 0, order(mistake::weak_unlock, std::memory_order_release))) {
      return;
    }
    for (;;) {
      const bool others_see_to_it = Made == mistake::wakes_nobody || (w & (woken | queue)) != 0;
      if ((w & starving) == 0 && (others_see_to_it || head(w) == nobody)) {
        if (word_.exchange(w, w & ~locked,
                           order(mistake::weak_unlock, std::memory_order_release))) {
          return;
        }
      } else if ((w & queue) != 0) {
        model::explorer::active().yield();
        w = word_.load(std::memory_order_relaxed);
      } else if (word_.exchange(w, w | queue, std::memory_order_acquire)) {
        release();
        return;
      }
    }
  }

  void destroy() { word_.gone = true; }
  bool is_free() { return word_.is_zero(); }

 private:
  static constexpr std::memory_order order(mistake of, std::memory_order right) {
    return Made == of ? std::memory_order_relaxed : right;
  }
  static std::uint32_t head(std::uint32_t w) { return w >> 4; }
  parked& of(std::uint32_t number) {
    require(number != nobody, "the list is broken");
    return parked_[number - 1];
  }

  // ---- the queue ----

  void lock_queue() {
    while ((word_.load(std::memory_order_relaxed) & queue) != 0 ||
           (word_.fetch_or(queue, order(mistake::weak_queue_lock, std::memory_order_acquire)) &
            queue) != 0) {
      model::explorer::active().yield();
    }
  }

  void unlock_queue() {
    std::uint32_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint32_t first = head(w);
      const bool wakes =
          Made != mistake::queue_wakes_nobody && first != nobody && (w & (locked | woken)) == 0;
      set_linked(first, !wakes);
      std::uint32_t next = w & ~queue;
      if (wakes) {
        next = without_first(w) & ~queue;
        next |= (w & starving) != 0 ? locked : woken;
      }
      if (word_.exchange(w, next, order(mistake::weak_queue_unlock, std::memory_order_acq_rel))) {
        if (wakes) {
          wake(first, (w & starving) != 0);
        }
        return;
      }
    }
  }

  void release() {
    std::uint32_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool passes = (w & starving) != 0 && Made != mistake::passes_nothing;
      const std::uint32_t first = passes || (w & woken) == 0 ? head(w) : nobody;
      set_linked(head(w), first == nobody);
      std::uint32_t next = (first != nobody ? without_first(w) : w) & ~queue;
      if (!passes) {
        next = (next & ~locked) | (first != nobody ? woken : 0);
      } else if (first == nobody) {
        next &= ~(locked | starving);
      } else if (head(next) == nobody) {
        next &= ~starving;
      }
      if (word_.exchange(w, next, order(mistake::weak_release, std::memory_order_acq_rel))) {
        if (first != nobody) {
          wake(first, passes);
        }
        return;
      }
    }
  }

  void set_linked(std::uint32_t first, bool stays) {
    if (first != nobody && Made != mistake::stays_linked &&
        of(first).linked != static_cast<int>(stays)) {
      of(first).linked = static_cast<int>(stays);
    }
  }

  void wake(std::uint32_t first, bool granted) {
    of(first).granted = granted ? 1 : 0;
    of(first).note.wake();
  }

  std::uint32_t second(std::uint32_t first) {
    const std::uint32_t next = of(first).next;
    if (next != nobody) {
      of(next).last = static_cast<std::uint32_t>(of(first).last);
    }
    return next;
  }
  std::uint32_t without_first(std::uint32_t w) {
    return head(w) == nobody ? w : (w & flags) | second(head(w)) << 4;
  }
  void set_head(std::uint32_t w, std::uint32_t first) {
    while (!word_.exchange(w, (w & flags) | first << 4, std::memory_order_relaxed)) {
    }
  }

  void link(std::uint32_t self, bool in_front) {
    const std::uint32_t w = word_.load(std::memory_order_relaxed);
    const std::uint32_t first = head(w);
    of(self).next = nobody;
    of(self).linked = 1;
    if (first != nobody && !in_front) {
      of(self).prev = static_cast<std::uint32_t>(of(first).last);
      of(of(first).last).next = self;
      of(first).last = self;
      return;
    }
    of(self).next = first;
    of(self).last = first != nobody ? static_cast<std::uint32_t>(of(first).last) : self;
    if (first != nobody) {
      of(first).prev = self;
    }
    set_head(w, self);
  }

  bool unlink(std::uint32_t self) {
    if (of(self).linked == 0) {
      return false;
    }
    of(self).linked = 0;
    const std::uint32_t w = word_.load(std::memory_order_relaxed);
    const std::uint32_t first = head(w);
    if (first == self) {
      set_head(w, second(first));
      return true;
    }
    of(of(self).prev).next = static_cast<std::uint32_t>(of(self).next);
    if (of(self).next != nobody) {
      of(of(self).next).prev = static_cast<std::uint32_t>(of(self).prev);
    } else {
      of(first).last = static_cast<std::uint32_t>(of(self).prev);
    }
    return true;
  }

  // ---- waiting ----

  bool lock_slow(unsigned thread, bool timed) {
    const std::uint32_t self = thread + 1;
    bool has_waited = false;
    bool awake = false;
    bool starved = false;
    std::uint32_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((w & locked) == 0) {
        const std::uint32_t mine = awake && Made != mistake::keeps_woken ? woken : 0;
        if (word_.exchange(w, (w | locked) & ~mine,
                           order(mistake::weak_lock, std::memory_order_acquire))) {
          return true;
        }
        continue;
      }
      if ((w & queue) != 0) {
        model::explorer::active().yield();
        w = word_.load(std::memory_order_relaxed);
        continue;
      }
      std::uint32_t next = w | queue | (starved ? starving : 0);
      next &= ~(awake ? woken : 0);
      if (!word_.exchange(w, next, order(mistake::weak_queue_lock, std::memory_order_acquire))) {
        continue;
      }
      of(self).note.clear();
      of(self).granted = 0;
      link(self, has_waited);
      has_waited = true;
      unlock_queue();
      if (timed && chance() != 0) {
        lock_queue();
        const bool linked = unlink(self);
        unlock_queue();
        if (linked) {
          return false;
        }
      }
      of(self).note.sleep();
      starved = chance() != 0;
      if (of(self).granted != 0 && Made != mistake::forgets_granted) {
        if (!starved) {
          word_.fetch_and(~starving, std::memory_order_relaxed);
        }
        return true;
      }
      awake = true;
      w = word_.load(std::memory_order_relaxed);
    }
  }

  word word_;
  std::array<parked, most> parked_;
};

/// Each thread locks once or twice and counts; the last to let go destroys the mutex.
template <mistake Made, unsigned Threads, unsigned Rounds, unsigned Timed>
struct users {
  static constexpr unsigned threads = Threads;

  void run(unsigned thread) {
    for (unsigned i = 0; i != Rounds; ++i) {
      if (thread >= Timed || !mutex.lock(thread, true)) {
        mutex.lock(thread, false);
      }
      entries = entries + 1;
      const bool is_last = entries == static_cast<int>(Threads * Rounds);
      mutex.unlock();
      if (is_last) {
        mutex.destroy();
      }
    }
  }
  void at_end() {
    require(entries == static_cast<int>(Threads * Rounds), "a section is lost");
    require(mutex.is_free(), "the mutex is not free at the end");
  }

  small_mutex<Made> mutex;
  model::cell<int> entries{0};
};

template <mistake Made>
using two = users<Made, 2, 2, 0>;
template <mistake Made>
using three = users<Made, 3, 1, 0>;
template <mistake Made>
using timed = users<Made, 3, 1, 2>;

}  // namespace

TEST_CASE("model: a mutex excludes, wakes its waiters, and is not touched when it may be gone") {
  for (const machine on : every_machine) {
    holds<two<mistake::nothing>>({on, 5, 2});
    holds<three<mistake::nothing>>({on, 4, 2});
    holds<timed<mistake::nothing>>({on, 3, 2});
  }
}

TEST_CASE("model: each mutant of the mutex is found out") {
  constexpr model::options on_weak{machine::weak, 3, 2};
  constexpr model::options on_any{machine::sequential, 4, 0};
  CHECK(found_out<two<mistake::weak_lock>>(on_weak));
  CHECK(found_out<two<mistake::weak_unlock>>(on_weak));
  CHECK(found_out<three<mistake::weak_queue_lock>>(on_weak));
  CHECK(found_out<three<mistake::weak_queue_unlock>>(on_weak));
  CHECK(found_out<three<mistake::weak_release>>(on_weak));
  CHECK(found_out<three<mistake::releases_first>>(on_any));
  CHECK(found_out<two<mistake::wakes_nobody>>(on_any));
  CHECK(found_out<three<mistake::queue_wakes_nobody>>(on_any));
  CHECK(found_out<two<mistake::keeps_woken>>(on_any));
  CHECK(found_out<three<mistake::passes_nothing>>(on_any));
  CHECK(found_out<two<mistake::forgets_granted>>(on_any));
  CHECK(found_out<timed<mistake::stays_linked>>(on_any));
}
