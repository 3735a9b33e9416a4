// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// All descriptors of the process that goroutines may wait for.
//
// What the scheduler knows of a descriptor: its waiters, its users, its deadlines.
//
// Purpose
//   Joins the poller, which knows tags, with goroutines, which wait. How one waits is in
//   poll_wait.hpp.
//
// Two sides, reading and writing. Each has one user at a time (others wait for their turn), and
// only the user waits for readiness. An edge that finds no waiter leaves `ready` behind, which the
// next wait consumes.
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
//   PD2  a number is closed only when no caller uses it: `users` is 0 and `closing` is set.
//
// Sources: Go, src/runtime/netpoll.go and src/internal/poll/fd_mutex.go, and their issues 59545
// (an error of the old descriptor) and 45211. Go has two words that waiter and event exchange by
// compare-and-swap, a word of counts, and a lock for the deadlines; here one spin lock does for all
// of it, at the same number of locked instructions.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_TABLE_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_TABLE_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/doubling.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

enum class io_side : std::uint8_t { read, write };

struct poll_side {
  wait_point* waiter = nullptr;  // its user, waiting to be ready
  base::intrusive_list<wait_point> turns;
  base::intrusive_list<wait_point> watchers;  // beside its user: poll_watch.hpp
  std::int64_t deadline = timer_heap<traits>::never;
  bool busy = false;
  bool ready = false;
  bool drained = false;  // the last call took all there was: do not try before the next edge
  /// For a foreign descriptor: so many of its next waits take it for not ready, without a look.
  hint<std::uint8_t> waits_without_look{0};
};

struct alignas(base::cache_line_size) poll_desc {
  explicit poll_desc(std::uint32_t number) noexcept : index(number) {}

  poll_side& side(io_side which) noexcept { return sides[static_cast<std::size_t>(which)]; }
  /// The number; os::no_handle after it was closed. Good while the caller has its turn, else a figure.
  os::handle handle() const noexcept { return fd.get(); }

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
  /// The netpoll::events that the poller was asked for, if it must be, and has not reported yet.
  std::uint32_t asked = 0;
  const std::uint32_t index;
  under_lock<os::handle> fd{os::no_handle};
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
    const std::uint32_t index = all.count.get();
    if (index >= most) {
      return nullptr;
    }
    const auto place = places::of(index);
    poll_desc* chunk = all.chunks[place.chunk].get();
    if (chunk == nullptr) {
      const std::size_t size = places::size_of(place.chunk) * sizeof(poll_desc);
      if ((chunk = static_cast<poll_desc*>(os::map(size))) == nullptr) {
        return nullptr;
      }
      all.chunks[place.chunk].set(chunk);
    }
    poll_desc* const d = ::new (&chunk[place.at]) poll_desc(index);
    // [pd.count >] release: the chunk and the descriptor.
    all.count.store(index + 1, release);
    return d;
  }

  /// Takes back a descriptor whose number is closed and that no goroutine waits for. Inside.
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
    const auto place = places::of(index);
    return &all.chunks[place.chunk].get()[place.at];
  }

  template <class F>
  static void for_each(F f) noexcept {
    state& all = known();
    const std::uint32_t n = all.count.load(acquire);  // [pd.count <] acquire: as in find
    for (std::uint32_t i = 0; i < n; ++i) {
      f(*find(i));
    }
  }

  /// So that after_fork need not look for it, which takes locks of the loader.
  static void prepare_for_fork() noexcept { static_cast<void>(known()); }

  /// In a child process, which has none of the threads that may have held a lock: above all, that of a
  /// goroutine that was about to park. What they were changing stays as it is; end_use() drops those lists.
  static void after_fork() noexcept {
    known().lock.abandon();
    for_each([](poll_desc& d) noexcept { d.lock.abandon(); });
  }

 private:
  using places = base::doubling_place<10>;
  static constexpr unsigned most_bits = 24;
  static constexpr std::uint32_t most = std::uint32_t{1} << most_bits;

  struct state {
    static constexpr std::string_view process_name = "sched::poll_table";
    spin_lock lock{lock_rank::descriptors};
    poll_desc* free_list = nullptr;
    base::under_lock<std::uint32_t> count{0};
    base::one_writer<poll_desc*> chunks[places::chunks_for(most_bits)] = {};
  };
  static state& known() noexcept { return os::process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif  // THRUM_DETAIL_SCHED_IO_POLL_TABLE_HPP
