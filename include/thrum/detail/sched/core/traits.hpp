// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the scheduler is parameterised over: its constants, its atomics, its clock, its poller.
//
// One build has one: `traits`, on which everything in sched/ and above rests. `default_traits` is
// what a user of the library gets. A test, a model checker or a host derives from it and shadows
// what it wants to control: a ring of 4 slots, a clock that it moves itself, atomics that record
// every access. It defines THRUM_TRAITS_HEADER as the name of a header, between quotes or angle
// brackets, in which thrum::sched has a `traits`; default_traits is declared by then. In all source
// files of the program: such a build has an inline namespace of its own (base/config.hpp).
//
// Only the queues (sched/queue) are templates over it, as the models check each of them with
// several. Rejected: templates throughout. 214 of them spelled a parameter that no program ever gave,
// the compiler looked at their bodies twice, and every name in a debugger ended in
// <default_traits>. docs/decisions/0014-traits-are-chosen-once.md says more.
#ifndef THRUM_DETAIL_SCHED_CORE_TRAITS_HPP
#define THRUM_DETAIL_SCHED_CORE_TRAITS_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/netpoll/netpoll.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The tunables of the scheduler, each with its unit, its constraint and its origin.
struct default_traits {
  /// What stands once for these stands once in the process: see os/posix/process_wide.hpp.
  static constexpr bool is_process_wide = true;

  /// Slots in a P's ring. A power of two. From Go: large enough that overflow to the global queue
  /// is rare, small enough that a thief copies half of it in well under a microsecond.
  static constexpr std::uint32_t run_queue_capacity = 256;

  /// Halves of forks that a goroutine offers at a time, and one; it runs further ones itself without
  /// offering them. A power of two. They nest, so that 63 of the largest are enough for all.
  static constexpr std::uint32_t fork_capacity = 64;

  /// Idle Ps that may be woken for what is forked on one P before one has come in time: as
  /// wake_credit.
  static constexpr std::uint32_t fork_credit = 16;

  /// Goroutines without a half to give that a search passes before it puts those of them aside: what
  /// looking at so many costs, some ns each, is about what the fence for that costs.
  static constexpr std::uint32_t fork_walk = 256;

  /// Every n-th scheduling tick looks at the global queue first, so that goroutines there cannot
  /// starve behind two that keep readying each other. A prime, from Go, so that it does not beat
  /// with periodic programs.
  static constexpr std::uint32_t global_check_interval = 61;

  /// Rounds of a thief over all Ps: the last one takes more, see steal.hpp. From Go.
  static constexpr int steal_rounds = 4;

  /// Busy Ps for each M that searches. From Go: half as many searchers as busy Ps.
  static constexpr std::uint32_t busy_per_spinner = 2;

  /// So many Ms that search, or are woken to, are enough for a submitter to wake no other, when so many
  /// Ps are busy. Go has one. With 64 processors that makes a server slow to spread: waking a thread takes
  /// 40 us, and each wakes the next. Chosen by simulation: docs/decisions/0032-two-searchers-at-a-time.md.
  static constexpr std::uint32_t searchers_at_a_time(std::uint32_t busy) noexcept {
    return busy < 8 ? 1 : 2;
  }

  /// How long the goroutines of a P must run, on average, for a thief to take its runnext: see run/steal.hpp.
  /// Moving one of two that talk to each other puts a wake-up of a thread and a dozen cache lines
  /// into each of their exchanges. Chosen by simulation: docs/decisions/0035-a-pair-stays-together.md.
  static constexpr std::int64_t worth_a_move_ns = 5'000;

  /// Most processors a runtime may have. Bounds the table of Ps and the masks over it.
  static constexpr unsigned max_procs = 4096;

  /// Most threads that may be hosts of one runtime.
  static constexpr unsigned max_hosts = 64;

  /// Dead goroutines with their warm stacks that one P keeps before it gives half of them away.
  static constexpr std::uint32_t free_goroutines_per_p = 64;

  /// Goroutine ids that a P takes at a time. From Go.
  static constexpr std::uint32_t id_batch = 16;

  /// Readied goroutines in `runnext` that may each wake an idle P before one was seen to be
  /// useful: see `basic_p::wake_credit`. Trades a futile 16 us futex call per hand-off against
  /// the latency of the first parallel consumer.
  static constexpr std::uint32_t wake_credit = 16;

  /// Goroutines in a row that may inherit a slice through runnext where no monitor cuts slices: two
  /// that hand the processor to each other must let others in. At 64 the detour is a hundredth of a
  /// hand-off's cost.
  static constexpr std::uint32_t most_inheritances = 64;

  /// How old the last poll may be before a P that always has something to run polls in between.
  /// Trades the latency of goroutines that wait for descriptors against a system call: a thousandth
  /// of a processor at the most.
  static constexpr std::int64_t poll_interval_ns = 1'000'000;

  /// Bytes of input and output that a goroutine may move in a row before it looks whether another
  /// goroutine waits, and as how many of them each call counts: 128 calls, or a few large ones, which
  /// take about as long, some hundred microseconds.
  static constexpr std::int64_t io_budget = 1 << 20;
  static constexpr std::int64_t io_call_cost = io_budget / 128;

