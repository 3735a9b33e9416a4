// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a goroutine is left before its function has returned: on request, or at a cancelled wait.
#ifndef THRUM_DETAIL_SCHED_RUN_GOROUTINE_EXIT_HPP
#define THRUM_DETAIL_SCHED_RUN_GOROUTINE_EXIT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#if !THRUM_EXCEPTIONS
#include <thrum/detail/sched/run/end.hpp>
#endif

namespace thrum { inline namespace THRUM_ABI {

/// Unwinds a goroutine that its runtime stops, or that calls this_goroutine::exit(). Thrown by
/// every cancellation point; on purpose not a std::exception, so that a handler for those lets it
/// pass. A handler that catches everything should rethrow it; if it does not, the next cancellation
/// point throws it again. It must not leave a noexcept function, and a destructor is one: see
/// uncancellable.
class [[gnu::visibility("default")]] goroutine_exit{};

}}  // namespace thrum::THRUM_ABI

namespace thrum { inline namespace THRUM_ABI { namespace sched {

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

/// As long as it lives, no wait of the running goroutine is cancelled. Nests. Without effect on a
/// thread that is not ours: nothing is cancelled there. For code that must not throw: destructors that
/// wait, and other functions that are noexcept.
class uncancellable {
 public:
  uncancellable() noexcept {
    const machine* const m = current_m();
    g_ = m != nullptr ? m->g : nullptr;
    if (g_ != nullptr) {
      ++g_->uncancellable;
    }
  }
  ~uncancellable() {
    if (g_ != nullptr) {
      --g_->uncancellable;
    }
  }
  uncancellable(const uncancellable&) = delete;
  uncancellable& operator=(const uncancellable&) = delete;

 private:
  goroutine* g_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
