// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// timer_heap's bodies that keep the entries in order: entries are put in, taken out and sifted, in
// an array of pages that grows.
#ifndef THRUM_DETAIL_SCHED_QUEUE_TIMER_HEAP_ORDER_HPP
#define THRUM_DETAIL_SCHED_QUEUE_TIMER_HEAP_ORDER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template <class Traits>
void timer_heap<Traits>::insert(timer& t, std::int64_t when) noexcept {
  const std::size_t n = size_.get();
  if (n == capacity_) {
    grow();
  }
  size_.set(n + 1);
  t.slot = free_slot_;
  free_slot_ = std::exchange(slots_[t.slot], slot{&t, 0}).at;
  place(n, entry{when, t.slot});
  t.entry_when.store(when, relaxed);  // relaxed: published by the state
  // [th.heap >] release: revive_earlier() by another thread may go by it.
  t.heap.store(this, release);
  sift_up(n);
}

template <class Traits>
void timer_heap<Traits>::erase(std::size_t i) noexcept {
  const std::size_t last = size_.get() - 1;
  THRUM_ASSERT(TH1, i <= last);
  size_.set(last);
  slots_[entries_[i].slot] = slot{nullptr, free_slot_};
  free_slot_ = entries_[i].slot;
  if (i == last) {
    return;
  }
  place(i, entries_[last]);
  sift_up(i);
  sift_down(i);
}

template <class Traits>
void timer_heap<Traits>::sift_up(std::size_t i) noexcept {
  const entry moving = entries_[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / arity;
    if (entries_[parent].when <= moving.when) {
      break;
    }
    place(i, entries_[parent]);
    i = parent;
  }
  place(i, moving);
}

template <class Traits>
void timer_heap<Traits>::sift_down(std::size_t i) noexcept {
  const entry moving = entries_[i];
  const std::size_t n = size_.get();
  for (;;) {
    const std::size_t first = i * arity + 1;
    if (first >= n) {
      break;
    }
    const std::size_t end = first + arity < n ? first + arity : n;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (entries_[child].when < entries_[least].when) {
        least = child;
      }
    }
    if (moving.when <= entries_[least].when) {
      break;
    }
    place(i, entries_[least]);
    i = least;
  }
  place(i, moving);
}

template <class Traits>
void timer_heap<Traits>::grow() noexcept {
  const std::size_t bytes = capacity_ == 0 ? os::page_size() : capacity_ * bytes_each * 2;
  void* pages = os::map(bytes);
  if (pages == nullptr) {
    base::fatal("sleep: no memory for another timer; raise the memory limit of the process");
  }
  const std::size_t before = capacity_;
  const std::size_t capacity = bytes / bytes_each;
  auto* const entries = static_cast<entry*>(pages);
  auto* const slots = reinterpret_cast<slot*>(entries + capacity);
  if (before != 0) {  // it is full
    std::memcpy(entries, entries_, before * sizeof(entry));
    std::memcpy(slots, slots_, before * sizeof(slot));
  }
  release_pages();
  entries_ = entries;
  slots_ = slots;
  capacity_ = capacity;
  free_slot_ = base::convert<std::uint32_t>(before);
  for (auto i = free_slot_; i != capacity; ++i) {
    slots_[i] = slot{nullptr, i + 1};
  }
}

template <class Traits>
void timer_heap<Traits>::release_pages() noexcept {
  if (entries_ != nullptr) {
    os::unmap(entries_, capacity_ * bytes_each);
  }
}

template <class Traits>
void timer_heap<Traits>::place(std::size_t i, entry e) noexcept {
  entries_[i] = e;
  slot& of = slots_[e.slot];
  of.at = static_cast<std::uint32_t>(i);
  if (i <= arity) {
    __builtin_prefetch(&of.owner->word, 1);  // its turn comes after a few others
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
