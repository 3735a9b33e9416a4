// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A FIFO of wait points under the lock of the object that they wait on: what the primitives of this
// floor are built from.
#ifndef THRUM_DETAIL_SYNC_WAIT_LIST_HPP
#define THRUM_DETAIL_SYNC_WAIT_LIST_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/wake_list.hpp>
#include <thrum/detail/sched/run/yield.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

using namespace sched;

/// The waiters of one kind on one object, in the order of their arrival.
struct wait_list {
  explicit constexpr wait_list(spin_lock& owner) noexcept : lock(owner) {}

  spin_lock& lock;
  base::intrusive_list<wait_point> points;

  bool empty() const noexcept { return points.empty(); }

  /// Takes the first point out; null if there is none. Caller holds the lock, and wakes the point
  /// after it has released it.
  wait_point* pop(wake_cause cause) noexcept {
    return pop_if([cause](wait_point& point) noexcept {
      settle(point, cause);
      return true;
    });
  }

  /// Takes out the first point for which settle_if(point) is true, and drops those before it: for a list
  /// on which points may be stale.
  template <class Settle>
  THRUM_INLINE wait_point* pop_if(Settle settle_if) noexcept {
    while (wait_point* const point = points.pop_front()) {
      prefetch_waiter(*point);
      if (settle_if(*point)) [[likely]] {
        return point;
      }
    }
    return nullptr;
  }

  /// Takes all of them out, in their order, into `released`. Caller holds the lock: from here on no
  /// point is linked, so none can be withdrawn any more.
  void take_all(wake_cause cause, wake_list& released) noexcept;

  /// Takes all points out, those for which settle_if(point) is true into `released`; drops the others.
  template <class Settle>
  void take_all_if(Settle settle_if, wake_list& released) noexcept {
    const auto first_half = [&](wait_point& point) noexcept {
      if (settle_if(point)) [[likely]] {
        released.push_back(&point);
      }
    };
    if (points.front() == points.back()) [[likely]] {
      if (wait_point* const only = points.pop_front()) {
        first_half(*only);
      }
      return;
    }
    wake_list second_half;
    points.take_from_both_ends(first_half, [&](wait_point& point) noexcept {
      if (settle_if(point)) [[likely]] {
        second_half.push_front(point);
      }
    });
    released.append(static_cast<wake_list&&>(second_half));
  }

  /// Takes a point out if it is linked. Caller holds the lock.
  bool unlink(wait_point& point) noexcept;

  static withdrawal withdraw(wait_point& point, bool locked) noexcept;
};

/// The caller's wait point on a list. Make it, lock the object, and if there is need to wait:
/// wait(); that releases the lock.
class waiting {
 public:
  explicit waiting(section& here, wait_list& list, void* slot = nullptr) noexcept;
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;

  /// Joins the list's tail, releases its lock, and returns why the wait has ended.
  wake_cause wait(const wait_options& options) noexcept;

 private:
  section& here_;
  wait_list& list_;
  wait_point point_;
};

/// Lets a goroutine whose time slice is over yield, after an operation that did not block.
inline void after_operation() noexcept {
  section here;
  preemption_point(here);
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

THRUM_OUT_OF_LINE void wait_list::take_all(wake_cause cause, wake_list& released) noexcept {
  take_all_if(
      [cause](wait_point& point) noexcept {
        settle(point, cause);
        return true;
      },
      released);
}

THRUM_OUT_OF_LINE bool wait_list::unlink(wait_point& point) noexcept {
  const bool linked = point.linked;
  if (linked) {
    points.remove(point);
  }
  return linked;
}

THRUM_OUT_OF_LINE withdrawal wait_list::withdraw(wait_point& point, bool locked) noexcept {
  auto& list = *static_cast<wait_list*>(point.object);
  return unlink_under(list.lock, locked, [&]() noexcept { return list.unlink(point); });
}

THRUM_OUT_OF_LINE waiting::waiting(section& here, wait_list& list, void* slot) noexcept
    : here_(here), list_(list) {
  point_.g = here.g();
  point_.object = &list;
  point_.withdraw = &wait_list::withdraw;
  point_.slot = slot;
}

THRUM_OUT_OF_LINE wake_cause waiting::wait(const wait_options& options) noexcept {
  list_.points.push_back(point_);
  return sched::wait(here_, point_, list_.lock, options);
}

}}}  // namespace thrum::THRUM_ABI::sync_detail
#endif

#endif
