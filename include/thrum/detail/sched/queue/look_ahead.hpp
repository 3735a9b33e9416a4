// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A long queue of goroutines: each comes into the cache a few turns before its own.
//
// Purpose
//   A goroutine that has waited behind a million others is in no cache: its G, the top of its stack, and
//   what the processor keeps of page tables. All that is some hundred nanoseconds to wait for, ten times
//   the switch, and each of them only begins when the one before has come: the link in the G names
//   the next G. Asked for early, they come side by side, while others run.
//
// How
//   An item that is queued gets a second link, `queue_ahead`, written when the item `distance`
//   behind it is queued. A thread that takes an item asks for the stack of the one `distance` later,
//   whose G was asked for as long ago, and for the G that comes `distance` later again.
//   No thread follows these links to run anything: a wrong one costs some useless loads. Links are wrong
//   if items are taken out of turn, and for the first few of a queue that was short in between. An item
//   is never given back to the system while its queue is there, so a wrong link is safe to follow.
//   Short queues have no such links: what stands there was used a moment ago.
//
// Source: jump pointers (Luk and Mowry 1996; Roth and Sohi 1999). Figures: decision 28.
// Checked by look_ahead_test.cpp.
#ifndef THRUM_DETAIL_SCHED_QUEUE_LOOK_AHEAD_HPP
#define THRUM_DETAIL_SCHED_QUEUE_LOOK_AHEAD_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// Starts loading what a goroutine needs that is switched to: its saved registers and the frames
/// between them and the function that called the library.
inline void prefetch_stack(const void* sp) noexcept {
  constexpr std::size_t bytes = 384;
  constexpr std::size_t line = 64;
  const auto frames = reinterpret_cast<std::uintptr_t>(sp);
  for (std::size_t at = 0; at != bytes; at += line) {
    __builtin_prefetch(reinterpret_cast<const void*>(frames + at), 1);
  }
}

/// Keeps the links of one queue. Under that queue's lock. T has members `queue_ahead`, `queue_next` and
/// `sp`, an atomic pointer.
template <class T>
class look_ahead {
 public:
  /// Items between one that is taken and the one whose stack is asked for. The time of so many switches
  /// is that of one look into memory, twice over where page tables lie there as well.
  static constexpr std::size_t distance = 8;

  /// A queue of so many items is long. What belongs to fewer fits into a second-level cache.
  static constexpr std::size_t long_queue = 1024;

  /// `item` is queued as the last of at least long_queue.
  void link(T& item) noexcept {
    T*& place = recent_[count_++ % distance];
    if (place != nullptr) {
      place->queue_ahead = &item;
    }
    place = &item;
  }

  /// `item` has been taken, and has a link: asks for those that follow.
  THRUM_COLD static void fetch(T& item) noexcept {
    T* const soon = item.queue_ahead;
    item.queue_ahead = nullptr;
    prefetch_stack(soon->sp.peek());
    if (T* const later = soon->queue_ahead) {
      __builtin_prefetch(later, 1);
    }
  }

 private:
  T* recent_[distance] = {};
  std::size_t count_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
