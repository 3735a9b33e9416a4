// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Waiters that are released together, by a close or a notify_all, on their way to be woken.
//
// They may be a million, each in a stack and a page of its own: a walk through them waits for memory
// at every step. So they are walked once, under the lock of the object that they waited on: that
// walk releases each (settle) and links its goroutine into a queue, which goes as a whole to where
// goroutines run from. wait_list::take_all_if walks from both ends at once, so that two loads are
// under way.
//
// OS threads, which wait for a note, and callback points are kept in a chain of wait points and woken one by
// one. All goroutines are woken one by one, too, if they belong to several runtimes.
//
// Invariant
//   WL1  a point in a list is settled, and in no list of an object: no other thread looks at it. So the
//        links of the point, and the queue link of its goroutine, are free to use until it is woken.
//
// Tried and rejected: waking each in turn, which touches every wait point and every goroutine a
// second time, when the first have left the cache (a close took 660 ns a receiver with a million).
#ifndef THRUM_DETAIL_SCHED_RUN_WAKE_LIST_HPP
#define THRUM_DETAIL_SCHED_RUN_WAKE_LIST_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class wake_list {
 public:
  wake_list() noexcept = default;
  wake_list(const wake_list&) = delete;
  wake_list& operator=(const wake_list&) = delete;
  ~wake_list() { THRUM_ASSERT(WL1, empty()); }

  bool empty() const noexcept { return goroutines_.empty() && threads_ == nullptr; }

  /// Adds a settled point, under the lock of its object. Null: adds none.
  void push_back(wait_point* point) noexcept {
    if (point == nullptr) {
      return;
    }
    if (goroutine* const g = point->g) [[likely]] {
      goroutines_.push_back(&prepared(*g));
    } else {
      point->next = nullptr;
      (last_thread_ != nullptr ? last_thread_->next : threads_) = point;
      last_thread_ = point;
    }
  }

  void push_front(wait_point& point) noexcept {
    if (point.g != nullptr) [[likely]] {
      goroutines_.push_front(&prepared(*point.g));
    } else {
      point.next = threads_;
      threads_ = &point;
      if (last_thread_ == nullptr) {
        last_thread_ = &point;
      }
    }
  }

  /// All of another list, behind those that are here.
  void append(wake_list&& behind) noexcept {
    if (!behind.goroutines_.empty()) {
      is_mixed_ = is_mixed_ || behind.is_mixed_ ||
                  (!goroutines_.empty() && scheduler_ != behind.scheduler_);
      scheduler_ = behind.scheduler_;
      goroutines_.append(std::move(behind.goroutines_));
    }
    if (behind.threads_ != nullptr) {
      (last_thread_ != nullptr ? last_thread_->next : threads_) = behind.threads_;
      last_thread_ = behind.last_thread_;
      behind.threads_ = behind.last_thread_ = nullptr;
    }
  }

  /// The first of the goroutines, for a caller that puts them elsewhere.
  goroutine* pop_goroutine() noexcept { return goroutines_.pop_front(); }

  /// Without any lock, and last: they and what they waited on may be gone when this returns.
  void wake_all() noexcept {
    if (goroutines_.size() > 1 && !is_mixed_) {
      ready_all(*scheduler_, std::move(goroutines_));
    } else {
      while (goroutine* const g = goroutines_.pop_front()) {
        ready(*g);
      }
    }
    while (threads_ != nullptr) {
      wait_point* const point = threads_;
      threads_ = point->next;
      wake_other(*point);
    }
  }

 private:
  /// Its status is on the line that the queue writes anyway.
  goroutine& prepared(goroutine& g) noexcept {
    g.status.set(g_status::runnable);
    is_mixed_ = is_mixed_ || (g.flags & g_outside_ring) != 0 ||
                (!goroutines_.empty() && g.scheduler != scheduler_);
    scheduler_ = g.scheduler;
    return g;
  }

  base::intrusive_queue<goroutine> goroutines_;
  runtime_scheduler* scheduler_ = nullptr;  // of the goroutine that came last
  bool is_mixed_ = false;                   // they belong to several, or one goes to no P's queue
  wait_point* threads_ = nullptr;
  wait_point* last_thread_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
