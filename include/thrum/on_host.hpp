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

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// What on_host is.
struct on_host_t {
  explicit on_host_t() = default;
  /// So `{.name = "draws"}` may follow on_host.
  constexpr operator attributes() const noexcept { return {.on_host = true}; }
};

/// For `go(on_host, f)` and `spawn(on_host, f)`, as attributes::on_host: the goroutine runs on the thread that attached to the
/// runtime first, by runtime::poll, run_for or run_until_idle, or as that of run() with
/// options::main_thread; and on no other, whatever it waits for. It runs when that thread runs
/// goroutines. If that thread ends, on the one that attaches next. If the runtime stops and there is
/// none, it unwinds on any; a function that has not begun by then is not called, and join says
/// goroutine_exit. In a testing::bubble it is a goroutine like others.
inline constexpr on_host_t on_host{};

namespace go_detail {

template <class F>
concept not_runtime = !std::is_same_v<std::remove_cvref_t<F>, runtime>;

template <class F>
inline constexpr bool is_on_host = std::is_same_v<std::remove_cvref_t<F>, on_host_t>;

template <class F>
inline constexpr bool is_attributes = std::is_same_v<std::remove_cvref_t<F>, attributes>;

/// What spawn returns: the handle on the first argument that is a function.
template <class F, class... Args>
struct spawned {
  using type = join_handle<spawn_result<F, Args...>>;
};
template <class How, class F, class... Args>
requires(!not_runtime<How> || is_on_host<How> || is_attributes<How>) struct spawned<How, F, Args...>
    : spawned<F, Args...> {
};

/// The attributes of go(how, also, f).
constexpr attributes merged(const attributes& how, attributes also) noexcept {
  also.runtime = also.runtime != nullptr ? also.runtime : how.runtime;
  also.on_host = also.on_host || how.on_host;
  return also;
}

/// The thread that a goroutine is bound to: null unless it is to run on_host, and in a bubble, where any
/// thread runs it. std::system_error if there is no memory.
host_thread* host_for_start(runtime_scheduler& scheduler, const attributes& how);

/// How a goroutine is launched: on `where` only, if that is not null.
struct launch_where {
  const void* caller;
  host_thread* where;
  std::uint8_t flags;
  THRUM_INLINE void operator()(fresh_goroutine& fresh) const noexcept {
    if (where == nullptr) [[likely]] {
      fresh.launch(caller, flags);
    } else {
      fresh.launch_on(caller, *where);
    }
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
      if constexpr (std::is_base_of_v<told_of_goroutine, F>) {
        std::invoke(std::move(f), &exit_goroutine);  // a group learns of the end
      }
      exit_goroutine();
    }
    return std::invoke(std::move(f), std::forward<Args>(args)...);
  }

  static bool is_on_host() noexcept {
    const section here;
    return (current_m()->g->flags & g_on_host) != 0;
  }
};

template <class F>
struct tell<host_call<F>> {
  static void own(host_call<F>& call, goroutine& g) noexcept { tell<F>::own(call.f, g); }
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

/// As start_task, with attributes, on `where` only, if that is not null.
template <class F, class... Args>
THRUM_NOINLINE void start_task_on(host_thread* where, runtime_scheduler& scheduler,
                                  const attributes& how, F&& f, Args&&... args) {
  const launch_where launch_it{caller_address(), where, initial_flags(how.priority)};
  start_as_host_call<F, Args...>(where, std::forward<F>(f), [&](auto&& call) {
    start_launched(scheduler, how, launch_it, std::forward<decltype(call)>(call),
                   std::forward<Args>(args)...);
  });
}

/// As spawn_task, with attributes, on `where` only, if that is not null.
template <class F, class... Args>
THRUM_NOINLINE auto spawn_task_on(host_thread* where, runtime_scheduler& scheduler,
                                  const attributes& how, F&& f, Args&&... args)
    -> join_handle<spawn_result<F, Args...>> {
  const launch_where launch_it{caller_address(), where, initial_flags(how.priority)};
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

THRUM_OUT_OF_LINE host_thread* host_for_start(runtime_scheduler& scheduler, const attributes& how) {
  if (!how.on_host || scheduler.clock.is_virtual()) {
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
