// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the scheduler knows of a descriptor: its waiters, its users, its deadlines.
//
// Purpose
//   Joins the poller, which knows tags, with goroutines, which wait. How one waits is in
//   poll_wait.hpp.
//
// Two sides, reading and writing. Each has one user at a time (others wait for their turn), and
// only the user waits for readiness. An edge that finds nobody waiting leaves `ready` behind, which
// the next wait consumes.
//
// No lost edge: the user clears `ready`, then tries its system call, and waits if that would block.
// An edge before the call is in what the call sees; one after it sets `ready` again. Clearing after
// the call would lose the edge in between.
//
// Numbers are used again
//   The system gives the number of a closed descriptor to the next one, and an event of the old one
//   may still be in some thread's hands. A tag carries 32 bits of generation besides the place of
//   the descriptor here, and a generation ends before its number is given back. Descriptors here
//   are never freed, so a stale tag is always safe to look at.
//
// Invariants
//   PD1  under `lock` a waiter is either on a side or has been taken by exactly one thread, which
//        wakes it.
//   PD2  a number is closed only when nobody uses it: `users` is 0 and `closing` is set.
//
// Sources: Go, src/runtime/netpoll.go and src/internal/poll/fd_mutex.go, and their issues 59545
// (an error of the old descriptor) and 45211. Go has two words that waiter and event exchange by
// compare-and-swap, a word of counts, and a lock for the deadlines; here one spin lock does for all
// of it, at the same number of locked instructions.
#ifndef THRUM_SCHED_IO_POLL_DESC_HPP
#define THRUM_SCHED_IO_POLL_DESC_HPP

#include <thrum/base/cache_line.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/intrusive_list.hpp>
#include <thrum/base/order.hpp>
#include <thrum/netpoll/contract.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/queue/lock.hpp>
#include <thrum/sched/run/poll_sink.hpp>
#include <thrum/sched/run/wait_point.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

enum class io_side : std::uint8_t { read, write };

struct poll_side {
  wait_point* waiter = nullptr;  // its user, waiting to be ready
  base::intrusive_list<wait_point> turns;
  std::int64_t deadline = timer_heap<traits>::never;
  bool busy = false;
  bool ready = false;
  bool drained = false;  // the last call took all there was: do not try before the next edge
  /// For a foreign descriptor: so many of its next waits take it for not ready, without a look.
  atomic<std::uint8_t> waits_without_look{0};
};

struct alignas(base::cache_line_size) poll_desc {
  explicit poll_desc(std::uint32_t number) noexcept : index(number) {}

  poll_side& side(io_side which) noexcept { return sides[static_cast<std::size_t>(which)]; }
  /// The number; -1 after it was closed. Good while the caller has its turn, else a figure.
  int handle() const noexcept { return fd.load(relaxed); }  // relaxed: written under the lock

  /// Under the lock: events that have been fetched with the tag so far are of the past.
  void next_generation() noexcept {
    if (++generation == 0) {
      generation = 1;
    }
  }

  std::uint64_t tag() const noexcept { return (std::uint64_t{index} << 32) | generation; }

  spin_lock lock{lock_rank::descriptor};
  // -- under the lock --
  std::uint32_t generation = 1;  // never 0: those tags are the poller's own
  std::uint32_t users = 0;
  bool closing = false;
  bool unusual = false;  // an event said that what comes is not simply more of the stream
  bool foreign = false;  // we only watch it: see wait_foreign
  const std::uint32_t index;
  atomic<int> fd{os::no_descriptor};
  runtime_scheduler* scheduler = nullptr;  // its poller watches the descriptor
  wait_point* closer = nullptr;
  poll_side sides[2];

  poll_desc* next_free = nullptr;  // under the table's lock
};

/// All descriptors of the process, by number of their own. Their memory is never given back.
class poll_table {
 public:
  /// Null: no memory. Inside.
  static poll_desc* take() noexcept {
    state& all = known();
    scoped guard(all.lock);
    if (poll_desc* const d = all.free_list) {
      all.free_list = d->next_free;
      return d;
    }
    const std::uint32_t index = all.count.load(relaxed);  // relaxed: under the lock
    poll_desc* chunk = nullptr;
    if (index < chunk_size * max_chunks) {
      chunk = all.chunks[index / chunk_size].load(relaxed);  // relaxed: under the lock
    }
    if (chunk == nullptr) {
      if (index >= chunk_size * max_chunks ||
          (chunk = static_cast<poll_desc*>(os::map(chunk_size * sizeof(poll_desc)))) == nullptr) {
        return nullptr;
      }
      all.chunks[index / chunk_size].store(chunk, relaxed);  // relaxed: published with the count
    }
    poll_desc* const d = ::new (&chunk[index % chunk_size]) poll_desc(index);
    // [pd.count >] release: the chunk and the descriptor.
    all.count.store(index + 1, release);
    return d;
  }