  /// After so many looks it also gives way to goroutines that have given way themselves. About a slice:
  /// among them, short turns would let each find cold caches.
  static constexpr std::uint32_t io_looks = 64;

  /// The switches that may pass between two looks at the clock while the P has timers. sysmon
  /// raises `attention::timers` when one is due, so this bounds nothing but the common case.
  static constexpr std::uint32_t timer_check_interval = 16;

  /// Monitor: shortest and longest sleep, quiet rounds before the sleep doubles. From Go.
  static constexpr std::int64_t monitor_min_sleep_ns = 20'000;
  static constexpr std::int64_t monitor_max_sleep_ns = 10'000'000;
  static constexpr std::uint32_t monitor_quiet_rounds = 50;

  /// How long a goroutine may run at least before it makes room for one that has slept long enough.
  /// Trades the latency of sleepers against the 50 us that each change of threads costs.
  static constexpr std::int64_t least_run_ns = 1'000'000;

  /// A call that lasts longer is a long one: its P goes to another thread when the next of its kind begins.
  /// That costs some microseconds, and the fastest round of the monitor would take the P as well.
  static constexpr std::int64_t long_call_ns = monitor_min_sleep_ns;

  /// How long a thread must have slept in a call before its P is taken.
  static constexpr std::int64_t blocked_ns = 1'000'000;

  /// How long a thread must have been in a call before its P is taken, on a system that does not say whether
  /// it sleeps or waits for a CPU: longer than a thread waits for a CPU beside some dozens that compute.
  /// A loop that loses its P by mistake continues without, and may be a thread too many.
  static constexpr std::int64_t silent_ns = 100'000'000;

  /// How long a thread must have computed after a signal was sent to it that it has not taken, for
  /// its P to be taken without. A thread takes a signal when it next enters or leaves the system,
  /// or a clock interrupts it: within 10 ms on the slowest kernel, and mostly within one.
  static constexpr std::int64_t unresponsive_ns = 10'000'000;

  /// Whether the CPU clock of a thread tells within less than a millisecond that it computes.
  static constexpr bool has_fine_cpu_clock = os::thread_ref::has_fine_clock;

  template <class T>
  using atomic = std::atomic<T>;
  /// Guards a timer heap, and a list of forks.
  using heap_lock = spin_lock;

  using poller = netpoll::poller;

  THRUM_INLINE static void fence(std::memory_order order) noexcept {
    std::atomic_thread_fence(order);
  }

  /// The two halves of an asymmetric fence: free for the side that runs often, a system call for
  /// the side that runs once in a while.
  THRUM_INLINE static void light_fence() noexcept { os::light_fence(); }
  static void heavy_fence() noexcept { os::heavy_fence(); }
  /// The rare side where the other one is this thread's alone, of which some systems make less.
  static void heavy_fence_for(const os::thread_ref& thread) noexcept {
    os::heavy_fence_for(thread);
  }

  /// Nanoseconds of the steady clock, or of the virtual one that the caller runs on.
  static std::int64_t now() noexcept {
    const auto look = virtual_now().get();
    return look == nullptr ? os::now() : look();
  }
  /// Set when the first virtual clock is made.
  static base::set_once<std::int64_t (*)() noexcept>& virtual_now() noexcept {
    return os::process_wide<virtual_clock_hook>::get().now;
  }
  struct virtual_clock_hook {
    static constexpr std::string_view process_name = "sched::virtual_now";
    base::set_once<std::int64_t (*)() noexcept> now{nullptr};
  };

  /// Whether the thread has a shadow stack, with which no goroutine can run.
  static bool has_shadow_stack() noexcept { return arch::has_shadow_stack(); }

  /// One turn of a loop that waits for another thread to get through a few instructions.
  static void back_off(std::uint32_t turn) noexcept { sched::back_off(turn); }

  /// The pause of a thread that sees work again and again and gets hold of none: it is on its way
  /// to a thread that has not run yet, and may be waiting for the very CPU that this one keeps.
  static void pause_search() noexcept { os::sleep_ns(20'000); }

  /// A thief's pause before it takes a running P's runnext: long enough for the owner to run a
  /// goroutine that it has just readied and is about to wait for. 3 us, from Go.
  static void pause_before_runnext() noexcept { os::sleep_ns(3'000); }
};

}}}  // namespace thrum::THRUM_ABI::sched

#ifdef THRUM_TRAITS_HEADER
#include THRUM_TRAITS_HEADER
#endif

namespace thrum { inline namespace THRUM_ABI { namespace sched {

#ifndef THRUM_TRAITS_HEADER
using traits = default_traits;
#endif

template <class T>
using atomic = traits::atomic<T>;
template <class T>
using figure = base::figure<T, atomic<T>>;
template <class T>
using shared_figure = base::shared_figure<T, atomic<T>>;
template <class T>
using hint = base::hint<T, atomic<T>>;
template <class T>
using set_once = base::set_once<T, atomic<T>>;
template <class T>
using under_lock = base::under_lock<T, atomic<T>>;
template <class T>
using one_writer = base::one_writer<T, atomic<T>>;

}}}  // namespace thrum::THRUM_ABI::sched

#endif
