// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Preemption points put in by the compiler, for places where threads cannot be interrupted.
//
// Compile the program with -fsanitize-coverage=trace-pc: the compiler then calls a function on each
// edge of the control flow, and this header defines it as a preemption point. So every loop gives
// up its processor when it is asked to. The goroutine keeps its thread meanwhile, as one that a
// signal stops does (sched/watch/preempt.hpp), and for the same reasons: the edge may be anywhere,
// also in the middle of the library's own functions, which know the M they run on. It costs 1.2 to
// 5 times the running time of tight loops; where there are signals, preemption::async costs nothing
// instead.
//
// Include it in exactly one source file of a program. <thrum.hpp> does not include it.
#ifndef THRUM_DEBUG_TRACE_PC_HPP
#define THRUM_DEBUG_TRACE_PC_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/watch/preempt.hpp>

#include <cerrno>
#include <cstdint>

#if defined(__clang__)
#define THRUM_NO_COVERAGE __attribute__((no_sanitize("coverage")))
#else
#define THRUM_NO_COVERAGE __attribute__((no_sanitize_coverage))
#endif

static_assert(THRUM_HAS_NO_COVERAGE == 1,
              "thrum: <thrum/debug/trace_pc.hpp> needs clang, or gcc from version 12: with an "
              "older gcc the hook would call itself");

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// The calling thread is inside the hook: what it calls may be instrumented, too.
THRUM_NOINLINE THRUM_NO_COVERAGE inline bool& inside_hook() noexcept {
  asm volatile("");
  static thread_local constinit bool inside = false;
  return inside;
}

/// What an edge can answer; the rest waits for the next call into the scheduler.
inline constexpr std::uint32_t served_at_edges = sched::attention_preempt | sched::attention_freeze;

/// Whether the caller is a goroutine outside the scheduler that was asked for its processor. Calls
/// nothing that could be instrumented, if it is optimised.
THRUM_NOINLINE THRUM_NO_COVERAGE inline bool must_stop_here() noexcept {
  asm volatile("");
  const sched::machine* const m = sched::current_slot::value;
  return m != nullptr && m->inside.get() == 0 && m->g != nullptr && m->p != nullptr &&
         (m->p->attention.get() & served_at_edges) != 0;
}

THRUM_NOINLINE THRUM_NO_COVERAGE inline void stop_at_edge() noexcept {
  inside_hook() = true;     // first: to look at errno is a call, too
  const int error = errno;  // the edge may lie between a call and a look at it
  sched::machine* const m = sched::current_slot::value;
  sched::interrupt(m);
  if (m->p != nullptr) {
    // If there was no M to take the P: not at every edge, but when the monitor asks again.
    m->p->attention.fetch_and(~std::uint32_t{sched::attention_preempt},
                              std::memory_order_relaxed);  // relaxed: nothing is done for it
  }
  errno = error;
  inside_hook() = false;
}

}}}  // namespace thrum::THRUM_ABI::debug

extern "C" THRUM_NO_COVERAGE void __sanitizer_cov_trace_pc() {
#if defined(__OPTIMIZE__)
  if (thrum::debug::must_stop_here() && !thrum::debug::inside_hook()) [[unlikely]] {
    thrum::debug::stop_at_edge();
  }
#else  // a load of an atomic is a call, and instrumented
  bool& inside = thrum::debug::inside_hook();
  if (!inside) {
    inside = true;
    const bool must_stop = thrum::debug::must_stop_here();
    inside = false;
    if (must_stop) {
      thrum::debug::stop_at_edge();
    }
  }
#endif
}

#undef THRUM_NO_COVERAGE

#endif
