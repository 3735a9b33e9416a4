// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a goroutine ends early: told to exit, or left by an exception.
#ifndef THRUM_PANIC_HPP
#define THRUM_PANIC_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>  // IWYU pragma: export

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

}}  // namespace thrum::THRUM_ABI

#endif
