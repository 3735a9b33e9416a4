// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The word of a shared_mutex in every interleaving within the bounds: its operations do here what
// those of sync/shared_mutex.hpp do, with a note for the goroutine that parks, and a wait that may
// end by itself by chance.
//
// What must hold: a writer excludes all others (its data is plain), no thread sleeps for ever, a mutex
// invites a reader once at most (SX6), and after its last user has destroyed it, no thread touches its
// word or the lock of its lists (SX5). Then the mutants.

#include "model/support/assertions.hpp"

#include "model/support/checks.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace {

using model::found_out;
using model::holds;
using model::machine;
using model::require;

enum class mistake {
  nothing,
  // An access is relaxed instead.
  weak_lock,
  weak_lock_shared,
  weak_unlock,
  weak_unlock_shared,
  weak_hand_over,
  // Steps.
  reader_leaves_first,  // gives its share back, then takes the lock to look for waiters
  keeps_lock,           // leaves under the lock, though nobody waits any more
  announces_late,       // `queued` is set after the lock of the lists is free
  nobody_settles,       // a writer that gives up leaves those behind it waiting
  forgets_queued,       // a hand-over to a writer clears `queued`
  invites_always,       // though a writer waits
  keeps_queued,         // an invitation leaves `queued` set
  forgets_overtaken,    // a reader that was overtaken is invited again
  does_not_try_again    // an invited reader takes its share for granted
};

constexpr std::uint32_t written = 1;
constexpr std::uint32_t queued = 2;
constexpr std::uint32_t overtaken = 4;
constexpr std::uint32_t reader = 8;
constexpr unsigned most = 3;

struct waiter {
  bool writes = false;  // from here on under the lock of the lists
  bool linked = false;
  bool invited = false;
  unsigned ticket = 0;
  model::note note;
};

template <mistake Made>
class small_shared_mutex {
 public:
  bool lock(unsigned self, bool timed) {
    std::uint32_t free = 0;
    return exchange(free, written, order(mistake::weak_lock, std::memory_order_acquire)) ||
           wait(self, true, timed);
  }

  void unlock() {
    std::uint32_t held = written;
    while (!exchange(held, 0, order(mistake::weak_unlock, std::memory_order_release))) {
      if (leave(written, true)) {
        return;
      }
      held = written;
    }
  }

  bool lock_shared(unsigned self, bool timed) {
    if (try_lock_shared()) {
      return true;
    }
    const bool got = wait(self, false, timed);
    if (!got || !waiters_[self].invited || Made == mistake::does_not_try_again) {
      return got;
    }
    return try_lock_shared() || wait(self, false, timed, queued | overtaken);
  }

  void unlock_shared() {
    if constexpr (Made == mistake::reader_leaves_first) {
      const std::uint32_t before = here(word_.fetch_sub(reader, std::memory_order_release));
      if (before < 2 * reader && (before & queued) != 0) {
        lock_lists();
        const unsigned chain = settle_locked(false);
        unlock_lists();
        wake(chain);
      }
      return;
    }
    std::uint32_t word = load();
    for (;;) {
      if (word < 2 * reader && (word & queued) != 0) {
        if (leave(reader, false)) {
          return;
        }
        word = load();
      } else if (exchange(word, word - reader,
                          order(mistake::weak_unlock_shared, std::memory_order_release))) {
        return;
      }
    }
  }

  void destroy() { gone_ = true; }
  bool is_free() { return word_.load(std::memory_order_relaxed) == 0; }

 private:
  bool try_lock_shared() {
    std::uint32_t word = load();
    while ((word & (written | queued)) == 0) {
      if (exchange(word, word + reader,
                   order(mistake::weak_lock_shared, std::memory_order_acquire))) {
        return true;
      }
    }
    return false;
  }

  static constexpr std::memory_order order(mistake of, std::memory_order right) {
    return Made == of ? std::memory_order_relaxed : right;
  }

  template <class Result>
  Result here(Result result) const {
    require(!gone_, "the mutex was touched after it was destroyed");
    return result;
  }
  std::uint32_t load() { return here(word_.load(std::memory_order_relaxed)); }
  bool exchange(std::uint32_t& expected, std::uint32_t next, std::memory_order success) {
    return here(word_.compare_exchange_strong(expected, next, success, std::memory_order_relaxed));
  }
  void lock_lists() {
    lists_.lock();
    here(0);
  }
  void unlock_lists() {
    model::explorer::active().point();
    here(0);
    lists_.unlock();
  }

