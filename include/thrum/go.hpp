// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// go and spawn on the runtime of the calling goroutine.
#ifndef THRUM_GO_HPP
#define THRUM_GO_HPP

#include <thrum/attributes.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/start/task.hpp>
#include <thrum/on_host.hpp>
#include <thrum/runtime.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

using namespace sched;

/// The scheduler of the calling goroutine; throw_outside on a foreign thread.
inline runtime_scheduler& own_scheduler(const char* operation, const char* advice = nullptr) {
  auto* const m = current_m();
  if (m == nullptr) [[unlikely]] {
    throw_outside(operation, advice);
  }
  return *m->scheduler;
}

/// The runtime of the attributes, or else the caller's.
inline runtime& runtime_of(const attributes& how, const char* operation) {
  return how.runtime != nullptr ? *how.runtime
                                : *static_cast<runtime*>(own_scheduler(operation).config().user);
}

/// What attributes in braces are made into behind a function, and nothing else.
struct attributes_last {
  std::size_t stack_size = 0;
  std::string_view name{};
  thrum::priority priority = thrum::priority::normal;
  thrum::runtime* runtime = nullptr;
  bool on_host = false;
};

}  // namespace go_detail

/// Starts a goroutine that runs f(args...) on the current runtime. f and the arguments are moved or
/// copied, as std::thread does. An exception that leaves it goes to options::on_panic. Does not
/// block. usage_error outside of a runtime; std::system_error if there is no memory for its stack.
///
/// f may come behind what says how and where: attributes, go({.name = "loader"}, f); on_host,
/// go(on_host, f) or go(on_host, how, f); another runtime, go(other, f) or go(other, how, f), which may be
/// called from any thread and calls runtime::go.
template <class F, class... Args>
THRUM_INLINE void go(F&& f, Args&&... args) {
  if constexpr (!go_detail::not_runtime<F>) {
    f.go(std::forward<Args>(args)...);
  } else if constexpr (go_detail::is_on_host<F>) {
    go_detail::runtime_of({}, "go").go(f, std::forward<Args>(args)...);
  } else {
    go_detail::start_task(go_detail::own_scheduler("go"), std::forward<F>(f),
                          std::forward<Args>(args)...);
  }
}
template <class F = attributes, class... Args>
THRUM_INLINE void go(attributes how, F&& f, Args&&... args) {
  go_detail::runtime_of(how, "go").go(how, std::forward<F>(f), std::forward<Args>(args)...);
}

/// Says that the attributes come first.
template <go_detail::not_runtime F>
requires(!go_detail::is_on_host<F> &&
         !go_detail::is_attributes<F>) void go(F&& /*f*/, go_detail::attributes_last /*how*/) {
  static_assert(!sizeof(F), "go, spawn: the attributes come first: go({.name = \"loader\"}, f)");
}

/// Starts a goroutine and returns the handle on its result. Arguments and errors as go; the exception that
/// leaves it is thrown by join(). As std::jthread, an f that must be given a std::stop_token before the
/// arguments gets one, of which the handle requests the stop: by request_stop(), and before its
/// destructor joins.
template <class F, class... Args>
THRUM_INLINE auto spawn(F&& f, Args&&... args) -> typename go_detail::spawned<F, Args...>::type {
  if constexpr (!go_detail::not_runtime<F>) {
    return f.spawn(std::forward<Args>(args)...);
  } else if constexpr (go_detail::is_on_host<F>) {
    return go_detail::runtime_of({}, "spawn").spawn(f, std::forward<Args>(args)...);
  } else {
    return go_detail::spawn_task(go_detail::own_scheduler("spawn"), std::forward<F>(f),
                                 std::forward<Args>(args)...);
  }
}
template <class F = attributes, class... Args>
THRUM_INLINE auto spawn(attributes how, F&& f, Args&&... args) ->
    typename go_detail::spawned<F, Args...>::type {
  return go_detail::runtime_of(how, "spawn")
      .spawn(how, std::forward<F>(f), std::forward<Args>(args)...);
}

/// Says that the attributes come first.
template <go_detail::not_runtime F>
requires(!go_detail::is_on_host<F> &&
         !go_detail::is_attributes<F>) join_handle<void> spawn(F&& /*f*/,
                                                               go_detail::attributes_last /*how*/) {
  static_assert(!sizeof(F), "go, spawn: the attributes come first: go({.name = \"loader\"}, f)");
  return {};
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
