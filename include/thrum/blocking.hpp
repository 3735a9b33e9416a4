// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Calls that may block their thread.
#ifndef THRUM_BLOCKING_HPP
#define THRUM_BLOCKING_HPP

#include <thrum/detail/base/config.hpp>

#include <functional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

/// The time between enter_syscall and exit_syscall.
class syscall_scope {
 public:
  syscall_scope() noexcept;
  ~syscall_scope();
  syscall_scope(const syscall_scope&) = delete;
  syscall_scope& operator=(const syscall_scope&) = delete;

 private:
  bool entered_ = false;
  bool left_host_ = false;
};

}  // namespace go_detail

/// Calls f() where it may block the thread: a file, a lock of another library, a long system call.
/// The processor stays with the goroutine if f is short (tens of nanoseconds more than a plain
/// call) and goes to another thread if it is not, so others keep running. Returns what f returns,
/// throws what f throws; f runs on the calling thread, the code behind it perhaps on another one.
/// errno is then what f has left there.
/// Inside f the goroutine counts as its thread: what blocks in the library blocks the thread.
/// On the thread of a host (runtime::poll) the goroutine goes to a thread of its runtime first, unless it is
/// bound to that host. On a foreign thread, and inside another blocking(), f is just called.
template <class F>
auto blocking(F&& f) -> std::invoke_result_t<F> {
  const go_detail::syscall_scope scope;
  return std::invoke(std::forward<F>(f));
}

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/host/host_leave.hpp>
#include <thrum/detail/sched/run/syscall.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

using namespace sched;

THRUM_OUT_OF_LINE syscall_scope::syscall_scope() noexcept {
  section here;
  if (here.m() == nullptr) {
    return;
  }
  left_host_ = leave_host(here);
  if (machine* const m = here.m()) {  // another one, if it has left a host
    entered_ = true;
    enter_syscall(*m);
  }
}

THRUM_OUT_OF_LINE syscall_scope::~syscall_scope() {
  if (entered_) {
    // First of all: what the call has left there.
    const int error_number = *current_m()->error_number;
    section here;
    machine& m = exit_syscall(*current_m());
    *m.error_number = error_number;
    here.moved_to(m);
    if (left_host_) {
      may_be_on_host(*m.g);
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
