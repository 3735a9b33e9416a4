// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a goroutine ends early: told to exit, or left by an exception.
#ifndef THRUM_PANIC_HPP
#define THRUM_PANIC_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/sched/core/g.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/run/end.hpp>
#include <thrum/sched/run/park.hpp>
#include <thrum/sched/run/uncancellable.hpp>

#include <cstdlib>
#include <exception>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

/// In its scope no wait throws goroutine_exit: for a destructor, or another noexcept function, in
/// which a goroutine waits. When the runtime stops, such a wait goes on until what it waits for has
/// come, and the stop waits for that; the first wait behind the scope then ends the goroutine.
/// Nests. Made and destroyed by the same goroutine; without effect on a foreign thread, where
/// nothing is cancelled. A destructor that runs because an exception unwinds needs none: nothing is
/// cancelled there. this_goroutine::exit() throws all the same.
class [[nodiscard]] uncancellable {
 public:
  uncancellable() noexcept = default;
  uncancellable(const uncancellable&) = delete;
  uncancellable& operator=(const uncancellable&) = delete;

 private:
  sched::uncancellable scope_;
};

namespace sched {

/// Ends the running goroutine: by goroutine_exit where there are exceptions, else where it stands,
/// without running destructors.
[[noreturn]] THRUM_COLD inline void exit_goroutine() {
  machine* const m = current_m();
  m->g->exiting = true;
#if THRUM_EXCEPTIONS
  throw goroutine_exit();
#else
  end_goroutine(*m->g);
#endif
}

/// After a wait: throws if it was cancelled.
inline void exit_if_cancelled(wake_cause cause) {
  if (cause == wake_cause::cancelled) [[unlikely]] {
    exit_goroutine();
  }
}

}  // namespace sched
}}  // namespace thrum::THRUM_ABI

#endif
