// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where coroutines and the functions of waiters run: on goroutines that call them; and the life of a coroutine
// that co_spawn starts.
//
// State
//   owner       what waits, one wait after another: a task, or a waiter (<thrum/waiter.hpp>)
//   task        a coroutine that co_spawn has started, with all that it awaits: one of them runs or waits
//   executor    the queue of waits that have ended, of one runtime
//   carrier     a goroutine that takes waits from the queue and continues their owners, until the queue is empty
//   guardian    a goroutine that waits as long as the executor has owners
//
// Such a wait is a callback_point (wait_point.hpp): waking it pushes it to the executor's queue.
// So no object that can be waited on knows of owners, and no other waiter pays for them.
//
// Invariants
//   CO1  while the queue is not empty, a carrier is coming: it is runnable, and has not looked at the queue.
//        So a coroutine that computes or blocks delays no other one: the carrier that is coming is an
//        ordinary goroutine, which an idle processor steals and the monitor makes room for.
//   CO2  a carrier ends when it finds the queue empty. A pair of coroutines that wake each other keeps its
//        carrier: each is pushed before the other waits.
//   CO3  an executor is never freed, only used for another runtime: a thread that has pushed may still drop
//        the lock.
//   CO4  the guardian ends after the last owner and the last carrier. So a runtime does not end before
//        its owners, and their waits find an executor.
//   CO5  an owner that the guardian cancels stays listed until that is done: remove() waits for it. So an owner
//        may be destroyed after remove().
//
// How a runtime stops: the guardian's wait is cancelled as that of each goroutine; the guardian then cancels
// the wait of each owner by a stop_relay (stop_relay.hpp), which throws goroutine_exit into a coroutine.
//
// Why a coroutine that awaits another is not resumed directly (symmetric transfer): without optimisation gcc
// makes a call of it, and a loop of awaits that do not wait overflows the stack. The carrier resumes what the
// coroutine leaves in `carrier::next`.
#ifndef THRUM_DETAIL_COROUTINE_EXECUTOR_HPP
#define THRUM_DETAIL_COROUTINE_EXECUTOR_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_list.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/stop_relay.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sched/thread/thread_creator.hpp>
#include <thrum/detail/sync/mutex_waiter.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/runtime.hpp>

#include <atomic>
#include <coroutine>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

using namespace base::orders;
using namespace sched;

class executor;
class task;
class wait_owner;
struct wait_end;

/// Where a coroutine that runs leaves what its carrier does next. Lies in the carrier's frame.
struct carrier {
  std::coroutine_handle<> next{};  // to be resumed
  task* ended = nullptr;
};

/// A wait. Lies in the frame of its coroutine, or in its waiter.
struct wait_record : sync_detail::queue_word::waiter {
  wait_record() noexcept : waiter(&push) {}
  wait_record(const wait_record&) = delete;
  wait_record& operator=(const wait_record&) = delete;

  /// What the point is linked on, for `withdraw`.
  void* place = nullptr;
  std::coroutine_handle<> waits{};  // null: a waiter does
  wait_owner* owner = nullptr;
  /// Called by the carrier after a wait that did not end by what was waited for; true: it waits again. Null:
  /// never.
  bool (*again)(wait_record&) noexcept = nullptr;
  bool is_hint =
      false;  // `again` is called also after what was waited for: another may have it already
  wake_cause last_cause = wake_cause::none;  // of the wait before, for `again`
  wait_end* until = nullptr;                 // null: it has no end of its own
  wait_point* shown = nullptr;               // to the owner's relay
  wait_record* next_ready = nullptr;

 private:
  static void push(callback_point& self) noexcept;
};

/// The record that a point is.
inline wait_record& record_of(wait_point& point) noexcept {
  return static_cast<wait_record&>(point);
}

/// The gate that a thread shuts which ends the wait of a point.
inline basic_gate<traits>& gate_of(wait_point& point) noexcept {
  return point.selection != nullptr ? point.selection->self.gate : point.gate;
}

/// What waits, one wait after another.
class wait_owner : public base::list_node<wait_owner> {
 public:
  using continue_function = void (*)(wait_owner& self, wait_record& ended) noexcept;

  wait_owner(const wait_owner&) = delete;
  wait_owner& operator=(const wait_owner&) = delete;

  /// Ends the wait, and all later ones. Any thread; only the first call does anything.
  void cancel() noexcept;

  const continue_function go_on;  // called by the carrier after a wait
  executor* runs_on = nullptr;
  bool is_cancelled = false;  // by the guardian, or soon; under the executor's lock
  basic_stop_relay<traits, wait_point> cancellation;

 protected:
  explicit wait_owner(continue_function then) noexcept : go_on(then) {}
  ~wait_owner() = default;

 private:
  std::atomic<bool> is_asked_{false};
};

/// A coroutine that co_spawn has started.
class task : public wait_owner {
 public:
  /// Called by the carrier when the coroutine has ended.
  void finish() noexcept;

  void drop_reference() noexcept {
    // [co.refs <>] acq_rel, with itself: every use by others happened before the last one destroys it.
    if (references_.fetch_sub(1, acq_rel) == 1) {
      destroy_(*this);
    }
  }

  bool is_done() const noexcept { return done_.load(acquire); }  // [co.done <] the result

