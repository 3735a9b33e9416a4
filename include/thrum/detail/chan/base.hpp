// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The part of a channel that does not depend on the type of its elements: lock, waiters, closing,
// life, and the clock of a channel that becomes ready by itself.
//
// Clocks
//   Timers, tickers and contexts with a deadline are channels that become ready at a time. Nothing
//   is armed for them: a receiver that finds nothing looks at the clock; at or after `when` it is
//   served at once, before it waits no longer than until `when` and looks again. So a timer without a
//   receiver costs nothing and is freed with its last handle. Nothing is ever buffered, hence
//   nothing stale is received after a stop. A foreign thread needs no runtime to wait for a timer. (Go
//   arms a channel's timer only while a goroutine waits, for the same ends.) A change of the
//   clock wakes the receivers, which look again.
//
// Invariants
//   CB1  a side that takes a waiter out of a list to serve it has won its selection, if any.
//   CB2  a point that is linked in a list belongs to a frame that is alive: a waiter unlinks its
//        points, under the lock, before it goes on.
#ifndef THRUM_DETAIL_CHAN_BASE_HPP
#define THRUM_DETAIL_CHAN_BASE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sync/destroyed_waiters.hpp>
#include <thrum/detail/sync/wait_list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace chan_detail {

using namespace base::orders;
using namespace sched;
using namespace sync_detail;

/// Makes a channel ready by itself at a time.
struct chan_clock {
  /// Nanoseconds of traits::now(). Under the channel's lock.
  std::int64_t when = no_deadline;

  // Exactly one of the two is set.

  /// Makes the element in *static_cast<std::optional<E>*>(slot) and moves `when` on. Called under the
  /// lock, at or after `when`.
  void (*produce)(chan_clock&, void* slot, std::int64_t now) noexcept = nullptr;

  /// Makes the channel ready by other means; the receiver then tries again. Called without the lock, at
  /// or after `when`.
  void (*expire)(chan_clock&) noexcept = nullptr;
};

/// The outcome of an attempt under the channel's lock.
enum class attempt : std::uint8_t {
  done,       // an element went over
  closed,     // none ever will
  not_ready,  // none can now
  expired,    // the clock is to be called without the lock
};

class chan_base {
 public:
  using destroy_function = void (*)(chan_base*) noexcept;

  chan_base(std::size_t capacity, chan_clock* clock, destroy_function destroy) noexcept
      : clock_(clock), destroy_(destroy), capacity_(capacity) {}
  chan_base(const chan_base&) = delete;
  chan_base& operator=(const chan_base&) = delete;

  void add_reference() noexcept {
    references_.fetch_add(1, relaxed);  // relaxed: the caller holds one already
  }

  /// The last one destroys the channel.
  void drop_reference() noexcept {
    if (drop_reference_only()) {
      destroy_(this);
    }
  }

  /// True: it was the last one, and the caller must destroy the channel.
  bool drop_reference_only() noexcept {
    // [chan.refs <>] acq_rel, with itself: every use by others happened before the last one
    // destroys it.
    return references_.fetch_sub(1, acq_rel) == 1;
  }

  /// Adds a reference for a caller that holds none, but knows that the memory is still there.
  bool add_reference_if_alive() noexcept {
    std::uint32_t n = references_.load(relaxed);
    // relaxed: as add_reference
    while (n != 0 && !references_.compare_exchange_weak(n, n + 1, relaxed, relaxed)) {
    }
    return n != 0;
  }

  /// Closes it and wakes all that wait. False: it was closed already.
  bool close() noexcept {
    const section here;
    lock_.lock();
    if (closed_.get()) {
      lock_.unlock();
      return false;
    }
    closed_.set(true);
    wake_list released;
    take_all(receivers_, wake_cause::closed, released);
    take_all(senders_, wake_cause::closed, released);
    lock_.unlock();
    released.wake_all();
    return true;
  }

  /// Changes the clock by change(), under the lock; every receiver that waits looks again. As with
  /// close(), the channel may be gone when this returns.
  template <class F>
  void change_clock(F change) noexcept {
    const section here;
    lock_.lock();
    change();
    wake_list released;
    take_all(receivers_, wake_cause::retry, released);
    lock_.unlock();
    released.wake_all();
  }

  std::size_t size() const noexcept { return count_.peek(); }
  std::size_t capacity() const noexcept { return capacity_; }
  bool is_closed() const noexcept { return closed_.peek(); }

