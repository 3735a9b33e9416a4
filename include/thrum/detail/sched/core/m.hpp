// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// M: an OS thread that runs goroutines.
//
// The thread's own stack is its g0: there it looks for work, sleeps, and finishes what a goroutine
// asked for when it left the processor and there was no other goroutine to switch to.
#ifndef THRUM_DETAIL_SCHED_CORE_M_HPP
#define THRUM_DETAIL_SCHED_CORE_M_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/counters.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/p.hpp>
#include <thrum/detail/sched/core/p_state.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/steal_order.hpp>
#if THRUM_TRACE
#include <thrum/detail/trace/recorder.hpp>
#endif

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// What a goroutine left to be done once its stack is no longer in use: by the code that the
/// processor arrives at, before anything else. False: make the goroutine runnable again.
using commit_function = bool (*)(machine&, goroutine&, void* argument) noexcept;

struct host_thread;
struct poll_sink;

/// Which threads may be woken to search.
enum class searchers : bool {
  ms,  // Ms only; where no P idles the request for a search stands, and hosts look for it now and then
  all,  // where no P idles, hosts that wait for work, too
};

/// The functions of upper layers that lower ones call: a program that uses a mutex and no runtime has
/// neither.
struct upcall_table {
  /// The life of an M's thread; its argument is the M. In run/m_main.hpp.
  void* (*m_main)(void*);
  /// Starts a spinning M on an idle P, or wakes a host; false if neither is there. In thread/threads.hpp.
  bool (*start_spinner)(runtime_scheduler&, searchers which) noexcept;
  /// The M of a spare thread that is to be made; null if none is needed. In thread/threads.hpp.
  machine* (*make_spare)(runtime_scheduler&) noexcept;
  /// The thread of this M was interrupted, to give up its P. In watch/preempt.hpp.
  void (*interrupt)(void* m) noexcept;
  /// Serves a request to the P that runs a goroutine. Returns the M on which the goroutine continues,
  /// inside. In run/attend.hpp.
  machine& (*serve_running)(machine&) noexcept;
  /// Answers a monitor that wants the P, or has it. Returns the M on which the caller runs then, inside.
  /// In preempt.hpp.
  machine& (*answer_monitor)(machine&) noexcept;
  /// Takes an event of a descriptor. In io/poll_events.hpp.
  void (*take_event)(poll_sink&, std::uint64_t tag, std::uint32_t events) noexcept;
  /// Announces an event that will come soon.
  void (*announce_event)(std::uint64_t tag) noexcept;
};

struct alignas(base::cache_line_size) machine {
  machine(runtime_scheduler& owner, const upcall_table& upcalls, std::uint32_t number,
          std::uint64_t seed) noexcept
      : scheduler(&owner),
        id(number),
        random(seed),
        search(seed + 1),
        answer_monitor(upcalls.answer_monitor) {
    interruption.interrupt = upcalls.interrupt;
    interruption.argument = this;
  }

  // -- [m.inside] this thread and its signal handler; the monitor behind a heavy fence --
  /// 1 while the thread runs code of the scheduler: its P may not be taken then. See section.hpp.
  one_writer<std::uint32_t> inside{1};  // SC3: it begins on g0
  atomic<retake_state> retake{retake_state::none};

  // -- this thread only --
  goroutine* g = nullptr;  // the goroutine that runs here, null on g0
  processor* p = nullptr;  // null on the way to sleep and inside blocking()
  runtime_scheduler* const scheduler;
  os::exception_state* exceptions = nullptr;  // this thread's words of the C++ ABI
  void* g0_sp = nullptr;
  struct {
    goroutine* g = nullptr;
    commit_function commit = nullptr;
    void* argument = nullptr;
  } left;                         // by the goroutine that ran before the switch
  int* error_number = nullptr;    // this thread's errno
  processor* old_p = nullptr;     // held when blocking() began
  std::int64_t call_since = 0;    // when that was; 0: its goroutine's calls are short
  goroutine* pending = nullptr;   // what g0 is to run next
  goroutine* locked_g = nullptr;  // the one that has locked itself to this thread
  bool ends = false;              // its thread was kept by what has ended there: locked_g
  bool spinning = false;          // counted in idle_set::spinning
  const std::uint32_t id;
  base::random random;  // of what users see: what a select chooses
  base::random search;  // of where work is looked for
  steal_order order;
  [[no_unique_address]] base::stack_context context;
  machine& (*const answer_monitor)(machine&) noexcept;  // of upcall_table
  struct {
    const goroutine* g = nullptr;  // compared only
    std::uint32_t slice = 0;       // the schedule_tick of its P then
    std::int64_t at = 0;           // when; 0: another thread sleeps in the poller
  } from_poller;                   // what it found there last: see run/leave_poller.hpp

  // -- handed over through `park` --
  processor* next_p = nullptr;  // written before park.wake(), read after park.sleep()
  os::note park;

  std::uint32_t cpu = 0;  // where its thread went to sleep

  // -- under the scheduler's lock --
  machine* idle_next = nullptr;  // in the idle list, the creator's, or of those without a thread

  // -- the thread writes it before it first holds a P --
  os::thread_ref self;
  bool awaited = false;  // a P is on its way to this thread, which is being made
  /// Its function is set once for all threads that this M is going to have: ThreadSanitizer may keep a
  /// signal until the thread that it was for has ended and the next one begins.
  os::preempt_target interruption;
  /// Signals that have arrived. Written by the handler, read by the monitor.
  figure<std::uint32_t> heard;
  /// The monitor has found that none arrives: the thread lets them through when it enters next.
  atomic<bool> unresponsive{false};
  os::signal_stack for_signals;  // reserved by the creator

  // -- this thread; read by the thread that freezes, while this one waits --
  os::call_stack callers;

  host_thread* as_host = nullptr;  // constant: whose thread is a host's

  // -- the monitor only --
  machine* watched_next = nullptr;  // of those that run without a P
  std::int64_t watched_cpu = 0;     // at the last look, `watched_at`
  std::int64_t watched_at = 0;
  bool watched = false;

  // -- the creator only --
  os::thread thread;

#if THRUM_TRACE
  // -- this thread only, inside --
  trace_detail::writer trace;
#endif
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
