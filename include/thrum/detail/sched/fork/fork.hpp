// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Forks: work in two halves. The forking goroutine runs one at once; any P that has nothing better to
// do may run the other.
//
// Purpose
//   Ten nanoseconds for a fork that no thief takes: no goroutine, no allocation, no lock. Only a theft
//   pays for a goroutine, with its stack and its switches.
//
// Terms
//   half     the second half of a fork (`forked`): an object on the stack of the goroutine that
//            forked, with the function that runs it.
//   forker   a goroutine inside its outermost fork: its deque (fork/fork_deque.hpp), registered
//            with the P on which it began, so that others find it. It lies on the goroutine's stack
//            and goes with it wherever it is resumed.
//   thief    the taker of a half: a P that has nothing to run, which makes a goroutine for it
//            (fork_thief.hpp); that goroutine, once it has run its half; or a goroutine that waits
//            for a half of its own (below).
//
// The life of a half
//   F1 its owner pushes it and runs the first half
//   F2 its owner pops it: it was never shared, and is run like any function. Or
//   F3 a thief takes it, under the lock of the list, and makes its `stolen` part
//   F4 the owner finds that out at F2, under the same lock. It helps, then waits
//   F5 the thief runs it, says so under the half's lock, and wakes the owner. The half may be gone
//      once that lock is dropped
//
// Whom a goroutine helps while it waits
//   Only the thief of its half (leapfrogging): what that one has forked since is part of what the
//   goroutine waits for. So the stack grows by no more than the computation would without thieves,
//   and a lock that the waiting goroutine holds is wanted by none of what it runs but by what would
//   deadlock anyway. The thief's deque is there as long as the half is not done: a thief leaves its
//   list after that, and under the list's lock, which the helper holds when it looks. It looks again
//   when it has claimed an entry: the thief may be done by then, and have forked for another half.
//   A goroutine that must end, or is inside blocking(), helps no thief: what it ran would be cut short,
//   or could not be cancelled.
//   Then it parks. Its P takes another half, or goes on with other goroutines.
//
// Stacks
//   A half may need as much of a stack as its owner was given for it. So a thief has one of the largest
//   class among the forkers in the list that it takes from.
//
// What is never lost
//   A half that is offered may be all that can run: its owner may wait for something that the half
//   does. So a P is not given up before its M has looked at all lists (find_work.hpp), and handing
//   a P on looks at them as well. An owner that parks, or blocks in a system call, has pushed before
//   that: the P that it leaves sees the half. While the owner computes, a half that is missed by a P
//   that falls asleep at that moment is only late: the push has no fence before its look at the idle
//   Ps. The next fork looks again, and so does the monitor, which does not rest while a half is on offer.
//   An owner that is inside blocking(), or has lost its P, leaves none that would see the half
//   when it waits: it wakes the monitor. Where no P is ever without other work,
//   and the owner comes to no half for a time slice, the monitor makes a goroutine for one, and queues it:
//   the owner may be waiting for it in a loop. The next of that computation has twice the time.
//
// Cancellation and exceptions
//   Both halves end before either's exception goes on: the half refers to its owner's stack. So the
//   wait is not cancelled, but what the thief runs is, when the runtime stops: that half then ends
//   by goroutine_exit, and so does its owner. A half runs uncancellable where its owner was. Whatever
//   else has failed, a half that ends by goroutine_exit ends its owner, whichever goroutine ran it.
//   Without exceptions a goroutine cannot be unwound out of a fork: it is not cancelled there.
//
// Rejected
//   Waiting without helping: the P finds the same work, but each theft then costs a goroutine for the
//   thief and a switch for the owner.
//   Helping any forker: a goroutine that holds a mutex runs a stranger that wants it.
//   A goroutine for each second half, made when it is forked: 500 ns (numbers of spawn).
//
// Sources: Frigo, Leiserson and Randall 1998 (work first); Wagner and Calder 1993 (leapfrogging).
// Checked by tests/unit/sched/fork/fork_test.cpp and tests/unit/fork_join_test.cpp.
#ifndef THRUM_DETAIL_SCHED_FORK_FORK_HPP
#define THRUM_DETAIL_SCHED_FORK_FORK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/fork/fork_deque.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using forks_of_p = fork_list<forked, traits>;