  /// Its number is closed, nobody waits. Inside.
  static void give_back(poll_desc& d) noexcept {
    state& all = known();
    scoped guard(all.lock);
    d.next_free = all.free_list;
    all.free_list = &d;
  }

  /// Null: a tag that was never given.
  static poll_desc* find(std::uint32_t index) noexcept {
    state& all = known();
    // [pd.count <] acquire: the chunk and the descriptor.
    if (index >= all.count.load(acquire)) {
      return nullptr;
    }
    // relaxed: published with the count
    return &all.chunks[index / chunk_size].load(relaxed)[index % chunk_size];
  }

  template <class F>
  static void for_each(F f) noexcept {
    state& all = known();
    const std::uint32_t n = all.count.load(acquire);  // [pd.count <] acquire: as in find
    for (std::uint32_t i = 0; i < n; ++i) {
      f(*find(i));
    }
  }

 private:
  static constexpr std::uint32_t chunk_size = 1024;
  static constexpr std::uint32_t max_chunks = 16'384;

  struct state {
    static constexpr std::string_view process_name = "sched::poll_table";
    spin_lock lock{lock_rank::descriptors};
    poll_desc* free_list = nullptr;
    std::atomic<std::uint32_t> count{0};
    std::atomic<poll_desc*> chunks[max_chunks] = {};
  };
  static state& known() noexcept { return os::process_wide<state>::get(); }
};

/// Takes the user of a side that waits, to be woken by the caller without the lock. PD1.
inline wait_point* take_waiter_locked(poll_side& side, wake_cause cause) noexcept {
  wait_point* const point = side.waiter;
  if (point != nullptr) {
    side.waiter = nullptr;
    settle(*point, cause);
  }
  return point;
}

/// A chain of wait points through `next`, in the order in which they are to run.
struct wake_list {
  wait_point* first = nullptr;
  wait_point** last = &first;

  void push_back(wait_point* point) noexcept {
    if (point != nullptr) {
      point->next = nullptr;
      *last = point;
      last = &point->next;
    }
  }
  void take_turns_locked(poll_side& side, wake_cause cause) noexcept {
    while (wait_point* const point = side.turns.pop_front()) {
      settle(*point, cause);
      push_back(point);
    }
  }
  /// Without any lock, and last.
  void wake_all() noexcept { wake_chain(first); }
};

/// What a poll_sink does with an event: the entries of upcall_table.
struct poll_events {
  static void take(poll_sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    auto* const desc = poll_table::find(static_cast<std::uint32_t>(tag >> 32));
    if (desc == nullptr) {
      return;
    }
    wake_list taken;
    {
      scoped guard(desc->lock);
      if (desc->generation != static_cast<std::uint32_t>(tag)) {
        return;  // of what was closed since
      }
      desc->unusual = desc->unusual || (events & netpoll::unusual) != 0;
      if (desc->foreign) {
        take_foreign_locked(*desc, events, taken);
      } else {
        if ((events & netpoll::readable) != 0) {
          taken.push_back(make_ready_locked(desc->side(io_side::read)));
        }
        if ((events & netpoll::writable) != 0) {
          taken.push_back(make_ready_locked(desc->side(io_side::write)));
        }
      }
    }
    for (wait_point* point = taken.first; point != nullptr;) {
      wait_point* const next = point->next;
      if (point->g != nullptr && point->g->scheduler == &self.scheduler) {
        self.ready.push_back(*point->g);
      } else {
        wake(*point);
      }
      point = next;
    }
  }

  /// A thousand connections do not fit in a cache.
  static void prefetch(std::uint64_t tag) noexcept {
    const auto* const desc = poll_table::find(static_cast<std::uint32_t>(tag >> 32));
    if (desc != nullptr) {
      __builtin_prefetch(desc, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(desc) + base::cache_line_size, 1);
    }
  }

 private:
  static wait_point* make_ready_locked(poll_side& side) noexcept {
    wait_point* const point = take_waiter_locked(side, wake_cause::notified);
    side.ready = point == nullptr;
    return point;
  }

  /// One-shot: a waiter of the other side arms it again.
  static void take_foreign_locked(poll_desc& desc, std::uint32_t events,
                                  wake_list& taken) noexcept {
    if ((events & netpoll::readable) != 0) {
      taken.take_turns_locked(desc.side(io_side::read), wake_cause::notified);
    }
    if ((events & netpoll::writable) != 0) {
      taken.take_turns_locked(desc.side(io_side::write), wake_cause::notified);
    }
    for (const io_side other : {io_side::read, io_side::write}) {
      if (!desc.side(other).turns.empty()) {
        taken.take_turns_locked(desc.side(other), wake_cause::retry);
      }
    }
  }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
