// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/shared_mutex.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_SHARED_MUTEX_DEFINITION_HPP
#define THRUM_SYNC_SHARED_MUTEX_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sync/shared_mutex.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE bool shared_mutex::take_or_announce(std::uint64_t unless,
                                                      std::uint64_t taken) noexcept {
  using namespace base::orders;
  std::uint64_t word = word_.load(relaxed);  // relaxed: each exchange decides
  for (;;) {
    if (nobody_waits() && (word & unless) == 0) {
      // [sx.word <] acquire: the sections before; relaxed: looks at it again
      if (word_.compare_exchange_weak(word, word + taken, acquire, relaxed)) {
        return true;
      }
      // relaxed: only announces us; each unlock afterwards comes to lock_
    } else if (word_.compare_exchange_weak(word, word | queued, relaxed, relaxed)) {
      return false;
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE bool shared_mutex::wait_to_write(std::int64_t deadline) {
  return wait(writers_, {sched::wait_reason::shared_mutex_lock, false, deadline}, ~queued, written);
}

THRUM_COLD THRUM_OUT_OF_LINE bool shared_mutex::wait_to_read(std::int64_t deadline) {
  return wait(readers_, {sched::wait_reason::shared_mutex_lock_shared, false, deadline}, written,
              reader);
}

THRUM_OUT_OF_LINE bool shared_mutex::wait(sync_detail::wait_list& list,
                                          const sched::wait_options& options, std::uint64_t unless,
                                          std::uint64_t taken) {
  sched::section here;
  sched::wait_point point(here.g(), this, &withdraw);
  point.slot = &list;
  lock_.lock();
  if (take_or_announce(unless, taken)) {
    lock_.unlock();
    return true;
  }
  list.points.push_back(point);
  return sched::wait(here, point, lock_, options) == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE void shared_mutex::settle_locked(bool readers_first,
                                                   sched::wake_list& released) noexcept {
  using namespace base::orders;
  std::uint64_t word = word_.load(relaxed);  // relaxed: each exchange decides
  std::uint64_t n = 0;                       // readers that wait, once they are counted
  for (;;) {
    if (nobody_waits()) {
      // relaxed: nobody is left to be told
      if (word_.compare_exchange_weak(word, word & ~queued, relaxed, relaxed)) {
        return;
      }
      continue;
    }
    if ((word & written) != 0) {
      return;
    }
    if (!readers_.empty() && (readers_first || writers_.empty())) {
      for (auto* p = n == 0 ? readers_.points.front() : nullptr; p != nullptr;
           p = readers_.points.next(*p)) {
        ++n;  // they are all let in: a step for each
      }
      const std::uint64_t next =
          (word & (writers_.empty() ? ~queued : ~std::uint64_t{0})) + n * reader;
      // [sx.word <>] acq_rel: the writer's section, to the readers; relaxed: looks at it again
      if (word_.compare_exchange_weak(word, next, acq_rel, relaxed)) {
        readers_.take_all(sched::wake_cause::notified, released);
        return;
      }
      continue;
    }
    if (word >= reader) {
      return;  // the last of them comes here
    }
    sched::wait_point* const first = writers_.points.front();
    const bool last = readers_.empty() && writers_.points.next(*first) == nullptr;
    // [sx.word <>] acq_rel: the sections before, to the writer; relaxed: looks at it again
    if (word_.compare_exchange_weak(word, last ? written : written | queued, acq_rel, relaxed)) {
      released.push_back(writers_.pop(sched::wake_cause::notified));
      return;
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void shared_mutex::unlock_slow(std::uint64_t word) {
  using namespace base::orders;
  while ((word & written) != 0) {
    if (leave(written, true)) {
      return;
    }
    word = written;
    // [sx.word >] release: as in unlock; relaxed: looks at it again
    if (word_.compare_exchange_strong(word, 0, release, relaxed)) {
      return;
    }
  }
  base::throw_usage("shared_mutex::unlock: no writer holds the mutex");
}

THRUM_COLD THRUM_OUT_OF_LINE bool shared_mutex::leave(std::uint64_t share,
                                                      bool readers_first) noexcept {
  const sched::section here;
  lock_.lock();
  if (nobody_waits()) {
    lock_.unlock();
    return false;
  }
  // [sx.word >] release: our section, to those that are let in.
  [[maybe_unused]] const std::uint64_t word = word_.fetch_sub(share, std::memory_order_release);
  THRUM_ASSERT(SX1, (word & queued) != 0);
  sched::wake_list released;
  settle_locked(readers_first, released);
  lock_.unlock();
  released.wake_all();
  return true;
}

THRUM_OUT_OF_LINE sched::withdrawal shared_mutex::withdraw(sched::wait_point& point,
                                                           bool locked) noexcept {
  auto& self = *static_cast<shared_mutex*>(point.object);
  sched::wake_list released;
  const auto outcome = sched::unlink_under(self.lock_, locked, [&]() noexcept {
    const bool linked = static_cast<sync_detail::wait_list*>(point.slot)->unlink(point);
    if (linked) {
      self.settle_locked(false, released);
    }
    return linked;
  });
  released.wake_all();
  return outcome;
}

}}  // namespace thrum::THRUM_ABI

#endif
