// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// go and spawn on the runtime of the calling goroutine.
#ifndef THRUM_GO_HPP
#define THRUM_GO_HPP

#include <thrum/attributes.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/start/task.hpp>
#include <thrum/on_host.hpp>
#include <thrum/runtime.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

using namespace sched;

/// The scheduler of the calling goroutine; usage_error on a foreign thread.
inline runtime_scheduler& own_scheduler(const char* message) {
  auto* const m = current_m();
  if (m == nullptr) [[unlikely]] {
    base::throw_usage(message);
  }
  return *m->scheduler;
}

/// What attributes in braces are made into behind a function, and nothing else.
struct attributes_last {
  std::size_t stack_size = 0;
  std::string_view name{};
  thrum::priority priority = thrum::priority::normal;
};

}  // namespace go_detail

/// Starts a goroutine that runs f(args...) on the current runtime. f and the arguments are moved or
/// copied, as std::thread does. An exception that leaves it goes to options::on_panic. Does not
/// block. usage_error outside of a runtime; std::system_error if there is no memory for its stack.
template <go_detail::not_attributes F, class... Args>
THRUM_INLINE void go(F&& f, Args&&... args) {
  go_detail::start_task(
      go_detail::own_scheduler("go: called outside of a runtime; use thrum::run, or "
                               "runtime::go from a foreign thread"),
      {}, std::forward<F>(f), std::forward<Args>(args)...);
}

/// go(f, args...) with a name, a stack size or a priority of its own.
template <class F, class... Args>
THRUM_INLINE void go(const attributes& how, F&& f, Args&&... args) {
  go_detail::start_task(
      go_detail::own_scheduler("go: called outside of a runtime; use thrum::run, or "
                               "runtime::go from a foreign thread"),
      how, std::forward<F>(f), std::forward<Args>(args)...);
}

/// Says that the attributes come first.
template <go_detail::not_attributes F>
void go(F&& /*f*/, go_detail::attributes_last /*how*/) {
  static_assert(!sizeof(F), "go, spawn: the attributes come first: go({.name = \"loader\"}, f)");
}

/// go(f, args...) on the host's thread only: see on_host.
template <go_detail::not_attributes F, class... Args>
THRUM_INLINE void go(on_host_t, F&& f, Args&&... args) {
  auto& scheduler = go_detail::own_scheduler(
      "go: called outside of a runtime; use thrum::run, or runtime::go from a foreign thread");
  go_detail::start_task_on(go_detail::host_for_start(scheduler), scheduler, {}, std::forward<F>(f),
                           std::forward<Args>(args)...);
}
template <class F, class... Args>
THRUM_INLINE void go(on_host_t, const attributes& how, F&& f, Args&&... args) {
  auto& scheduler = go_detail::own_scheduler(
      "go: called outside of a runtime; use thrum::run, or runtime::go from a foreign thread");
  go_detail::start_task_on(go_detail::host_for_start(scheduler), scheduler, how, std::forward<F>(f),
                           std::forward<Args>(args)...);
}

/// Starts a goroutine on the runtime `where`, from any thread: calls runtime::go.
template <go_detail::not_attributes F, class... Args>
THRUM_INLINE void go(runtime& where, F&& f, Args&&... args) {
  where.go(std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F, class... Args>
THRUM_INLINE void go(runtime& where, const attributes& how, F&& f, Args&&... args) {
  where.go(how, std::forward<F>(f), std::forward<Args>(args)...);
}

/// Starts a goroutine and returns the handle on its result. Errors as go; the exception that leaves
/// it is thrown by join(). As std::jthread, an f that must be given a std::stop_token before the
/// arguments gets one, of which the handle requests the stop: by request_stop(), and before its
/// destructor joins.
template <go_detail::not_attributes F, class... Args>
THRUM_INLINE auto spawn(F&& f, Args&&... args) -> join_handle<go_detail::spawn_result<F, Args...>> {
  return go_detail::spawn_task(
      go_detail::own_scheduler(
          "spawn: called outside of a runtime; use thrum::run, or runtime::spawn "
          "from a foreign thread"),
      {}, std::forward<F>(f), std::forward<Args>(args)...);
}

/// spawn(f, args...) with a name, a stack size or a priority of its own.
template <class F, class... Args>
THRUM_INLINE auto spawn(const attributes& how, F&& f, Args&&... args)
    -> join_handle<go_detail::spawn_result<F, Args...>> {
  return go_detail::spawn_task(
      go_detail::own_scheduler(
          "spawn: called outside of a runtime; use thrum::run, or runtime::spawn "
          "from a foreign thread"),
      how, std::forward<F>(f), std::forward<Args>(args)...);
}

/// Says that the attributes come first.
template <go_detail::not_attributes F>
join_handle<void> spawn(F&& /*f*/, go_detail::attributes_last /*how*/) {
  static_assert(!sizeof(F), "go, spawn: the attributes come first: go({.name = \"loader\"}, f)");
  return {};
}

/// spawn(f, args...) on the host's thread only: see on_host. So spawn(on_host, f).join() calls f there.
template <go_detail::not_attributes F, class... Args>
THRUM_INLINE auto spawn(on_host_t, F&& f, Args&&... args)
    -> join_handle<go_detail::spawn_result<F, Args...>> {
  auto& scheduler = go_detail::own_scheduler(
      "spawn: called outside of a runtime; use thrum::run, or runtime::spawn from a foreign "
      "thread");
  return go_detail::spawn_task_on(go_detail::host_for_start(scheduler), scheduler, {},
                                  std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F, class... Args>
THRUM_INLINE auto spawn(on_host_t, const attributes& how, F&& f, Args&&... args)
    -> join_handle<go_detail::spawn_result<F, Args...>> {
  auto& scheduler = go_detail::own_scheduler(
      "spawn: called outside of a runtime; use thrum::run, or runtime::spawn from a foreign "
      "thread");
  return go_detail::spawn_task_on(go_detail::host_for_start(scheduler), scheduler, how,
                                  std::forward<F>(f), std::forward<Args>(args)...);
}

/// Starts a goroutine on the runtime `where`, from any thread, and returns its handle: calls
/// runtime::spawn.
template <go_detail::not_attributes F, class... Args>
THRUM_INLINE auto spawn(runtime& where, F&& f, Args&&... args)
    -> join_handle<go_detail::spawn_result<F, Args...>> {
  return where.spawn(std::forward<F>(f), std::forward<Args>(args)...);
}
template <class F, class... Args>
THRUM_INLINE auto spawn(runtime& where, const attributes& how, F&& f, Args&&... args)
    -> join_handle<go_detail::spawn_result<F, Args...>> {
  return where.spawn(how, std::forward<F>(f), std::forward<Args>(args)...);
}

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE void panic(goroutine& g, std::exception_ptr error) noexcept {
  static_cast<runtime*>(g.scheduler->config().user)->panic(std::move(error), g.id);
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
