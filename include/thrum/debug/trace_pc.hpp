// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Preemption points put in by the compiler, for places where threads cannot be interrupted.
//
// Compile the program with -fsanitize-coverage=trace-pc: the compiler then calls a function on each
// edge of the control flow, and this header defines it as a preemption point. So every loop gives
// up its processor when it is asked to. It costs 1.2 to 5 times the running time of tight loops;
// where there are signals, preemption::async costs nothing instead.
//
// Include it in exactly one source file of a program. <thrum.hpp> does not include it.
#ifndef THRUM_DEBUG_TRACE_PC_HPP
#define THRUM_DEBUG_TRACE_PC_HPP

#include <thrum/base/config.hpp>
#include <thrum/sched/park.hpp>

#if defined(__clang__)
#define THRUM_NO_COVERAGE __attribute__((no_sanitize("coverage")))
#else
#define THRUM_NO_COVERAGE __attribute__((no_sanitize_coverage))
#endif

namespace thrum::inline THRUM_ABI::debug {

/// The calling thread is inside the hook: what it calls may be instrumented, too.
THRUM_NOINLINE THRUM_NO_COVERAGE inline bool& inside_hook() noexcept {
  asm volatile("");
  static thread_local constinit bool inside = false;
  return inside;
}

/// Whether the caller is a goroutine outside the scheduler whose processor is asked for.
THRUM_NOINLINE THRUM_NO_COVERAGE inline bool must_yield_here() noexcept {
  asm volatile("");
  const auto* const m = sched::current_slot<sched::default_traits>::value;
  return m != nullptr && m->inside.load(std::memory_order_relaxed) == 0 &&  // relaxed: our own
         m->g != nullptr && m->p != nullptr &&
         // relaxed: seen at the next edge
         m->p->attention.load(std::memory_order_relaxed) != 0;
}

THRUM_NOINLINE THRUM_NO_COVERAGE inline void yield_at_edge() noexcept {
  inside_hook() = true;
  {
    sched::section here;
    inside_hook() = false;
    sched::preemption_point(here);
  }
}

}  // namespace thrum::inline THRUM_ABI::debug

extern "C" THRUM_NO_COVERAGE void __sanitizer_cov_trace_pc() {
  if (thrum::debug::must_yield_here() && !thrum::debug::inside_hook()) [[unlikely]] {
    thrum::debug::yield_at_edge();
  }
}

#undef THRUM_NO_COVERAGE

#endif
