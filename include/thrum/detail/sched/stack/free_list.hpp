// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Dead Gs on their way to be used again: in chunks, between the Ps and the pool of stacks.
//
// A P keeps two chunks: one that it takes from and gives to, last in first out, and a spare one, which
// is full or empty. Only when both are full, or both empty, does it turn to the pool, and then for a
// whole chunk: so goroutines that come and go by the dozen never take the pool's lock. The pool keeps
// a stack of chunks. No list is ever walked, and what was used last is used first, as its lines are
// still in the cache.
//
// Invariant
//   FL1  a chunk in a stack is not empty; its first G holds the others, and the link to the chunk
//        below.
//
// Source: the magazines of Bonwick and Adams, "Magazines and Vmem", USENIX 2001.
// Tried and rejected: one list for a P, half of which is cut off when it is too long. Looking for the
// place to cut is a walk through cold Gs: 10 to 18 % of the time of programs that spawn by the
// thousand.
#ifndef THRUM_DETAIL_SCHED_STACK_FREE_LIST_HPP
#define THRUM_DETAIL_SCHED_STACK_FREE_LIST_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/sched/core/counters.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The dead Gs that one P keeps to itself: fewer than `Most`, or two of the pool's chunks. Its holder's
/// only, but for size().
template <class G, std::uint32_t Most>
class free_list {
 public:
  using chunk = base::intrusive_queue<G>;
  static constexpr std::size_t chunk_size = Most / 2;

  /// Also for reports by other threads.
  std::uint32_t size() const noexcept { return size_.get(); }

  /// The one that came last, or null: then there may still be a spare chunk to reload().
  THRUM_INLINE G* take() noexcept {
    G* const g = loaded_.pop_front();
    if (g != nullptr) [[likely]] {
      size_.take();
    }
    return g;
  }

  /// The one that take() would give.
  G* front() const noexcept { return loaded_.front(); }

  /// Goes on with the spare chunk. False: there is none.
  bool reload() noexcept {
    loaded_ = static_cast<chunk&&>(spare_);
    return !loaded_.empty();
  }

  /// Goes on with a chunk of the pool's. Of an empty list.
  void load(chunk&& other) noexcept {
    size_.add(static_cast<std::uint32_t>(other.size()));
    loaded_ = static_cast<chunk&&>(other);
  }

  /// True: a chunk is full, and the caller must give what take_spare() gives to the pool.
  [[nodiscard]] THRUM_INLINE bool put(G& g) noexcept {
    size_.add();
    loaded_.push_front(&g);
    return loaded_.size() >= chunk_size;  // a chunk of the pool's may have been larger
  }

  /// The chunk that has been filled becomes the spare one; the one before it, or none, is the
  /// caller's.
  [[nodiscard]] chunk take_spare() noexcept {
    chunk before = static_cast<chunk&&>(spare_);
    size_.take(static_cast<std::uint32_t>(before.size()));
    spare_ = static_cast<chunk&&>(loaded_);
    return before;
  }

  [[nodiscard]] chunk take_all() noexcept {
    size_.take(size_.get());
    chunk all = static_cast<chunk&&>(loaded_);
    all.append(static_cast<chunk&&>(spare_));
    return all;
  }

 private:
  chunk loaded_;
  chunk spare_;
  figure<std::uint32_t> size_;
};

/// Chunks, the last one in first out. G has members `chunk_rest`, a queue, and `chunk_next`. Not
/// thread-safe: the pool's lock protects it. Every operation takes constant time.
template <class G>
class chunk_stack {
 public:
  using chunk = base::intrusive_queue<G>;

  constexpr chunk_stack() noexcept = default;
  chunk_stack(const chunk_stack&) = delete;
  chunk_stack& operator=(const chunk_stack&) = delete;

  bool empty() const noexcept { return top_ == nullptr; }

  /// The G that the next chunk begins with, or null.
  G* front() const noexcept { return top_; }

  void push(chunk&& of) noexcept {
    if (G* const first = of.pop_front()) {
      push(*first, static_cast<chunk&&>(of));
    }
  }

  /// The chunk on top; empty if there is none.
  [[nodiscard]] chunk pop() noexcept {
    chunk taken;
    if (G* const first = unlink()) {
      taken = static_cast<chunk&&>(first->chunk_rest);
      taken.push_front(first);
    }
    return taken;
  }

  /// Takes one G of the chunk on top; null if there is none.
  [[nodiscard]] G* pop_one() noexcept {
    G* const first = unlink();
    if (first != nullptr) {
      push(static_cast<chunk&&>(first->chunk_rest));
    }
    return first;
  }

  /// Puts all chunks of another stack below those that are here.
  void append(chunk_stack&& below) noexcept {
    if (below.empty()) {
      return;
    }
    (bottom_ != nullptr ? bottom_->chunk_next : top_) = below.top_;
    bottom_ = below.bottom_;
    below.top_ = below.bottom_ = nullptr;
  }

 private:
  void push(G& first, chunk&& rest) noexcept {
    first.chunk_rest = static_cast<chunk&&>(rest);  // FL1
    first.chunk_next = top_;
    top_ = &first;
    if (bottom_ == nullptr) {
      bottom_ = &first;
    }
  }

  G* unlink() noexcept {
    G* const first = top_;
    if (first != nullptr) {
      top_ = first->chunk_next;
      if (top_ == nullptr) {
        bottom_ = nullptr;
      }
    }
    return first;
  }

  G* top_ = nullptr;
  G* bottom_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
