// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/pool.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_POOL_DEFINITION_HPP
#define THRUM_SYNC_POOL_DEFINITION_HPP

#include <thrum/base/cache_line.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/deadline.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/queue/lock.hpp>
#include <thrum/sched/queue/no_deadline.hpp>
#include <thrum/sched/queue/scoped.hpp>
#include <thrum/sync/pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

struct alignas(base::cache_line_size) pool_shelves::shelf {
  item* pop_locked() noexcept {
    item*& list = fresh != nullptr ? fresh : old;
    item* const first = list;
    if (first != nullptr) {
      list = first->next;
    }
    return first;
  }

  sched::spin_lock lock{sched::lock_rank::waiters};
  // -- under the lock --
  item* fresh = nullptr;  // put back since the last turn
  item* old = nullptr;    // not used since the last turn
};

THRUM_OUT_OF_LINE pool_shelves::pool_shelves(std::int64_t turn_ns)
    : turn_ns_(turn_ns > 0 ? turn_ns : 0),
      size_(os::available_processors()),
      next_turn_(time_detail::deadline_after(std::chrono::nanoseconds(turn_ns_))),
      shelves_(new shelf[size_]) {}

THRUM_OUT_OF_LINE pool_shelves::~pool_shelves() = default;

THRUM_OUT_OF_LINE pool_shelves::shelf& pool_shelves::own(const sched::section& here) noexcept {
  const auto* const m = here.m();
  return shelves_[m != nullptr ? m->p->id % size_ : 0];
}

THRUM_OUT_OF_LINE pool_shelves::item* pool_shelves::take() noexcept {
  const sched::section here;
  shelf& mine = own(here);
  {
    const sched::scoped guard(mine.lock);
    if (item* const found = mine.pop_locked()) {
      return found;
    }
  }
  for (std::size_t i = 0; i != size_; ++i) {
    shelf& other = shelves_[i];
    if (&other != &mine) {
      const sched::scoped guard(other.lock);
      if (item* const found = other.pop_locked()) {
        return found;
      }
    }
  }
  return nullptr;
}

THRUM_OUT_OF_LINE void pool_shelves::put(item& one) noexcept {
  const sched::section here;
  shelf& mine = own(here);
  const sched::scoped guard(mine.lock);
  one.next = mine.fresh;
  mine.fresh = &one;
}

THRUM_OUT_OF_LINE pool_shelves::item* pool_shelves::turn() noexcept {
  using namespace base::orders;
  std::int64_t due = next_turn_.load(relaxed);  // relaxed: the exchange decides
  const std::int64_t now = time_detail::time_now();
  const std::int64_t next =
      turn_ns_ < sched::no_deadline - now ? now + turn_ns_ : sched::no_deadline;
  // A turn that is further away than turns are was set by a bubble's time.
  const bool is_by_other_clock = now < due && due - now > turn_ns_;
  // relaxed: one of them turns; the locks order the rest
  if ((now < due && !is_by_other_clock) ||
      !next_turn_.compare_exchange_strong(due, next, relaxed, relaxed)) {
    return nullptr;
  }
  item* gone = nullptr;
  for (std::size_t i = 0; i != size_; ++i) {
    item* mine;
    {
      const sched::section here;
      const sched::scoped guard(shelves_[i].lock);
      mine = std::exchange(shelves_[i].old, std::exchange(shelves_[i].fresh, nullptr));
    }
    while (mine != nullptr) {
      item* const after = std::exchange(mine->next, gone);
      gone = std::exchange(mine, after);
    }
  }
  return gone;
}

THRUM_OUT_OF_LINE pool_shelves::item* pool_shelves::take_all() noexcept {
  item* all = nullptr;
  while (item* const one = take()) {
    one->next = all;
    all = one;
  }
  return all;
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
