// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// task_group: goroutines that work on one thing, of which the first to fail ends the others.
#ifndef THRUM_GROUP_HPP
#define THRUM_GROUP_HPP

#include <thrum/context.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/group/each.hpp>
#include <thrum/go.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/wait_group.hpp>
#include <thrum/sync/weighted_semaphore.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// Goroutines that end together: wait() returns when all have ended, and throws the exception of the first
/// one that failed. From that failure on, a stop is requested on stop_token(), which the others may look
/// at. All members but wait() may be called from any goroutine, also one of the group; wait() by one at a
/// time. The destructor asks goroutines that still run to stop, as std::jthread's does, and waits for them.
/// It drops an exception that wait() has not thrown: if the work must be done, call wait(). From Go's
/// errgroup.
class task_group {
 public:
  /// At most `limit` of them run at the same time; 0: any number.
  explicit task_group(std::size_t limit = 0) : slots_(to_permits(limit)) {}

  /// A group below a context: when that is done, a stop is requested of the group. `limit` as above.
  explicit task_group(thrum::context above, std::size_t limit = 0)
      : slots_(to_permits(limit)), above_(std::move(above)) {}
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group();

  /// Starts f(args...) as a goroutine of the current runtime. Blocks while the limit is reached;
  /// then it is a cancellation point. The goroutine has ended once what is kept of f and the
  /// arguments is destroyed: that must not be what keeps the group alive, nor wait for it.
  /// go(where, f, args...) starts it on the runtime `where`, from any thread; go(how, f, args...) with attributes.
  template <class F, class... Args>
  void go(F&& f, Args&&... args) {
    slots_.acquire();
    start_with_slot(std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  void go(attributes how, F&& f, Args&&... args) {
    slots_.acquire();
    start([&how](auto&&... task) { thrum::go(how, std::forward<decltype(task)>(task)...); },
          std::forward<F>(f), std::forward<Args>(args)...);
  }

  /// As go, if fewer of them run than the limit says; else false, and nothing is done. Does not
  /// block.
  template <class F, class... Args>
  [[nodiscard]] bool try_go(F&& f, Args&&... args) {
    const bool is_free = slots_.try_acquire();
    if (is_free) {
      start_with_slot(std::forward<F>(f), std::forward<Args>(args)...);
    }
    return is_free;
  }

  /// Changes how many of them run at the same time; 0: any number. Those that run, run on; calls of
  /// go that wait are let in as far as the new limit allows. Does not block.
  void limit(std::size_t limit) { slots_.max(to_permits(limit)); }

  /// How many may run at the same time; 0: any number.
  std::size_t limit() const noexcept;

  /// Blocks until all have ended; throws what left the first that failed. The group may then be
  /// used again. A cancellation point.
  void wait();

  /// wait() until a stop is requested; returns whether all have ended. The stop does not ask them to end.
  template <until_condition Stop>
  [[nodiscard]] bool wait(const Stop& stop) {
    const bool have_ended = running_.wait(stop);
    if (have_ended) {
      throw_first();
    }
    return have_ended;
  }

  /// Requested when the first of them fails, by request_stop(), or when the context above is done,
  /// while the group is there. A new one after wait() has thrown.
  std::stop_token stop_token();

  /// A context below the one above, if there is one, that is done when a stop is requested of the
  /// group. A new one after wait() has thrown. Unlike Go's, wait() without an error leaves it as it
  /// is.
  thrum::context context();

  /// Asks them to end.
  void request_stop();

  /// What f(element) returns for each element of a range, in the range's order: a goroutine each on
  /// the current runtime, of which at most `limit` run at the same time; 0: any number. When one
  /// throws, no more are started, and that is thrown once all have ended. f is called by several at
  /// a time; it may take a std::stop_token as a second argument, which is requested then. The
  /// elements are references into a range that is not a stream, else moved into the goroutine. Where
  /// one has no result because it was ended by this_goroutine::exit or by its runtime's stop:
  /// throws goroutine_exit inside a goroutine, usage_error elsewhere. A cancellation point.
  template <class Range, class F>
  static auto map(Range&& range, std::size_t limit, F&& f) {
    const auto go = [](task_group& group, auto&&... task) {
      group.go(std::forward<decltype(task)>(task)...);
    };
    return group_detail::map<task_group>(range, limit, f, go);
  }

  /// map(range, limit, f) with goroutines of the runtime `where`, from any thread.
  template <class Range, class F>
  static auto map(runtime& where, Range&& range, std::size_t limit, F&& f) {
    const auto go = [&where](task_group& group, auto&&... task) {
      group.go(where, std::forward<decltype(task)>(task)...);
    };
    return group_detail::map<task_group>(range, limit, f, go);
  }

  /// The first result of f(element) for the elements of a range; goroutines, limit and f as for map.
  /// With it a stop is requested of the others, which are waited for. If all throw: what left the
  /// first that did. usage_error if the range is empty. A cancellation point.
  template <class Range, class F>
  static auto first_success(Range&& range, std::size_t limit, F&& f) {
    const auto go = [](task_group& group, auto&&... task) {
      group.go(std::forward<decltype(task)>(task)...);
    };
    return group_detail::first_success<task_group>(range, limit, f, go);
  }

  /// first_success(range, limit, f) with goroutines of the runtime `where`, from any thread.
  template <class Range, class F>
  static auto first_success(runtime& where, Range&& range, std::size_t limit, F&& f) {
    const auto go = [&where](task_group& group, auto&&... task) {
      group.go(where, std::forward<decltype(task)>(task)...);
    };
    return group_detail::first_success<task_group>(range, limit, f, go);
  }

 private:
  template <class F, class... Args>
  void start_with_slot(F&& f, Args&&... args) {
    if constexpr (go_detail::not_runtime<F>) {
      start([](auto&&... task) { thrum::go(std::forward<decltype(task)>(task)...); },
            std::forward<F>(f), std::forward<Args>(args)...);
    } else {
      start([&f](auto&&... task) { f.go(std::forward<decltype(task)>(task)...); },
            std::forward<Args>(args)...);
    }
  }

  template <class Start, class F, class... Args>
  void start(Start go, F&& f, Args&&... args) {
    if constexpr (go_detail::is_task<F, Args...>()) {
      running_.add();
      THRUM_TRY { go(member(*this), std::forward<F>(f), std::forward<Args>(args)...); }
      THRUM_CATCH_ALL {
        leave();
        THRUM_RETHROW;
      }
    }
  }

  static std::ptrdiff_t to_permits(std::size_t limit) noexcept;

  /// What a goroutine of the group calls, with f and the arguments, which are destroyed before it is
  /// (bound_call in task.hpp): then the goroutine leaves the group. One that was not called does
  /// nothing.
  class member : public go_detail::told_of_goroutine {
   public:
    explicit member(task_group& group) noexcept : group_(group) {}
    member(member&& other) noexcept : group_(other.group_) {}  // none moves once called
    member& operator=(member&&) = delete;
    ~member() {
      if (was_called_) {
        end_locals();
        group_.leave();
      }
    }

    template <class F, class... Args>
    void operator()(F&& f, Args&&... args) {
      was_called_ = true;
      THRUM_TRY { std::invoke(std::forward<F>(f), std::forward<Args>(args)...); }
      THRUM_CATCH_ALL { group_.fail_unless_exiting(); }
    }

   private:
    task_group& group_;
    bool was_called_ = false;
  };

  void leave();

  /// When all have ended: throws what left the first that failed.
  void throw_first();

  std::stop_source source();

  /// Inside a handler: keeps the exception, unless it is the end of the goroutine.
  void fail_unless_exiting();

  weighted_semaphore slots_;
  wait_group running_;
  const std::optional<thrum::context> above_;
  mutex mutex_;
  std::exception_ptr error_;               // under mutex_
  std::stop_source stop_source_;           // under mutex_
  std::optional<thrum::context> context_;  // under mutex_; made when it is first asked for
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/stoppable.hpp>

#include <chrono>
#include <limits>
#include <mutex>

namespace thrum { inline namespace THRUM_ABI {

THRUM_COLD THRUM_OUT_OF_LINE void group_detail::throw_no_result(const char* message) {
  if (sched::is_goroutine()) {
    sched::exit_goroutine();
  }
  base::throw_usage(message);
}

THRUM_OUT_OF_LINE task_group::~task_group() {
  // A member that ends lets them in, or on, in memory that is gone.
  slots_.end_waits("task_group: it");
  running_.end_waits("task_group: it");
  // The members are cancelled themselves.
  const sched::uncancellable until_all_have_ended;
  if (!running_.wait_for(std::chrono::nanoseconds(0))) {
    request_stop();  // an exception may have brought us here: no other call asks them
    running_.wait();
  }
  if (context_.has_value()) {
    context_->node()->let_go();
  }
}

THRUM_OUT_OF_LINE void task_group::wait() {
  running_.wait();
  throw_first();
}

THRUM_OUT_OF_LINE void task_group::throw_first() {
#if THRUM_EXCEPTIONS
  std::exception_ptr error;
  std::optional<thrum::context> old;  // goes without the mutex: its end may call others
  {
    const std::lock_guard guard(mutex_);
    error = std::exchange(error_, nullptr);
    if (error != nullptr) {
      stop_source_ = std::stop_source();
      old.swap(context_);
    }
  }
  if (old.has_value()) {
    old->node()->let_go();
  }
  if (error != nullptr) {
    std::rethrow_exception(std::move(error));
  }
#endif
}

THRUM_OUT_OF_LINE std::stop_token task_group::stop_token() {
  if (!above_.has_value()) {
    return source().get_token();
  }
  const thrum::context own = context();
  return own.node()->stop_token(context_detail::context_node::watched::for_a_while);
}

THRUM_OUT_OF_LINE thrum::context task_group::context() {
  const std::lock_guard guard(mutex_);
  if (!context_.has_value()) {
    const thrum::context from = above_.has_value() ? *above_ : thrum::context::background();
    context_ = from.with_stop_token(stop_source_.get_token());
  }
  return *context_;
}

THRUM_OUT_OF_LINE void task_group::request_stop() {
  std::stop_source own = source();
  static_cast<void>(go_detail::request_stop_here(own));
}

THRUM_OUT_OF_LINE std::ptrdiff_t task_group::to_permits(std::size_t limit) noexcept {
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  const bool is_limit = limit != 0 && limit < static_cast<std::size_t>(most);
  return is_limit ? static_cast<std::ptrdiff_t>(limit) : most;
}

THRUM_OUT_OF_LINE std::size_t task_group::limit() const noexcept {
  const std::ptrdiff_t most = slots_.max();
  return most != std::numeric_limits<std::ptrdiff_t>::max() ? static_cast<std::size_t>(most) : 0;
}

THRUM_OUT_OF_LINE void task_group::leave() {
  slots_.release();
  running_.done();
}

THRUM_OUT_OF_LINE std::stop_source task_group::source() {
  const std::lock_guard guard(mutex_);
  return stop_source_;
}

THRUM_OUT_OF_LINE void task_group::fail_unless_exiting() {
#if THRUM_EXCEPTIONS
  try {
    throw;
  } catch (const goroutine_exit&) {
    throw;
  } catch (...) {
    {
      const std::lock_guard guard(mutex_);
      if (error_ == nullptr) {
        error_ = std::current_exception();
      }
    }
    request_stop();
  }
#endif
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
