// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How coroutines wait for a mutex, a semaphore and a wait_group.
#ifndef THRUM_DETAIL_COROUTINE_SYNC_WAITS_HPP
#define THRUM_DETAIL_COROUTINE_SYNC_WAITS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/coroutine/promise.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/detail/coroutine/waits.hpp>  // IWYU pragma: keep: awaiters, in templates
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/semaphore.hpp>
#include <thrum/sync/wait_group.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

/// What mutexes, semaphores and wait_groups show to these waits alone.
struct object_access {
  static queue_word& queue_of(mutex& of) noexcept { return of.queue_; }

  /// As counting_semaphore::acquire, with a record.
  template <std::ptrdiff_t LeastMax>
  static bool acquire(section& here, wait_record& self,
                      counting_semaphore<LeastMax>& from) noexcept {
    // [sem.count <] acquire: what was done before the release.
    if (from.count_.fetch_sub(1, std::memory_order_acquire) > 0) {
      preemption_point(here);
      return not_waiting(self, wake_cause::notified);
    }
    from.lock_.lock();
    if (from.owed_ > 0) {
      --from.owed_;
      from.lock_.unlock();
      return not_waiting(self, wake_cause::notified);
    }
    self.place = &from;
    self.withdraw = [](wait_point& point, bool locked) noexcept {
      auto& on = *static_cast<counting_semaphore<LeastMax>*>(record_of(point).place);
      return unlink_under(on.lock_, locked, [&]() noexcept { return on.give_up_locked(point); });
    };
    from.waiters_.push_back(self);
    return park_record(here, self, from.lock_);
  }

  /// As wait_group::wait, with a record.
  static bool wait(section& here, wait_record& self, wait_group& on, bool may_wait) noexcept {
    on.lock_.lock();
    std::uint64_t word =
        on.word_.load(std::memory_order_acquire);  // [wg.word <] what was done before
    do {
      if ((word >> 32) == 0 || !may_wait) {
        on.lock_.unlock();
        preemption_point(here);
        return not_waiting(self, (word >> 32) == 0 ? wake_cause::notified : wake_cause::timed_out);
      }
      // [wg.word <>] acq_rel: from here on done() looks for us; acquire: what was done before the zero.
    } while (!on.word_.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
    self.place = &on;
    self.withdraw = [](wait_point& point, bool locked) noexcept {
      auto& group = *static_cast<wait_group*>(record_of(point).place);
      return unlink_under(group.lock_, locked,
                          [&]() noexcept { return group.give_up_locked(point); });
    };
    on.waiters_.points.push_back(self);
    return park_record(here, self, on.lock_);
  }
};

template <std::ptrdiff_t LeastMax, class End>
class acquire_wait : public awaiting<acquire_wait<LeastMax, End>, End> {
 public:
  explicit acquire_wait(counting_semaphore<LeastMax>& from, End end = {})
      : awaiting<acquire_wait, End>(std::move(end)), from_(from) {
    this->again = &acquire_wait::start_again;
  }

  bool start(bool may_wait) noexcept {
    section here;
    if (!may_wait) {
      return not_waiting(*this, from_.try_acquire() ? wake_cause::notified : wake_cause::timed_out);
    }
    return object_access::acquire(here, *this, from_);
  }

  auto await_resume() {
    this->exit_if_cancelled();
    if constexpr (!End::is_endless) {
      return this->cause.get() == wake_cause::notified;
    }
  }

 private:
  counting_semaphore<LeastMax>& from_;
};

template <class End>
class group_wait : public awaiting<group_wait<End>, End> {
 public:
  explicit group_wait(wait_group& on, End end = {})
      : awaiting<group_wait, End>(std::move(end)), on_(on) {
    this->again = &group_wait::start_again;
  }

  bool start(bool may_wait) noexcept {
    section here;
    return object_access::wait(here, *this, on_, may_wait);
  }

  auto await_resume() {
    this->exit_if_cancelled();
    if constexpr (!End::is_endless) {
      return this->cause.get() == wake_cause::notified;
    }
  }

 private:
  wait_group& on_;
};

/// mutex::lock_slow, with a record. It does not spin.
template <class End>
class lock_wait : public awaiting<lock_wait<End>, End> {
 public:
  explicit lock_wait(mutex& of, End end = {})
      : awaiting<lock_wait, End>(std::move(end)), mutex_(of) {
    this->again = &lock_wait::start_again;
    this->is_hint = true;
  }

  bool start(bool may_wait) noexcept {
    constexpr std::int64_t starvation_ns = 1'000'000;  // as in lock_slow
    section here;
    queue_word& queue = object_access::queue_of(mutex_);
    auto& word = queue.word;
    bool awake = false;  // we own the `woken` bit
    bool starved = false;
    // Unless its own end has taken it out of the queue, an owner has woken it.
    if (std::exchange(is_queued_, false) && this->last_cause != wake_cause::timed_out) {
      const bool long_wait = traits::now() - since_ > starvation_ns;
      if (this->granted) {
        if (!long_wait) {
          word.fetch_and(~queue_word::starving, relaxed);  // relaxed: the mutex is ours already
        }
        std::atomic_thread_fence(acquire);  // [mu.word <] the last owner's section, handed over
        return not_waiting(*this, wake_cause::notified);
      }
      awake = true;
      starved = long_wait;
    }
    std::uint32_t collisions = 0;
    std::uintptr_t w = word.load(relaxed);
    for (;;) {
      if ((w & queue_word::locked) == 0) {
        const std::uintptr_t mine = awake ? queue_word::woken : 0;
        // [mu.word <] acquire: the last owner's section
        if (word.compare_exchange_weak(w, (w | queue_word::locked) & ~mine, acquire, relaxed)) {
          return not_waiting(*this, wake_cause::notified);
        }
        continue;
      }
      if (!may_wait && !awake) {
        return not_waiting(*this, wake_cause::timed_out);
      }
      if ((w & queue_word::queue) != 0) {
        queue_word::back_off(collisions++);
        w = word.load(relaxed);
        continue;
      }
      std::uintptr_t wanted = w | queue_word::queue | (starved ? queue_word::starving : 0);
      wanted &= ~(awake ? queue_word::woken : 0);
      // [mu.word <] acquire: the links
      if (word.compare_exchange_weak(w, wanted, acquire, relaxed)) {
        break;
      }
    }
    this->granted = false;
    this->place = &queue;
    this->withdraw = &take_out;
    // One that has waited before goes to the front: being woken must not cost it its place.
    queue.link(*this, since_ != 0);
    if (since_ == 0) {
      since_ = traits::now();
    }
    is_queued_ = true;
    return park_record(here, *this, queue);
  }

  std::unique_lock<mutex> await_resume() {
    this->exit_if_cancelled();
    if (this->cause.get() == wake_cause::notified) {
      return std::unique_lock<mutex>(mutex_, std::adopt_lock);
    }
    return std::unique_lock<mutex>(mutex_, std::defer_lock);
  }

 private:
  static withdrawal take_out(wait_point& point, bool locked) noexcept {
    auto& self = static_cast<lock_wait&>(record_of(point));
    auto& queue = *static_cast<queue_word*>(self.place);
    return unlink_under(queue, locked, [&]() noexcept { return queue.unlink(self); });
  }

  mutex& mutex_;
  std::int64_t since_ = 0;  // when this call first queued up
  bool is_queued_ = false;
};

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
