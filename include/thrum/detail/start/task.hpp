// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Turns a callable into a goroutine: what lies at the top of its stack and what runs first.
#ifndef THRUM_DETAIL_START_TASK_HPP
#define THRUM_DETAIL_START_TASK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/start.hpp>
#include <thrum/join_handle.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

class runtime;

namespace go_detail {

using namespace sched;

template <class F, class... Args>
inline constexpr bool is_kept = (std::is_constructible_v<std::decay_t<F>, F> && ... &&
                                 std::is_constructible_v<std::decay_t<Args>, Args>);
template <class F, class... Args>
inline constexpr bool is_called = std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>;

/// Whether a goroutine can run f(args...). Where it cannot, this is the one error that the compiler
/// reports, if what needs more is left out then.
template <class F, class... Args>
consteval bool is_task() {
  constexpr bool called = is_called<F, Args...>;
  static_assert(called,
                "go, spawn: the function cannot be called with these arguments, which it gets as "
                "rvalues of their copies; pass a reference with std::ref(x)");
  static_assert(!called || is_kept<F, Args...>,
                "go, spawn: the goroutine keeps the function and its arguments, and one of them "
                "can be neither copied nor moved; std::move it, or pass a pointer");
  return called && is_kept<F, Args...>;
}

/// What a goroutine that runs f(args...) yields; nothing if it cannot, which is_task() says.
template <class F, class... Args>
using task_result =
    typename std::conditional_t<is_called<F, Args...>,
                                std::invoke_result<std::decay_t<F>, std::decay_t<Args>...>,
                                std::type_identity<void>>::type;

/// Whether spawn gives f a std::stop_token before the arguments: it must, to call it.
template <class F, class... Args>
inline constexpr bool wants_stop = !is_called<F, Args...> && is_called<F, std::stop_token, Args...>;

/// What a goroutine that spawn starts yields.
template <class F, class... Args>
using spawn_result = typename std::conditional_t<
    wants_stop<F, Args...>,
    std::invoke_result<std::decay_t<F>, std::stop_token, std::decay_t<Args>...>,
    std::type_identity<task_result<F, Args...>>>::type;

/// The exception that has left a goroutine, to the handler of its runtime.
void panic(goroutine& g, std::exception_ptr error) noexcept;

/// A callable and its arguments, as std::thread keeps them. The arguments are destroyed first: the
/// callable of a group, which gets the user's as an argument, tells the end when it is destroyed.
template <class F, class... Args>
struct bound_call {
  F f;
  std::tuple<Args...> args;

  decltype(auto) operator()() {
    return std::apply(
        [&](auto&... each) -> decltype(auto) {
          return std::invoke(std::move(f), std::move(each)...);
        },
        args);
  }
};

/// Most have no arguments, and what unpacks them takes a compiler longer than the rest.
template <class F>
struct bound_call<F> {
  F f;
  [[no_unique_address]] std::tuple<> args;

  decltype(auto) operator()() { return std::move(f)(); }
};

/// The base of a callable of the library's own that go_task tells in which goroutine it runs.
struct told_of_goroutine {
  /// Set before the call.
  goroutine* own = nullptr;

  /// Ends the goroutine's own values, before a group learns of its end. What they wait for may not
  /// throw: the goroutine ends.
  void end_locals() const noexcept {
    if (own->locals != nullptr) [[unlikely]] {
      own->uncancellable = 1;
      destroy_locals(own->locals);
    }
  }
};

/// Gives such a callable its goroutine. Callables that wrap another one specialise it.
template <class F>
struct tell {
  static void own(F& f, goroutine& g) noexcept {
    if constexpr (std::is_base_of_v<told_of_goroutine, F>) {
      f.own = &g;
    }
  }
};

/// The task of go.
template <class F, class... Args>
struct go_task {
  static constexpr join_state join = join_state::none;

  bound_call<F, Args...> call;

  static void run(goroutine& g) {
    auto* const task = static_cast<go_task*>(g.task);
    tell<F>::own(task->call.f, g);
#if THRUM_EXCEPTIONS
    if (g.scheduler->config().catches_panics) {
      try {
        task->call();
      } catch (const goroutine_exit&) {
      } catch (...) {
        panic(g, std::current_exception());
      }
    } else {
      // Not caught, an exception does not unwind: the report shows where it was thrown.
      try {
        task->call();
      } catch (const goroutine_exit&) {
      }
    }
#else
    task->call();
#endif
    g.uncancellable = 1;  // what is destroyed from here on may wait, but not throw
    std::destroy_at(task);
    end_goroutine(g);
  }

  static void discard(goroutine&) noexcept {}
};

/// The task of spawn. The slot comes first: it outlives the call and lies where the handle points.
template <class R, class F, class... Args>
struct spawn_task_of {
  static constexpr join_state join = join_state::running;

  result_slot<R> slot;
  union {
    bound_call<F, Args...> call;
  };

  template <class... From>
  explicit spawn_task_of(From&&... from) noexcept(noexcept(bound_call<F, Args...>{
      std::forward<From>(from)...}))
      : call{std::forward<From>(from)...} {}
  spawn_task_of(const spawn_task_of&) = delete;
  ~spawn_task_of() {}  // the parts end at different times: see run and discard

