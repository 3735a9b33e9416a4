// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Calls that may block their thread.
#ifndef THRUM_BLOCKING_HPP
#define THRUM_BLOCKING_HPP

#include <thrum/base/config.hpp>

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
/// errno is then what f has left there: see errno.hpp.
/// Inside f the goroutine counts as its thread: what blocks in the library blocks the thread.
/// On the thread of a host (runtime::poll) the goroutine goes to a thread of its runtime first, unless it is
/// bound to that host. On a foreign thread, and inside another blocking(), f is just called.
template <class F>
auto blocking(F&& f) -> std::invoke_result_t<F> {
  const go_detail::syscall_scope scope;
  return std::invoke(std::forward<F>(f));
}

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/blocking_definition.hpp>
#endif

#endif
