// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Goroutines that run on one thread only, that of the host: for windows and graphics.
#ifndef THRUM_ON_HOST_HPP
#define THRUM_ON_HOST_HPP

#include <thrum/attributes.hpp>
#include <thrum/base/config.hpp>
#include <thrum/sched/core/host.hpp>
#include <thrum/task.hpp>

#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// What on_host is.
struct on_host_t {
  explicit on_host_t() = default;
};

/// For `go(on_host, f)` and `spawn(on_host, f)`: the goroutine runs on the thread that attached to the
/// runtime first, by runtime::poll, run_for or run_until_idle, or as that of run() with
/// options::main_thread; and on no other, whatever it waits for. It runs when that thread runs
/// goroutines. If that thread ends, on the one that attaches next; if the runtime stops and there is
/// none, it unwinds on any. In a testing::bubble it is a goroutine like others.
inline constexpr on_host_t on_host{};

namespace go_detail {

// What is the function to start, and not said of it before: so that a modifiable or a temporary
// `attributes` is none either, which F&& would fit better than its own parameter.

template <class F>
concept not_runtime = !std::is_same_v<std::remove_cvref_t<F>, runtime>;

template <class F>
concept not_attributes = not_runtime<F> && !std::is_same_v<std::remove_cvref_t<F>, attributes> &&
                         !std::is_same_v<std::remove_cvref_t<F>, on_host_t>;

/// To which a goroutine is bound that is started on_host; null, for any thread, in a bubble.
/// std::system_error if there is no memory.
host_thread* host_for_start(runtime_scheduler& scheduler);

/// How a goroutine on `where` is launched.
struct launch_on_host {
  const void* caller;
  host_thread* where;
  THRUM_INLINE void operator()(fresh_goroutine& fresh) const noexcept {
    fresh.launch_on(caller, where);
  }
};

/// As start_task, on `where` only, if that is not null.
template <class How = no_attributes, class F, class... Args>
THRUM_NOINLINE void start_task_on(host_thread* where, runtime_scheduler& scheduler, const How& how,
                                  F&& f, Args&&... args) {
  start_launched(scheduler, how, launch_on_host{caller_address(), where}, std::forward<F>(f),
                 std::forward<Args>(args)...);
}

/// As spawn_task, on `where` only, if that is not null.
template <class How = no_attributes, class F, class... Args>
THRUM_NOINLINE auto spawn_task_on(host_thread* where, runtime_scheduler& scheduler, const How& how,
                                  F&& f, Args&&... args) -> join_handle<spawn_result<F, Args...>> {
  return spawn_launched(scheduler, how, launch_on_host{caller_address(), where}, std::forward<F>(f),
                        std::forward<Args>(args)...);
}

}  // namespace go_detail

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/on_host_definition.hpp>
#endif

#endif
