// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// pool: values that are expensive to make, kept for the next caller that needs one.
//
// Each processor has a shelf of its own, so that callers on different processors do not meet: it has a
// lock that others seldom take, in a cache line of its own. A caller that finds its shelf empty looks at
// the others before a value is made. Threads outside of any runtime share the shelves.
//
// What is not used goes. Each shelf has two lists. Once in a while what was put back since the last
// time becomes old, and what was old already is destroyed: so a value that lies unused is gone after
// two turns, and what is in use all the time is never made anew. Go turns at each collection of
// garbage; here a caller that puts back a value does, when it is time. Values are made and destroyed
// without a lock.
//
// Source: Go, src/sync/pool.go, from its documentation.
#ifndef THRUM_SYNC_POOL_HPP
#define THRUM_SYNC_POOL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/start/deadline.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace sync_detail {

/// The shelves, whatever lies there.
class pool_shelves {
 public:
  struct item {
    item* next = nullptr;
  };

  explicit pool_shelves(std::int64_t turn_ns);
  pool_shelves(const pool_shelves&) = delete;
  pool_shelves& operator=(const pool_shelves&) = delete;
  ~pool_shelves();

  /// Null: there is none.
  item* take() noexcept;
  void put(item& one) noexcept;

  /// If it is time for a turn, the items that go with it, linked; else null.
  item* turn() noexcept;
  /// All of them.
  item* take_all() noexcept;

 private:
  struct shelf;

  shelf& own(const sched::section& here) noexcept;

  const std::int64_t turn_ns_;
  const std::size_t size_;
  std::atomic<std::int64_t> next_turn_;
  const std::unique_ptr<shelf[]> shelves_;
};

template <class T>
struct default_maker {
  T operator()() const { return T(); }
};

}  // namespace sync_detail

/// Values of type T that are used again: buffers, encoders. What get() gives goes back when its handle is
/// destroyed, in whatever state it was left. A value that no caller has used for a while is destroyed. All
/// members may be called from any goroutine and any thread at the same time; the pool must outlive the
/// handles.
///
/// When not to use: for what must not be lost, or of which there may be only so many: see
/// counting_semaphore and chan.
template <class T, class Make = sync_detail::default_maker<T>>
class pool {
  struct item : sync_detail::pool_shelves::item {
    explicit item(Make& make) : value(make()) {}
    explicit item(T&& from) : value(std::move(from)) {}
    T value;
  };

 public:
  /// A value in use. Move-only.
  class [[nodiscard]] handle {
   public:
    /// None.
    handle() noexcept = default;
    handle(handle&& other) noexcept : of_(other.of_), held_(std::move(other.held_)) {}
    handle& operator=(handle&& other) noexcept {
      handle old(std::move(*this));
      of_ = other.of_;
      held_ = std::move(other.held_);
      return *this;
    }
    ~handle() { put_back(); }

    /// The value. Only while one is held.
    T& operator*() const noexcept { return held_->value; }
    /// As operator*.
    T* operator->() const noexcept { return &held_->value; }
    /// Whether a value is held.
    explicit operator bool() const noexcept { return held_ != nullptr; }

    /// Puts the value back now. No value is held afterwards.
    void put_back() noexcept {
      if (held_ != nullptr) {
        of_->put_item(std::move(held_));
      }
    }
    /// Destroys it instead of putting it back: it is broken, or has grown too large.
    void discard() noexcept { held_.reset(); }

   private:
    friend class pool;
    handle(pool& of, std::unique_ptr<item> held) noexcept : of_(&of), held_(std::move(held)) {}

    pool* of_ = nullptr;
    std::unique_ptr<item> held_;
  };

  /// Values are made by T().
  pool() requires std::is_default_constructible_v<T> : pool(Make()) {}
  /// Values are made by make(), which may be called by several at the same time. A value that is not
  /// used is destroyed after `keep` at the earliest, and after twice that if the pool is used then.
  explicit pool(Make make) : pool(std::move(make), std::chrono::seconds(60)) {}
  template <class Rep, class Period>
  pool(Make make, std::chrono::duration<Rep, Period> keep)
      : make_(std::move(make)), shelves_(time_detail::nanoseconds_of(keep)) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() { destroy(shelves_.take_all()); }

  /// A value that was put back, this processor's last one first; if there is none, a new one, and what
  /// making it throws. Does not block.
  handle get() {
    if (auto* const found = static_cast<item*>(shelves_.take())) {
      return handle(*this, std::unique_ptr<item>(found));
    }
    return handle(*this, std::make_unique<item>(make_));
  }

  /// Adds a value. std::bad_alloc; then it is lost.
  void put(T value) { put_item(std::make_unique<item>(std::move(value))); }

 private:
  void put_item(std::unique_ptr<item> held) noexcept {
    shelves_.put(*held.release());
    destroy(shelves_.turn());
  }
  static void destroy(sync_detail::pool_shelves::item* first) noexcept {
    while (first != nullptr) {
      auto* const next = first->next;
      delete static_cast<item*>(first);
      first = next;
    }
  }

  [[no_unique_address]] Make make_;
  sync_detail::pool_shelves shelves_;
};

template <class Make>
pool(Make) -> pool<std::invoke_result_t<Make&>, Make>;
template <class Make, class Rep, class Period>
pool(Make, std::chrono::duration<Rep, Period>) -> pool<std::invoke_result_t<Make&>, Make>;

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>

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
  std::int64_t due = next_turn_.load(relaxed);
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

#endif
