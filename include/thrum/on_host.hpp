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

/// As sched::launch, for a goroutine that is to run on `where` only, if that is not null.
THRUM_COLD inline void launch_on(host_thread* where, runtime_scheduler& scheduler, machine* m,
                                 goroutine& g) noexcept {
  if (where == nullptr) {
    launch(scheduler, m, g);
    return;
  }
  prepare_launch(scheduler, g);
  g.bound = &where->m;
  g.flags = g_bound | g_on_host;
  if (m != nullptr) {
    m->p->counts.created.add();
  } else {
    scheduler.count_created_elsewhere();
  }
  ready_on_host(g);
}

/// As start_task, on `where` only, if that is not null.
template <class How = no_attributes, class F, class... Args>
THRUM_NOINLINE void start_task_on(host_thread* where, runtime_scheduler& scheduler, const How& how,
                                  F&& f, Args&&... args) {
  start_launched(
      scheduler, how, caller_address(),
      [&](machine* m, goroutine& g) noexcept { launch_on(where, scheduler, m, g); },
      std::forward<F>(f), std::forward<Args>(args)...);
}

/// As spawn_task, on `where` only, if that is not null.
template <class How = no_attributes, class F, class... Args>
THRUM_NOINLINE auto spawn_task_on(host_thread* where, runtime_scheduler& scheduler, const How& how,
                                  F&& f, Args&&... args) -> join_handle<spawn_result<F, Args...>> {
  return spawn_launched(
      scheduler, how, caller_address(),
      [&](machine* m, goroutine& g) noexcept { launch_on(where, scheduler, m, g); },
      std::forward<F>(f), std::forward<Args>(args)...);
}

}  // namespace go_detail

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/on_host_definition.hpp>
#endif

#endif
