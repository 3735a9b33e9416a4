// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Goroutines that run on one thread only, that of the host: for windows and graphics.
#ifndef THRUM_ON_HOST_HPP
#define THRUM_ON_HOST_HPP

#include <thrum/attributes.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/task.hpp>

#include <functional>
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
/// goroutines. If that thread ends, on the one that attaches next. If the runtime stops and there is
/// none, it unwinds on any; a function that has not begun by then is not called, and join says
/// goroutine_exit. In a testing::bubble it is a goroutine like others.
inline constexpr on_host_t on_host{};

namespace go_detail {

// What is the function to start, and not said of it before: so that a modifiable or a temporary
// `attributes` is none either, which F&& would fit better than its own parameter.

template <class F>
concept not_runtime = !std::is_same_v<std::remove_cvref_t<F>, runtime>;

template <class F>
concept not_attributes = not_runtime<F> && !std::is_same_v<std::remove_cvref_t<F>, attributes> &&
                         !std::is_same_v<std::remove_cvref_t<F>, on_host_t>;

/// The thread that a goroutine started on_host is bound to; null in a bubble, where any thread runs it.
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

/// A function that is called on the host, or not at all: the goroutine ends if its inbox was closed before.
template <class F>
struct host_call {
  F f;
  bool is_bound;

  template <class... Args>
  requires std::is_invocable_v<F, Args...>
  decltype(auto) operator()(Args&&... args) {
    if (is_bound && !is_on_host()) {
      exit_goroutine();
    }
    return std::invoke(std::move(f), std::forward<Args>(args)...);
  }

  static bool is_on_host() noexcept {
    const section here;
    return (current_m()->g->flags & g_on_host) != 0;
  }
};

/// calls start(f), or start(a host_call of it): what is refused is reported as it stands.
template <class F, class... Args, class Start>
THRUM_INLINE auto start_as_host_call(host_thread* where, F&& f, Start start) {
  using kept = std::decay_t<F>;
  if constexpr (is_kept<F> && (is_called<F, Args...> || wants_stop<F, Args...>)) {
    return start(host_call<kept>{std::forward<F>(f), where != nullptr});
  } else {
    return start(std::forward<F>(f));
  }
}

/// As start_task, on `where` only, if that is not null.
template <class How = no_attributes, class F, class... Args>
THRUM_NOINLINE void start_task_on(host_thread* where, runtime_scheduler& scheduler, const How& how,
                                  F&& f, Args&&... args) {
  const launch_on_host launch_it{caller_address(), where};
  start_as_host_call<F, Args...>(where, std::forward<F>(f), [&](auto&& call) {
    start_launched(scheduler, how, launch_it, std::forward<decltype(call)>(call),
                   std::forward<Args>(args)...);
  });
}

/// As spawn_task, on `where` only, if that is not null.
template <class How = no_attributes, class F, class... Args>
THRUM_NOINLINE auto spawn_task_on(host_thread* where, runtime_scheduler& scheduler, const How& how,
                                  F&& f, Args&&... args) -> join_handle<spawn_result<F, Args...>> {
  const launch_on_host launch_it{caller_address(), where};
  return start_as_host_call<F, Args...>(where, std::forward<F>(f), [&](auto&& call) {
    return spawn_launched(scheduler, how, launch_it, std::forward<decltype(call)>(call),
                          std::forward<Args>(args)...);
  });
}

}  // namespace go_detail

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sched/host/host_attach.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE host_thread* host_for_start(runtime_scheduler& scheduler) {
  if (scheduler.clock.is_virtual()) {
    return nullptr;
  }
  host_thread* const first = first_host(scheduler);
  if (first == nullptr) {
    base::throw_system(os::error_code_of(os::no_memory),
                       "go: no memory for a host of on_host; raise the memory limit");
  }
  return first;
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
