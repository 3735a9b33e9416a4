// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/wait_group.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_WAIT_GROUP_DEFINITION_HPP
#define THRUM_SYNC_WAIT_GROUP_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/message.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/life/process_exit.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sync/destroyed_waiters.hpp>
#include <thrum/sync/wait_group.hpp>
#include <thrum/sync/wait_list.hpp>

#include <atomic>
#include <cstdint>
#include <exception>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::end_waits(const char* what) noexcept {
  sync_detail::end_waits(what, lock_, waiters_.points);
}

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::destroyed_too_early() noexcept {
  end_waits("wait_group: it");
  // relaxed: no other may use it now
  const auto counter = static_cast<std::int32_t>(word_.load(std::memory_order_relaxed) >> 32);
  auto* const m = sched::current_m();
  // Elsewhere, and after goroutines were ended by a stop, a count that is left may be all that is left.
  if (counter > 0 && m != nullptr && m->g != nullptr && !m->g->exiting &&
      !m->scheduler->ending.has_begun() && std::uncaught_exceptions() == 0 &&
      !sched::process_exit::is_mine()) {
    base::message<128> text("wait_group: it is destroyed while its count is ");
    text.append(counter).append("; call wait() before, or share it with those that call done()");
    base::fatal(text.view());
  }
  word_.store(destroyed, std::memory_order_relaxed);  // relaxed: for those that come too late
}

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::add_slow(std::int32_t counter, std::uint64_t delta) {
  if (counter == 0) {
    wake_if_zero(0);
  } else {
    take_back(counter, delta);
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void wait_group::take_back(std::int32_t counter, std::uint64_t delta) {
  const bool is_raised = static_cast<std::int64_t>(delta) > 0;
  if (counter > 0 && !is_raised) {
    return;  // no error: another add has gone beyond the greatest count and is about to take that back (WG1)
  }
  // relaxed: those that have seen it destroyed come too late for any order
  if (counter < 0 && static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed)) ==
                         static_cast<std::uint32_t>(destroyed)) {
    base::fatal(
        "wait_group::done: the wait_group was destroyed before; call wait() before it goes, or "
        "share it with those that call done()");
  }
  wake_if_zero(delta);
  base::throw_usage(counter < 0 && is_raised
                        ? "wait_group::add: the count would exceed 2147483647; is a done() missing?"
                    : counter < 0
                        ? "wait_group::add: negative counter; more done() than add()"
                        : "wait_group::add: raised from zero while somebody waits; add before "
                          "wait");
}

THRUM_OUT_OF_LINE void wait_group::wake_if_zero(std::uint64_t too_much) noexcept {
  using namespace base::orders;
  const sched::section here;
  sched::wait_point* only = nullptr;
  sched::wake_list all;
  lock_.lock();
  std::uint64_t word = word_.load(relaxed);  // relaxed: the caller has seen the zero
  if (too_much != 0) {
    word = word_.fetch_sub(too_much, acq_rel) - too_much;  // [wg.word <>] acq_rel: as in add
  }
  if ((word >> 32) == 0) {
    const auto waiters = static_cast<std::uint32_t>(word);
    if (waiters == 1) [[likely]] {
      only = waiters_.pop(sched::wake_cause::notified);
    } else {
      waiters_.take_all(sched::wake_cause::notified, all);
    }
    // relaxed: under the lock; what is in the upper half may have been added meanwhile (WG2)
    word_.fetch_sub(waiters, relaxed);
  }
  lock_.unlock();
  if (only != nullptr) [[likely]] {
    sched::wake(here.m(), *only);
  } else {
    all.wake_all();
  }
}

THRUM_OUT_OF_LINE sched::withdrawal wait_group::withdraw(sched::wait_point& point,
                                                         bool locked) noexcept {
  auto& group = *static_cast<wait_group*>(point.object);
  return sched::unlink_under(group.lock_, locked,
                             [&]() noexcept { return group.give_up_locked(point); });
}

THRUM_OUT_OF_LINE bool wait_group::give_up_locked(sched::wait_point& point) noexcept {
  using namespace base::orders;
  bool ours = point.linked;
  if (ours) {
    std::uint64_t word = word_.load(relaxed);  // relaxed: the exchange decides
    // [wg.word <>] acq_rel: a done() that finds no waiter leaves the list alone. If it has found
    // us, it waits for the lock to wake us. relaxed: looks at it again
    do {
      ours = static_cast<std::uint32_t>(word) != 0 && (word >> 32) != 0;
    } while (ours && !word_.compare_exchange_weak(word, word - 1, acq_rel, relaxed));
    if (ours) {
      waiters_.points.remove(point);
    }
  }
  return ours;
}

THRUM_OUT_OF_LINE bool wait_group::wait_until_ns(std::int64_t deadline) {
  using namespace base::orders;
  // [wg.word <] acquire: what was done before the zero.
  if ((word_.load(acquire) >> 32) == 0) {
    sync_detail::after_operation();
    return true;
  }
  const sched::wake_cause cause = wait_until_zero(deadline);
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE sched::wake_cause wait_group::wait_until_zero(std::int64_t deadline) noexcept {
  using namespace base::orders;
  sched::section here;
  sched::wait_point point;
  point.g = here.g();
  point.object = this;
  point.withdraw = &withdraw;
  lock_.lock();
  std::uint64_t word = word_.load(acquire);  // [wg.word <] what was done before
  do {
    if ((word >> 32) == 0) {
      lock_.unlock();
      return sched::wake_cause::notified;
    }
    // [wg.word <>] acq_rel: from here on done() looks for us; acquire: what was done
    // before the zero.
  } while (!word_.compare_exchange_weak(word, word + 1, acq_rel, acquire));
  waiters_.points.push_back(point);
  return sched::wait(here, point, lock_, {sched::wait_reason::wait_group_wait, true, deadline});
}

}}  // namespace thrum::THRUM_ABI

#endif