/// What there is of a half once it was stolen.
struct stolen_half {
  spin_lock lock{lock_rank::waiters};
  wait_point* joiner = nullptr;       // under it
  under_lock<bool> done{false};       // set under it
  forker* thief = nullptr;            // good when `list` is set, and as long as it is not done
  atomic<forks_of_p*> list{nullptr};  // that the thief is in
};

/// The second half of a fork.
struct forked {
  /// Runs it for a thief, and keeps what comes of it.
  using run_function = void (*)(forked&) noexcept;

  forked(run_function how, bool may_be_cancelled) noexcept
      : run(how), cancellable(may_be_cancelled) {}
  forked(const forked&) = delete;
  forked& operator=(const forked&) = delete;
  ~forked() {}  // a stolen part has nothing to destroy

  const run_function run;
  const bool cancellable;
  union {
    stolen_half stolen;  // F3
  };
};

/// A goroutine inside its outermost fork.
struct forker {
  /// Makes the calling goroutine one, with the list of its P. Call it if may_fork().
  forker() noexcept : forker(section()) {}
  forker(const forker&) = delete;
  forker& operator=(const forker&) = delete;
  ~forker();

  fork_deque<forked, traits> deque;
  goroutine& g;
  runtime_scheduler& scheduler;
  std::uint32_t unheard = 0;  // calls for help without a credit

 private:
  /// In one section with the choice of the list: meanwhile its P stays in service (p_table.hpp).
  explicit forker(const section& open) noexcept;
};

/// False: the caller is no goroutine, or is inside blocking(), where no thread could help it.
inline bool may_fork() noexcept {
  const section here;
  return here.m() != nullptr;
}

/// The forker that the running goroutine is; null outside of forks, and on other threads. From user
/// code: a goroutine that loses its P stays on its thread.
THRUM_INLINE forker* forker_of(const machine* m) noexcept {
  return m != nullptr && m->g != nullptr ? m->g->forks : nullptr;
}

/// Some P idles: wakes it if that has been of use lately.
[[gnu::cold]] void call_for_help(forker& own) noexcept;

/// No thief looks at its deque, and it has a half there again.
[[gnu::cold]] void list_again(forker& own) noexcept;

/// F1. False: there is no room, and the half stays the caller's.
[[nodiscard]] THRUM_INLINE bool offer(forker& own, forked& half) noexcept {
  if (!own.deque.push(half)) [[unlikely]] {
    return false;
  }
  if (own.deque.is_aside()) [[unlikely]] {
    list_again(own);
  }
  if (own.scheduler.idle.idle_ps() != 0) [[unlikely]] {
    call_for_help(own);
  }
  return true;
}

/// After deque.pop() has failed. True: F2 after all. False: it was stolen, and is done (F4).
[[nodiscard, gnu::cold]] bool take_back_or_join(forker& own, forked& half) noexcept;

/// F2, or F4. True: the half is the caller's again. False: a thief has run it.
[[nodiscard]] THRUM_INLINE bool take_back(forker& own, forked& half) noexcept {
  return own.deque.pop() || take_back_or_join(own, half);
}

/// F3, under the lock of the list that it was stolen from. `thief` is null if it has no deque yet.
void begin_stolen(forked& half, forker* thief) noexcept;

/// Where the owner of a stolen half may look for what its thief has forked.
void show_thief(forked& half, forker& thief) noexcept;

/// F5, by the thief: a goroutine.
void run_stolen(forker& thief, forked& half) noexcept;

}}}  // namespace thrum::THRUM_ABI::sched

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/run/park.hpp>

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
  stolen.done.set(true);
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
  // The list's lock orders it, as the thief leaves; when the entry was claimed, its push does.
  const auto is_part = [&]() noexcept { return !half.stolen.done.get(); };
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
  if (half.stolen.done.get()) {
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
  // A goroutine that must end would cut short what is not its own. And what ends a part ends this
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

#endif
