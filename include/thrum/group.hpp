// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// task_group: goroutines that work on one thing, of which the first to fail ends the others.
#ifndef THRUM_GROUP_HPP
#define THRUM_GROUP_HPP

#include <thrum/base/config.hpp>
#include <thrum/go.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/sync/semaphore.hpp>
#include <thrum/sync/wait_group.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <stop_token>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// Goroutines that end together: wait() returns when all have ended, and throws the exception that
/// left the first one that failed. From that moment on stop_token() is requested, for the others to
/// look at. go() and stop_token() may be called from any goroutine, also one of the group; wait()
/// by one at a time. The destructor asks those that still run to stop, as std::jthread's does,
/// waits for them, and drops an exception that nobody has asked for: if their work is to be done,
/// call wait(). From Go's errgroup.
class task_group {
 public:
  /// At most `limit` of them run at the same time; 0: any number.
  explicit task_group(std::size_t limit = 0)
      : limited_(limit != 0), slots_(limit != 0 ? to_permits(limit) : 0) {}
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group();

  /// Starts f(args...) as a goroutine of the current runtime. Blocks while the limit is reached;
  /// then it is a cancellation point.
  template <go_detail::not_runtime F, class... Args>
  void go(F&& f, Args&&... args) {
    start([](auto&&... task) { thrum::go(std::forward<decltype(task)>(task)...); },
          std::forward<F>(f), std::forward<Args>(args)...);
  }

  /// The same on a runtime that is named, from any thread.
  template <class F, class... Args>
  void go(runtime& where, F&& f, Args&&... args) {
    start([&where](auto&&... task) { where.go(std::forward<decltype(task)>(task)...); },
          std::forward<F>(f), std::forward<Args>(args)...);
  }

  /// Blocks until all have ended; throws what left the first that failed. The group may then be
  /// used again. A cancellation point.
  void wait();

  /// Requested when the first of them fails, or by request_stop(). A new one after wait() has
  /// thrown.
  std::stop_token stop_token();

  /// Asks them to end.
  void request_stop();

 private:
  template <class Start, class F, class... Args>
  void start(Start go, F&& f, Args&&... args) {
    if constexpr (go_detail::is_task<F, Args...>()) {
      if (limited_) {
        slots_.acquire();
      }
      running_.add();
      THRUM_TRY {
        go(
            [this](auto&& function, auto&&... arguments) {
              const member guard(*this);
              THRUM_TRY {
                std::invoke(std::forward<decltype(function)>(function),
                            std::forward<decltype(arguments)>(arguments)...);
              }
              THRUM_CATCH_ALL { this->fail_unless_exiting(); }
            },
            std::forward<F>(f), std::forward<Args>(args)...);
      }
      THRUM_CATCH_ALL {
        leave();
        THRUM_RETHROW;
      }
    }
  }

  static std::ptrdiff_t to_permits(std::size_t limit) noexcept;

  /// A goroutine of the group, from its start to its end.
  class member {
   public:
    explicit member(task_group& group) noexcept : group_(group) {}
    ~member() { group_.leave(); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;

   private:
    task_group& group_;
  };

  void leave();

  std::stop_source source();

  /// Inside a handler: keeps the exception, unless it is the end of the goroutine.
  void fail_unless_exiting();

  const bool limited_;
  counting_semaphore<> slots_;
  wait_group running_;
  mutex mutex_;
  std::exception_ptr error_;      // under mutex_
  std::stop_source stop_source_;  // under mutex_
};

}}  // namespace thrum::THRUM_ABI

#if !THRUM_SEPARATE
#include <thrum/group_definition.hpp>
#endif

#endif