  static void run(goroutine& g) {
    auto* const task = static_cast<spawn_task_of*>(g.task);
#if THRUM_EXCEPTIONS
    try {
      if (g.id == 1) [[unlikely]] {  // the main goroutine: see debug/panic_report.hpp
        arch::call_watched([](void* own) { static_cast<spawn_task_of*>(own)->invoke(); }, task);
      } else {
        task->invoke();
      }
    } catch (const goroutine_exit&) {
      task->slot.exited = true;
    } catch (...) {
      task->slot.error = std::current_exception();
    }
#else
    task->slot.exited = true;  // unless it gets to the end
    task->invoke();
    task->slot.exited = false;
#endif
    g.uncancellable = 1;  // as above
    std::destroy_at(&task->call);
    end_goroutine(g);
  }

  static void discard(goroutine& g) noexcept {
    auto& slot = static_cast<spawn_task_of*>(g.task)->slot;
    report_if_lost(&g, slot);
    std::destroy_at(&slot);
  }

 private:
  void invoke() {
    if constexpr (std::is_void_v<R>) {
      call();
    } else if constexpr (std::is_reference_v<R>) {
      auto&& referred = call();
      slot.value.emplace(std::addressof(referred));
    } else {
      slot.value.emplace(call());
    }
  }
};

/// Where the caller stands, for reports: an address inside the function that starts a goroutine. All
/// functions between that and start_task are always inlined, so that the report names the program's
/// own function without optimisation, too.
THRUM_INLINE const void* caller_address() noexcept { return __builtin_return_address(0); }

/// Attributes, where none were given: what is not asked for is not looked at.
struct no_attributes {
  static constexpr std::size_t stack_size = 0;
  static constexpr std::string_view name = {};
};

/// How a goroutine is launched on any P.
struct launch_anywhere {
  const void* caller;
  THRUM_INLINE void operator()(fresh_goroutine& fresh) const noexcept { fresh.launch(caller, 0); }
};

/// What a goroutine with such a task is made for.
template <class Task>
inline constexpr task_form form_of{sizeof(Task), alignof(Task), &Task::run, &Task::discard,
                                   Task::join};

/// go, with launch_it in place of launch_anywhere.
template <class How, class Launch, class F, class... Args>
THRUM_INLINE void start_launched(runtime_scheduler& scheduler, const How& how, Launch launch_it,
                                 F&& f, Args&&... args) {
  if constexpr (is_task<F, Args...>()) {
    using call = bound_call<std::decay_t<F>, std::decay_t<Args>...>;
    using task = go_task<std::decay_t<F>, std::decay_t<Args>...>;
    section here;
    fresh_goroutine fresh(here, scheduler, form_of<task>, how.stack_size, how.name);
    fresh.build<task>(call{std::forward<F>(f), {std::forward<Args>(args)...}});
    launch_it(fresh);
  }
}

template <class F, class... Args>
THRUM_NOINLINE void start_task(runtime_scheduler& scheduler, F&& f, Args&&... args) {
  start_launched(scheduler, no_attributes(), launch_anywhere{caller_address()}, std::forward<F>(f),
                 std::forward<Args>(args)...);
}

/// spawn of what gets no other arguments than these.
template <class How, class Launch, class F, class... Args>
THRUM_INLINE auto spawn_bound(runtime_scheduler& scheduler, const How& how, Launch launch_it, F&& f,
                              Args&&... args) -> join_handle<task_result<F, Args...>> {
  using result = task_result<F, Args...>;
  if constexpr (is_task<F, Args...>()) {
    using task = spawn_task_of<result, std::decay_t<F>, std::decay_t<Args>...>;
    section here;
    fresh_goroutine fresh(here, scheduler, form_of<task>, how.stack_size, how.name);
    fresh.build<task>(std::forward<F>(f),
                      std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
    join_handle<result> handle(fresh.g(), static_cast<task*>(fresh.g().task)->slot);
    launch_it(fresh);
    return handle;
  } else {
    return join_handle<result>();
  }
}

/// spawn, with launch_it in place of launch_anywhere.
template <class How, class Launch, class F, class... Args>
THRUM_INLINE auto spawn_launched(runtime_scheduler& scheduler, const How& how, Launch launch_it,
                                 F&& f, Args&&... args) -> join_handle<spawn_result<F, Args...>> {
  if constexpr (wants_stop<F, Args...>) {
    std::stop_source source;
    auto handle = spawn_bound(scheduler, how, launch_it, std::forward<F>(f), source.get_token(),
                              std::forward<Args>(args)...);
    handle.stop_by(std::move(source));
    return handle;
  } else {
    return spawn_bound(scheduler, how, launch_it, std::forward<F>(f), std::forward<Args>(args)...);
  }
}

template <class F, class... Args>
THRUM_NOINLINE auto spawn_task(runtime_scheduler& scheduler, F&& f, Args&&... args)
    -> join_handle<spawn_result<F, Args...>> {
  return spawn_launched(scheduler, no_attributes(), launch_anywhere{caller_address()},
                        std::forward<F>(f), std::forward<Args>(args)...);
}

}  // namespace go_detail
}}  // namespace thrum::THRUM_ABI

#endif
