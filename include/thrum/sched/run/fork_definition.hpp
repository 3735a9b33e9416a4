// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sched/run/fork.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SCHED_RUN_FORK_DEFINITION_HPP
#define THRUM_SCHED_RUN_FORK_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/sched/core/current.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/fork.hpp>
#include <thrum/sched/run/park.hpp>
#include <thrum/sched/run/wait_point.hpp>

#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE forker::forker(const section& /*open*/) noexcept
    : deque(current_m()->p->forks, current_m()->g->size_class),
      g(*current_m()->g),
      scheduler(*g.scheduler) {
  deque.home().add(deque);
  g.forks = this;
  if constexpr (!THRUM_EXCEPTIONS) {
    ++g.uncancellable;
  }
}

THRUM_OUT_OF_LINE forker::~forker() {
  const section here;
  deque.home().remove(deque);
  g.forks = nullptr;
  if constexpr (!THRUM_EXCEPTIONS) {
    --g.uncancellable;
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void call_for_help(forker& own) noexcept {
  // A goroutine that forks on and on may ask again after some microseconds.
  constexpr std::uint32_t patience = 1024;
  const machine& m = *current_m();
  // relaxed: a P that is taken after this is left by an M that sees the half
  if (m.p == nullptr || m.retake.load(relaxed) == retake_state::taken) [[unlikely]] {
    // Our wait leaves no P that would look at the half.
    traits::fence(seq_cst);  // [mon.sleep =] the half before the look whether the monitor sleeps
    own.scheduler.monitor.wake_if_all_idle();
  }
  if (own.scheduler.idle.spinning() != 0) {
    return;
  }
  if (!own.deque.home().spend_credit() && ++own.unheard % patience != 0) {
    return;
  }
  const section here;
  own.scheduler.wake_processor();
}

THRUM_COLD THRUM_OUT_OF_LINE void list_again(forker& own) noexcept {
  const section here;
  own.deque.home().list_again(own.deque);
}

THRUM_OUT_OF_LINE void begin_stolen(forked& half, forker* thief) noexcept {
  ::new (static_cast<void*>(&half.stolen)) stolen_half;
  if (thief != nullptr) {
    show_thief(half, *thief);
  }
}

THRUM_OUT_OF_LINE void show_thief(forked& half, forker& thief) noexcept {
  half.stolen.thief = &thief;
  // [fk.thief >] release: `thief`; sees: steal_back
  half.stolen.list.store(&thief.deque.home(), release);
}

/// Says that a stolen half is done.
inline void finish(forked& half) noexcept {
  const section here;
  stolen_half& stolen = half.stolen;
  stolen.lock.lock();
  stolen.done.store(true, relaxed);  // relaxed: under the lock, or ordered by the list's
  wait_point* const joiner = stolen.joiner;
  if (joiner != nullptr) {
    settle(*joiner, wake_cause::notified);
  }
  stolen.lock.unlock();
  if (joiner != nullptr) {
    wake(here.m(), *joiner);
  }
}

THRUM_OUT_OF_LINE void run_stolen(forker& thief, forked& half) noexcept {
  const std::uint32_t kept = half.cancellable ? 0 : 1;
  thief.g.uncancellable += kept;
  half.run(half);
  thief.g.uncancellable -= kept;
  finish(half);
}

/// Something that the thief of `half` has forked. Null: there is nothing, or it is done; or we are
/// inside blocking(), where what waits is not cancelled.
inline forked* steal_back(forker& own, forked& half) noexcept {
  const section here;
  if (here.m() == nullptr) {
    return nullptr;
  }
  // [fk.thief <] acquire: the thief's deque; pairs with show_thief
  forks_of_p* const list = half.stolen.list.load(acquire);
  if (list == nullptr) {
    return nullptr;
  }
  const scoped guard(list->lock());
  // relaxed: the list's lock orders it, as the thief leaves; and when the entry was claimed, its push.
  const auto is_part = [&]() noexcept { return !half.stolen.done.load(relaxed); };
  if (!is_part()) {
    return nullptr;
  }
  // The thief may be done meanwhile, and have begun another half and forked: that is no part of ours.
  forked* const part = half.stolen.thief->deque.steal_locked(is_part);
  if (part != nullptr) {
    begin_stolen(*part, &own);
  }
  return part;
}

inline void wait_until_done(forked& half) noexcept {
  section here;
  wait_point point;
  point.g = here.g();
  half.stolen.lock.lock();
  if (half.stolen.done.load(relaxed)) {  // relaxed: under the lock
    half.stolen.lock.unlock();
    return;
  }
  half.stolen.joiner = &point;
  wait(here, point, half.stolen.lock, {wait_reason::fork_join, false});
}

THRUM_COLD THRUM_OUT_OF_LINE bool take_back_or_join(forker& own, forked& half) noexcept {
  {
    const section here;
    if (own.deque.pop_slow()) {
      return true;
    }
  }
  // One that has been told to end would cut short what is not its own. And what ends a part ends this
  // goroutine only if that is what becomes of the half.
  while (!own.g.exiting) {
    forked* const part = steal_back(own, half);
    if (part == nullptr) {
      break;
    }
    run_stolen(own, *part);
    own.g.exiting = false;
  }
  wait_until_done(half);
  return false;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