  // ---- the lists: a set of waiters with tickets ----

  unsigned first_writer() const {
    unsigned first = most;
    for (unsigned i = 0; i != most; ++i) {
      if (waiters_[i].linked && waiters_[i].writes &&
          (first == most || waiters_[i].ticket < waiters_[first].ticket)) {
        first = i;
      }
    }
    return first;
  }
  unsigned count(bool writers) const {
    unsigned n = 0;
    for (const waiter& each : waiters_) {
      n += each.linked && each.writes == writers ? 1 : 0;
    }
    return n;
  }
  bool nobody_waits() const { return count(true) + count(false) == 0; }

  bool take_or_announce(std::uint32_t unless, std::uint32_t taken, std::uint32_t announced) {
    std::uint32_t word = load();
    for (;;) {
      if (nobody_waits() && (word & unless) == 0) {
        if (exchange(word, word + taken, std::memory_order_acquire)) {
          return true;
        }
      } else if (Made == mistake::announces_late ||
                 exchange(word, word | announced, std::memory_order_relaxed)) {
        return false;
      }
    }
  }

  /// Also true if the reader was invited.
  bool wait(unsigned self, bool writes, bool timed, std::uint32_t announced = queued) {
    waiter& own = waiters_[self];
    lock_lists();
    own.invited = false;
    if (take_or_announce(writes ? ~queued : written, writes ? written : reader,
                         Made == mistake::forgets_overtaken ? queued : announced)) {
      unlock_lists();
      return true;
    }
    own.note.clear();
    own.writes = writes;
    own.linked = true;
    own.ticket = tickets_++;
    unlock_lists();
    if constexpr (Made == mistake::announces_late) {
      here(word_.fetch_or(queued, std::memory_order_relaxed));
    }
    if (timed && model::explorer::active().choose(2) != 0 && withdraw(own)) {
      return false;
    }
    own.note.sleep();
    require(!own.invited || announced == queued, "a reader was overtaken twice");
    return true;
  }

  bool withdraw(waiter& own) {
    lock_lists();
    const bool linked = own.linked;
    unsigned chain = 0;
    if (linked) {
      own.linked = false;
      if constexpr (Made != mistake::nobody_settles) {
        chain = settle_locked(false);
      }
    }
    unlock_lists();
    wake(chain);
    return linked;
  }

  /// A bit for each that now holds the mutex, or is invited.
  unsigned settle_locked(bool readers_first) {
    std::uint32_t word = load();
    for (;;) {
      if (nobody_waits()) {
        if (exchange(word, word & ~(queued | overtaken), std::memory_order_relaxed)) {
          return 0;
        }
        continue;
      }
      if ((word & written) != 0) {
        return 0;
      }
      const bool writers_wait = count(true) != 0;
      const bool may_invite =
          !writers_wait || (Made == mistake::invites_always && count(false) != 0);
      if (may_invite && (word & overtaken) == 0) {
        if (exchange(word, Made == mistake::keeps_queued ? word : word & ~queued,
                     std::memory_order_relaxed)) {
          return take(false, most, true);
        }
        continue;
      }
      if (count(false) != 0 && (readers_first || !writers_wait)) {
        const std::uint32_t over = writers_wait ? overtaken : queued | overtaken;
        const std::uint32_t next = (word & ~over) + count(false) * reader;
        if (exchange(word, next, order(mistake::weak_hand_over, std::memory_order_acq_rel))) {
          return take(false, most);
        }
        continue;
      }
      if (word >= reader) {
        return 0;
      }
      const bool last = Made == mistake::forgets_queued || count(true) + count(false) == 1;
      if (exchange(word, last ? written : word | written,
                   order(mistake::weak_hand_over, std::memory_order_acq_rel))) {
        return take(true, first_writer());
      }
    }
  }

  unsigned take(bool writers, unsigned which, bool invited = false) {
    unsigned chain = 0;
    for (unsigned i = 0; i != most; ++i) {
      if (waiters_[i].linked && waiters_[i].writes == writers && (which == most || which == i)) {
        waiters_[i].linked = false;
        waiters_[i].invited = invited;
        chain |= 1U << i;
      }
    }
    return chain;
  }
  void wake(unsigned chain) {
    for (unsigned i = 0; i != most; ++i) {
      if ((chain >> i & 1) != 0) {
        waiters_[i].note.wake();
      }
    }
  }

