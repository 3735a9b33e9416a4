// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a goroutine ends early: told to exit, or left by an exception.
#ifndef THRUM_PANIC_HPP
#define THRUM_PANIC_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/sched/g.hpp>
#include <thrum/sched/park.hpp>

#include <cstdlib>
#include <exception>
#include <string_view>

namespace thrum::inline THRUM_ABI {

/// Unwinds a goroutine that its runtime stops, or that calls this_goroutine::exit(). Thrown by
/// every cancellation point; on purpose not a std::exception, so that a handler for those lets it
/// pass. A handler that catches everything should rethrow it; if it does not, the next cancellation
/// point throws it again.
class goroutine_exit {};

namespace sched {

/// Ends the running goroutine: by goroutine_exit where there are exceptions, else where it stands,
/// without running destructors.
template <class Traits>
[[noreturn]] THRUM_COLD void exit_goroutine() {
  basic_m<Traits>* const m = current_m<Traits>();
  m->g->exiting = true;
#if THRUM_EXCEPTIONS
  throw goroutine_exit();
#else
  end_goroutine(*m->g);
#endif
}

/// After a wait: throws if it was cancelled.
template <class Traits>
void exit_if_cancelled(wake_cause cause) {
  if (cause == wake_cause::cancelled) [[unlikely]] {
    exit_goroutine<Traits>();
  }
}

}  // namespace sched
}  // namespace thrum::inline THRUM_ABI

#endif