  /// Lets `point` wait for the end. False: it has ended. The lock is held if the result is true.
  bool lock_to_wait(wait_point& point) noexcept {
    join_lock_.lock();
    if (done_.get()) {
      join_lock_.unlock();
      return false;
    }
    joiner_ = &point;
    return true;
  }
  spin_lock& join_lock() noexcept { return join_lock_; }

  /// Takes out a point that waits for the end.
  withdrawal withdraw_joiner(wait_point& point, bool locked) noexcept {
    return unlink_under(join_lock_, locked, [&]() noexcept {
      const bool waits = joiner_ == &point;
      if (waits) {
        joiner_ = nullptr;
      }
      return waits;
    });
  }

  carrier* on = nullptr;  // owner: the carrier that runs it
  bool exited = false;    // it was cancelled: no value, no error
  wait_record start;

 protected:
  explicit task(void (*destroy)(task&) noexcept) noexcept
      : wait_owner(&resume), destroy_(destroy) {}
  ~task() = default;

 private:
  static void resume(wait_owner& self, wait_record& ended) noexcept;

  void (*const destroy_)(task&) noexcept;
  std::atomic<std::uint32_t> references_{2};  // of the handle, and of the coroutine until it ends
  spin_lock join_lock_{lock_rank::ending};
  base::under_lock<bool> done_{false};
  wait_point* joiner_ = nullptr;  // under join_lock_
};

class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Lists an owner, whose runtime ends its waits from here on; throws what runtime::go throws. The owner is
  /// pushed next, or waits.
  static void add(runtime& on, wait_owner& what);

  /// A wait has ended.
  void push(wait_record& ready) noexcept;

  /// An owner has ended, or waits no more.
  void remove(wait_owner& what) noexcept;

 private:
  struct executors {
    spin_lock lock{lock_rank::registry};
    executor* first = nullptr;
  };
  static executors& all() noexcept {
    static constinit executors of_process;
    return of_process;
  }
  /// The executor that the last search found: nearly every program has one runtime.
  static std::atomic<executor*>& last_found() noexcept {
    static constinit std::atomic<executor*> of_process{nullptr};
    return of_process;
  }

  struct late : late_start {
    executor* of = nullptr;
  };

  /// That of a runtime, or one that is free; null: there is none. Caller holds all().lock.
  static executor* find_locked(const runtime_scheduler& scheduler) noexcept;

  struct added {
    bool guarded_here;  // the caller starts the guardian
    bool stops;         // the caller cancels the owner
  };
  added add_locked(wait_owner& what, runtime_scheduler& on) noexcept;
  static added list(wait_owner& what, runtime_scheduler& on);
  void take_back(wait_owner& what) noexcept;

  void launch_carrier(runtime_scheduler& on) noexcept;
  static void start_carrier(executor* self) noexcept;
  static void carry(executor* self) noexcept;
  wait_record* take(bool is_first, bool ends) noexcept;

  static void guard(executor* self) noexcept;
  wake_cause wait_for_owners(bool cancellable) noexcept;
  void cancel_owners() noexcept;

  bool is_idle_locked() const noexcept { return owners_.empty() && carriers_ == 0; }

  // Taken with the lock of a condition variable held, whose waiter unlocks a mutex that a coroutine awaits.
  spin_lock lock_{lock_rank::sleeper};
  // All of these are under lock_.
  runtime_scheduler* scheduler_ = nullptr;
  wait_record* first_ = nullptr;
  wait_record* last_ = nullptr;
  bool is_coming_ = false;  // CO1
  bool is_guarded_ = false;
  bool stops_ = false;
  std::uint32_t carriers_ = 0;  // that have not ended
  base::intrusive_list<wait_owner> owners_;
  wait_owner* cancels_ = nullptr;  // CO5
  sync_detail::wait_list guardian_{lock_};
  late late_;
  executor* next_ = nullptr;  // of all()
};

inline void wait_record::push(callback_point& self) noexcept {
  auto& ready = static_cast<wait_record&>(self);
  ready.owner->runs_on->push(ready);
}

inline void task::finish() noexcept {
  runs_on->remove(*this);
  {
    const section here;
    join_lock_.lock();
    // [co.done >] release: the result, to a look without the lock
    done_.store(true, release);
    wait_point* const first = joiner_;
    joiner_ = nullptr;
    if (first != nullptr) {
      settle(*first, wake_cause::notified);
    }
    join_lock_.unlock();
    if (first != nullptr) {
      wake(here.m(), *first);
    }
  }
  drop_reference();
}

THRUM_COLD inline void wait_owner::cancel() noexcept {
  const section here;
  if (is_asked_.exchange(true, relaxed)) {  // relaxed: the relay orders what belongs to the request
    return;
  }
  wait_point* const point = cancellation.request([](wait_point& found) noexcept {
    auto& gate = gate_of(found);
    gate.announce();
    traits::heavy_fence();  // [s.gate =] the gate is open before the cause is read
    if (is_settled(found)) {
      return false;
    }
    const bool ours =
        gate.visit([&]() noexcept { return found.withdraw(found, false); }) == withdrawal::done;
    if (ours) {
      found.cause.set(wake_cause::cancelled);
    }
    return ours;
  });
  if (point != nullptr) {
    wake(*point);
  }
}

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