  bool leave(std::uint32_t share, bool readers_first) {
    lock_lists();
    if (nobody_waits() && Made != mistake::keeps_lock) {
      unlock_lists();
      return false;
    }
    here(word_.fetch_sub(share, order(mistake::weak_hand_over, std::memory_order_release)));
    const unsigned chain = settle_locked(readers_first);
    unlock_lists();
    wake(chain);
    return true;
  }

  model::atomic<std::uint32_t> word_{0};
  model::mutex lists_;
  std::array<waiter, most> waiters_;
  unsigned tickets_ = 0;
  bool gone_ = false;
};

/// Of three threads so many read, the others write. The last one inside locks it once more, so that
/// all others have begun to unlock, though perhaps not returned from it, and destroys it.
template <mistake Made, unsigned Readers, unsigned Timed>
struct users {
  static constexpr unsigned threads = most;

  void run(unsigned thread) {
    const bool timed = thread < Timed;
    bool is_last;
    if (thread < Readers) {
      if (!timed || !mutex.lock_shared(thread, true)) {
        mutex.lock_shared(thread, false);
      }
      require(entries >= 0, "the count is never negative");
      is_last = left.fetch_sub(1, std::memory_order_relaxed) == 1;
      mutex.unlock_shared();
    } else {
      if (!timed || !mutex.lock(thread, true)) {
        mutex.lock(thread, false);
      }
      entries = entries + 1;
      is_last = left.fetch_sub(1, std::memory_order_relaxed) == 1;
      mutex.unlock();
    }
    if (is_last) {
      mutex.lock(thread, false);
      require(entries == static_cast<int>(most - Readers), "a section is lost");
      mutex.unlock();
      mutex.destroy();
    }
  }
  void at_end() { require(mutex.is_free(), "the mutex is not free at the end"); }

  small_shared_mutex<Made> mutex;
  model::atomic<int> left{most};
  model::cell<int> entries{0};
};

template <mistake Made>
using writers = users<Made, 0, 0>;
template <mistake Made>
using one_reader = users<Made, 1, 0>;
template <mistake Made>
using readers = users<Made, 2, 0>;
template <mistake Made>
using timed_readers = users<Made, 2, 2>;
template <mistake Made>
using timed_writers = users<Made, 1, 3>;

}  // namespace

TEST_CASE(
    "model: a shared_mutex excludes, lets waiters in, and is not touched when it may be gone") {
  for (const machine on : {machine::sequential, machine::weak}) {
    holds<writers<mistake::nothing>>({on, 4, 1});
    holds<one_reader<mistake::nothing>>({on, 4, 1});
    holds<readers<mistake::nothing>>({on, 4, 1});
    holds<timed_readers<mistake::nothing>>({on, 3, 1});
    holds<timed_writers<mistake::nothing>>({on, 3, 1});
  }
}

TEST_CASE("model: each mutant of the shared_mutex is found out") {
  constexpr model::options on_weak{machine::weak, 3, 1};
  constexpr model::options on_any{machine::sequential, 4, 0};
  CHECK(found_out<writers<mistake::weak_lock>>(on_weak));
  CHECK(found_out<readers<mistake::weak_lock_shared>>(on_weak));
  CHECK(found_out<writers<mistake::weak_unlock>>(on_weak));
  CHECK(found_out<readers<mistake::weak_unlock_shared>>(on_weak));
  CHECK(found_out<readers<mistake::weak_hand_over>>(on_weak));
  CHECK(found_out<timed_writers<mistake::reader_leaves_first>>(on_any));
  CHECK(found_out<timed_writers<mistake::keeps_lock>>(on_any));
  CHECK(found_out<writers<mistake::announces_late>>(on_any));
  CHECK(found_out<timed_writers<mistake::nobody_settles>>(on_any));
  CHECK(found_out<writers<mistake::forgets_queued>>(on_any));
  CHECK(found_out<one_reader<mistake::invites_always>>(on_any));
  CHECK(found_out<readers<mistake::keeps_queued>>(on_any));
  CHECK(found_out<one_reader<mistake::forgets_overtaken>>(on_any));
  CHECK(found_out<one_reader<mistake::does_not_try_again>>(on_any));
}
