// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// fork_join: two functions, the second one by whichever processor has nothing to do. How that works
// is in sched/fork/fork.hpp.
#ifndef THRUM_FORK_JOIN_HPP
#define THRUM_FORK_JOIN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/fork/fork.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/join_handle.hpp>

#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI {

namespace fork_detail {

using namespace sched;

/// A result in a pair: nothing is something there.
template <class R>
using kept = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

template <class F>
using result_of = kept<std::invoke_result_t<F>>;

template <class F>
THRUM_INLINE result_of<F> call(F&& f) {
  if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
    std::forward<F>(f)();
    return {};
  } else {
    return std::forward<F>(f)();
  }
}

/// Whether the running goroutine has been told to end: it begins nothing.
inline bool is_exiting() noexcept {
  const machine* const m = current_m();
  return m != nullptr && m->g != nullptr && m->g->exiting;
}

/// Runs the second function after the first one has failed. Drops its exception, unless that ends the
/// goroutine. Inside a handler.
template <class G>
THRUM_COLD void call_in_vain(G&& g) {
  if (is_exiting()) {
    return;
  }
#if THRUM_EXCEPTIONS
  try {
    call(std::forward<G>(g));
  } catch (const goroutine_exit&) {
    throw;
  } catch (...) {
  }
#else
  call(std::forward<G>(g));
#endif
}

/// The second function as others can run it.
template <class G>
struct second_half : forked {
  using result = std::invoke_result_t<G>;

  second_half(std::remove_reference_t<G>& g, bool may_be_cancelled) noexcept
      : forked(&run_for_thief, may_be_cancelled), function(g) {}
  second_half(const second_half&) = delete;
  ~second_half() {}  // see take_result

  static void run_for_thief(forked& half) noexcept {
    auto& own = static_cast<second_half&>(half);
    auto& slot = *::new (static_cast<void*>(&own.slot)) go_detail::result_slot<result>;
#if THRUM_EXCEPTIONS
    try {
      own.call_into(slot);
    } catch (const goroutine_exit&) {
      slot.exited = true;
    } catch (...) {
      slot.error = std::current_exception();
    }
#else
    own.call_into(slot);
#endif
  }

  /// What came of it, by a thief.
  THRUM_NOINLINE kept<result> take_result() {
    struct dropped {
      ~dropped() { of.drop_result(); }
      second_half& of;
    };
    const dropped at_end{*this};
#if THRUM_EXCEPTIONS
    if (slot.error) {
      std::rethrow_exception(std::move(slot.error));
    }
#endif
    if (slot.exited) {
      exit_goroutine();
    }
    if constexpr (std::is_void_v<result>) {
      return {};
    } else if constexpr (std::is_reference_v<result>) {
      return static_cast<result>(**slot.value);
    } else {
      return std::move(*slot.value);
    }
  }
  void drop_result() noexcept { std::destroy_at(&slot); }

  std::remove_reference_t<G>& function;
  union {
    go_detail::result_slot<result> slot;  // once a thief has run it
  };

 private:
  void call_into(go_detail::result_slot<result>& slot_to_fill) {
    if constexpr (std::is_void_v<result>) {
      std::forward<G>(function)();
    } else if constexpr (std::is_reference_v<result>) {
      auto&& referred = std::forward<G>(function)();
      slot_to_fill.value.emplace(std::addressof(referred));
    } else {
      slot_to_fill.value.emplace(std::forward<G>(function)());
    }
  }
};

/// Runs f(), then g(): no other processor can take g.
template <class F, class G>
THRUM_NOINLINE std::pair<result_of<F>, result_of<G>> one_by_one(F&& f, G&& g) {
  auto&& first = [&]() -> result_of<F> {
    THRUM_TRY { return call(std::forward<F>(f)); }
    THRUM_CATCH_ALL {
      call_in_vain(std::forward<G>(g));
      THRUM_RETHROW;
    }
  }();
  return {std::forward<result_of<F>>(first), call(std::forward<G>(g))};
}

/// The first function has failed: the second one ends before that goes on.
template <class G>
THRUM_COLD void end_second(forker& own, second_half<G>& second) {
  if (take_back(own, second)) {
    call_in_vain(std::forward<G>(second.function));
    return;
  }
  const bool has_exited = second.slot.exited;
  second.drop_result();
  if (has_exited) {
    exit_goroutine();
  }
}

template <class F, class G>
THRUM_NOINLINE std::pair<result_of<F>, result_of<G>> begin_to_fork(F&& f, G&& g);

}  // namespace fork_detail

/// Runs f() and g() and returns both results when both have ended; for a function that returns nothing,
/// std::monostate. If another processor has nothing to do, it runs g. Neither is copied; a result is moved.
/// If no processor takes g, it runs after f, and the fork costs ten nanoseconds: f and g may be small.
/// While the goroutine waits for g it runs parts of g that can be had.
///
/// An exception that leaves one of them is thrown when both have ended; if both fail, that of f.
/// Both may park and block like any goroutine's function, and wait for each other. g may run as
/// another goroutine, with an id and goroutine_locals of its own, on another thread; its stack is as
/// large as the caller's, or larger. The wait is no cancellation point. When the runtime stops, f and g are
/// cancelled. If f or g ends so, or by this_goroutine::exit(), the caller ends, whatever becomes of the
/// other; a g that no processor has begun by then is left out. Without exceptions nothing is cancelled
/// inside.
///
/// On a foreign thread, and inside blocking(): f(), then g(). But inside a blocking() that stands in a
/// fork g may be taken, and the wait for it blocks the thread. Thread-safe as f and g are with each
/// other.
template <class F, class G>
inline auto fork_join(F&& f, G&& g)
    -> std::pair<fork_detail::result_of<F>, fork_detail::result_of<G>> {
  using namespace fork_detail;
  using first_result = result_of<F>;
  const sched::machine* const m = sched::current_m();
  sched::forker* const own = sched::forker_of(m);
  if (own == nullptr) [[unlikely]] {
    return begin_to_fork(std::forward<F>(f), std::forward<G>(g));
  }
  second_half<G> second(g, sched::may_cancel(*m));
  if (!sched::offer(*own, second)) [[unlikely]] {
    return one_by_one(std::forward<F>(f), std::forward<G>(g));
  }
  auto&& first = [&]() -> first_result {
    THRUM_TRY { return call(std::forward<F>(f)); }
    THRUM_CATCH_ALL {
      end_second(*own, second);
      THRUM_RETHROW;
    }
  }();
  if (sched::take_back(*own, second)) [[likely]] {
    return {std::forward<first_result>(first), call(std::forward<G>(g))};
  }
  return {std::forward<first_result>(first), second.take_result()};
}

namespace fork_detail {

/// The outermost fork of a goroutine.
template <class F, class G>
THRUM_NOINLINE std::pair<result_of<F>, result_of<G>> begin_to_fork(F&& f, G&& g) {
  if (!may_fork()) {
    return one_by_one(std::forward<F>(f), std::forward<G>(g));
  }
  const forker own;
  return fork_join(std::forward<F>(f), std::forward<G>(g));
}

}  // namespace fork_detail

}}  // namespace thrum::THRUM_ABI

#endif
