// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The Ps of one scheduler: those that were ever made, how many are wanted, and how many a search
// has to look at.
//
// A P is never freed before its scheduler is, so that a thread with an old number sees at worst an
// empty queue. Four numbers:
//   made    grows only; each P below it is good
//   live    from here on all are dead, and hold neither goroutines nor timers: a search ends here
//   forking from here on no P has, or gets, a goroutine that forks: a goroutine may outlive the P on which
//           it began to fork. So a search for forks ends here
//   wanted  GOMAXPROCS. A P at or above it goes out of service when its holder next schedules
// Behind all of them, from traits::max_procs on, stand the Ps of hosts (host.hpp), which are none of
// these: they are searched like others, but only their own threads hold them.
//
// Invariants
//   PS1  wanted <= made and live <= forking <= made. Of them `wanted` and `live` differ only while Ps
//        retire.
//   PS2  `live`, `forking` and `wanted` change under the scheduler's lock; `made` only in make(), of which
//        one runs at a time.
//
// procs.hpp says how a number of Ps is asked for, and what a retiring P leaves behind. Checked by
// tests/model/procs_model.cpp.
#ifndef THRUM_DETAIL_SCHED_CORE_P_TABLE_HPP
#define THRUM_DETAIL_SCHED_CORE_P_TABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>  // IWYU pragma: keep: with AddressSanitizer
#include <thrum/detail/sched/core/counters.hpp>
#include <thrum/detail/sched/core/memory_source.hpp>
#include <thrum/detail/sched/core/p.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Functions named `_locked` want the caller to hold the scheduler's lock.
class p_table {
 public:
  p_table() noexcept = default;
  p_table(const p_table&) = delete;
  p_table& operator=(const p_table&) = delete;

  static constexpr unsigned most = traits::max_procs + traits::max_hosts;

  /// `places`: the caller's room for the addresses of `most` Ps. `memory`: where the Ps come
  /// from.
  void keep_in(processor** places, memory_source memory = {}) noexcept {
    places_ = places;
    memory_ = memory;
  }
  processor** places() const noexcept { return places_; }

  /// Frees them all. No thread uses the table any more.
  void clear() noexcept {
    for (unsigned i = 0; i < made(); ++i) {
      memory_.destroy(places_[i]);
    }
  }

  /// Makes those that there are not yet, all dead. 0 or an error below zero.
  [[nodiscard]] int make(unsigned n) noexcept {
    for (unsigned i = made(); i < n; ++i) {
      auto* const fresh = memory_.make<processor>(i);
      if (fresh == nullptr) {
        return os::no_memory;
      }
      fresh->status.set(p_status::dead);
      places_[i] = fresh;
      // [s.ps >] release: the P, to each walk over all of them.
      made_.store(i + 1, release);
    }
    return 0;
  }

  processor& operator[](std::uint32_t i) noexcept { return *places_[i]; }

  unsigned made() const noexcept {
    return made_.load(acquire);  // [s.ps <] sees the P itself
  }
  unsigned live() const noexcept {
    return live_.load(seq_cst);  // [s.live =] as any source of work: after the fence
  }
  unsigned forking() const noexcept {
    return forking_.load(seq_cst);  // [s.live =] as live()
  }
  unsigned wanted() const noexcept {
    return wanted_.load(relaxed);  // relaxed: a stale number costs a look at an empty queue
  }
  /// Ps of hosts: they stand from traits::max_procs on.
  unsigned hosts() const noexcept {
    if constexpr (traits::max_hosts == 0) {
      return 0;
    }
    return hosts_.load(seq_cst);  // [s.live =] as live()
  }
  /// The i-th of `n` others and those of hosts behind them.
  processor& among(unsigned i, unsigned n) noexcept {
    return *places_[i < n ? i : traits::max_procs + (i - n)];
  }
  /// Whether there is another P than the caller's.
  bool has_several() const noexcept {
    return several_.load(relaxed) != 1;  // relaxed: as wanted()
  }
  /// How often live() has changed: compared with an earlier one.
  std::uint64_t live_changes() const noexcept { return live_changes_.get(); }

  /// PS2: under the lock.
  void want_locked(unsigned n) noexcept {
    THRUM_ASSERT(PS1, n <= made());
    wanted_.store(n, relaxed);             // relaxed: decisive readers hold the lock
    several_.store(n + hosts(), relaxed);  // relaxed: decisive readers hold the lock
    if (n > forking()) {
      set_forking_locked(n);
    }
    if (n > live()) {
      set_live_locked(n);
    }
  }

  /// Adds a host's P. PS2
  void add_host_locked(processor& p) noexcept {
    const unsigned n = hosts();
    places_[traits::max_procs + n] = &p;
    // [s.live =] seq_cst: the P, to each walk over all of them
    hosts_.exchange(n + 1, seq_cst);
    several_.store(wanted() + n + 1, relaxed);  // relaxed: decisive readers hold the lock
  }

  /// Forgets the last ones that are dead and empty. A P dies under the lock only.
  void forget_dead_locked() noexcept {
    const unsigned before = live();
    unsigned n = before;
    // A dead P may keep its timers: see discards_timers
    while (n > wanted() && places_[n - 1]->status.get() == p_status::dead &&
           places_[n - 1]->timers.size() == 0) {
      --n;
    }
    if (n != before) {
      set_live_locked(n);
    }
    forget_forkless_locked();
  }

  /// Whether forget_forkless_locked() would find something. Without the lock: a hint.
  bool keeps_forkless() noexcept {
    const unsigned n = forking();
    return n > live() && places_[n - 1]->forks.largest_class() == 0;
  }
  /// Forgets the last dead ones on which all goroutines that forked have ended. None can begin there: a P
  /// is held, inside, while one registers.
  void forget_forkless_locked() noexcept {
    const unsigned before = forking();
    unsigned n = before;
    while (n > live() && places_[n - 1]->forks.largest_class() == 0) {
      --n;
    }
    if (n != before) {
      set_forking_locked(n);
    }
  }

#if THRUM_ASAN
  void keep_reachable() noexcept { base::keep_reachable(places_, made() * sizeof(processor*)); }
#endif

 private:
  void set_forking_locked(unsigned n) noexcept {
    forking_.exchange(n, seq_cst);  // [s.live =] seq_cst: as in set_live_locked
  }
  void set_live_locked(unsigned n) noexcept {
    live_changes_.add();
    // [s.live =] seq_cst: before one of them can be taken from the idle list, in a search's order,
    // too.
    live_.exchange(n, seq_cst);
  }

  processor** places_ = nullptr;
  atomic<unsigned> made_{0};
  atomic<unsigned> wanted_{0};
  atomic<unsigned> live_{0};
  atomic<unsigned> forking_{0};
  atomic<unsigned> hosts_{0};
  atomic<unsigned> several_{0};  // wanted, and those of hosts
  figure<std::uint64_t> live_changes_;
  memory_source memory_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