  /// Whether a send would not have to wait, at this moment.
  bool has_room() noexcept {
    const section here;
    scoped guard(lock_);
    return can_send();
  }

  // ---- for select, under the lock ----

  spin_lock& lock() noexcept { return lock_; }

  /// When its clock makes it ready; no_deadline if it has none.
  std::int64_t due() const noexcept { return clock_ != nullptr ? clock_->when : no_deadline; }

  bool can_receive() noexcept {
    return count_.get() != 0 || closed_.get() || has_waiter(senders_) ||
           (clock_ != nullptr && clock_->when <= traits::now());
  }

  // Without the lock: whether a look under it would find nothing, or no room. Only the lock's holder may see
  // whether there is a waiter, so a channel without a buffer gives no sure answer. (While a receiver lets a
  // sender into a full channel, the channel shows no element, or no room, for a moment. A select then takes
  // another case that is ready, which is as if it had come later.)

  bool surely_has_nothing() const noexcept { return capacity_ != 0 && size() == 0 && !is_closed(); }
  bool surely_has_no_room() const noexcept {
    return capacity_ != 0 && size() >= capacity_ && !is_closed();
  }
  bool has_clock() const noexcept { return clock_ != nullptr; }

  bool can_send() noexcept {
    return count_.get() < capacity_ || closed_.get() || has_waiter(receivers_);
  }

  wait_list& receivers() noexcept { return receivers_; }
  wait_list& senders() noexcept { return senders_; }

  /// Calls the clock after attempt::expired, without the lock.
  void expire() noexcept { clock_->expire(*clock_); }

 protected:
  ~chan_base() {
    if (!receivers_.empty() || !senders_.empty()) [[unlikely]] {
      end_waits();
    }
  }
  THRUM_COLD void end_waits() noexcept {
    sync_detail::end_waits("chan: its last handle", lock_, receivers_.points, senders_.points);
  }

  /// CB1. The first waiter that is not stale; null if there is none.
  THRUM_INLINE static wait_point* pop(wait_list& list) noexcept {
    struct settle_as_notified {
      THRUM_INLINE bool operator()(wait_point& point) const noexcept {
        return settle_if_won(point, wake_cause::notified);
      }
    };
    return list.pop_if(settle_as_notified{});
  }

  static void take_all(wait_list& list, wake_cause cause, wake_list& released) noexcept {
    list.take_all_if([cause](wait_point& point) noexcept { return settle_if_won(point, cause); },
                     released);
  }

  /// CB1. Settles a point that was taken out, unless it is stale.
  THRUM_INLINE static bool settle_if_won(wait_point& point, wake_cause cause) noexcept {
    if (point.selection == nullptr) {
      settle(point, cause);
      return true;
    }
    if (!point.selection->win(point)) {
      return false;
    }
    settle_selection(point, cause);
    return true;
  }

  static bool has_waiter(wait_list& list) noexcept {
    while (wait_point* const first = list.points.front()) {
      if (first->selection == nullptr || !first->selection->is_won()) {
        return true;
      }
      list.points.remove(*first);
    }
    return false;
  }

  /// Serves a receiver from the clock. Caller holds the lock.
  THRUM_COLD attempt look_at_clock(void* slot) noexcept {
    const std::int64_t now = traits::now();
    if (now < clock_->when) {
      return attempt::not_ready;
    }
    if (clock_->produce == nullptr) {
      return attempt::expired;
    }
    clock_->produce(*clock_, slot, now);
    return attempt::done;
  }

  spin_lock lock_{lock_rank::channel};
  base::under_lock<bool> closed_{false};
  std::atomic<std::uint32_t> references_{1};
  base::under_lock<std::size_t> count_{0};
  std::size_t first_ = 0;
  chan_clock* const clock_;
  const destroy_function destroy_;
  const std::size_t capacity_;
  wait_list receivers_{lock_};
  wait_list senders_{lock_};
};

/// Waits for what never comes, until the runtime stops or the deadline passes.
THRUM_COLD inline wake_cause wait_for_nothing(section& here, wait_reason reason,
                                              std::int64_t deadline) noexcept {
  spin_lock lock{lock_rank::sleeper};
  wait_list nobody(lock);
  waiting self(here, nobody);
  lock.lock();
  return self.wait({reason, true, deadline});
}
inline wake_cause wait_for_nothing(wait_reason reason, std::int64_t deadline) noexcept {
  section here;
  return wait_for_nothing(here, reason, deadline);
}

}}}  // namespace thrum::THRUM_ABI::chan_detail

#endif
