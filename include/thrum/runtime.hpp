// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The runtime: a scheduler with its threads, as an object.
#ifndef THRUM_RUNTIME_HPP
#define THRUM_RUNTIME_HPP

#include <thrum/attributes.hpp>
#include <thrum/debug/stats.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/debug/dump_form.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/task.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/on_host.hpp>
#include <thrum/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace debug {
class trouble_detector;
}

namespace sched {
class host_bell;
class monitor;
}  // namespace sched

namespace go_detail {

/// What only the library itself may ask of a runtime.
struct runtime_role {
  bool is_whole_program = false;  // the thread that made it waits for it
  sched::virtual_clock* clock = nullptr;
};

/// usage_error: `operation` needs a runtime. No advice: to use run() or the runtime's operation.
[[noreturn]] [[gnu::cold]] void throw_outside(const char* operation, const char* advice);

}  // namespace go_detail

/// Goroutines and the threads that run them. Several may live in one process; each has its own
/// processors, threads and stacks, and channels or mutexes may be shared between them. All members
/// may be called from any thread, except where they say otherwise.
///
/// When not to use: a program that only has a main goroutine to run is shorter with run().
class runtime {
 public:
  /// Makes a runtime. Threads start when there is work for them. std::system_error if the system, or
  /// options::memory, has no memory, or the system no thread; usage_error for only one of two hooks.
  explicit runtime(options settings = {})
      : runtime(std::move(settings), go_detail::runtime_role()) {}

  /// For the library.
  runtime(options settings, go_detail::runtime_role role);

  /// stop(), then joins every thread. Not from one of its own goroutines, unless that has called
  /// exit() and the runtime is a static object: then it is left as it is.
  ~runtime();

  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Starts a goroutine that runs f(args...); both are moved or copied as std::thread does. f may come
  /// behind on_host and attributes: go(on_host, f), go({.name = "loader"}, f), go(on_host, how, f).
  /// std::system_error if there is no memory for its stack; usage_error once the runtime is stopped, and if
  /// the attributes name another runtime.
  template <class F, class... Args>
  THRUM_INLINE void go(F&& f, Args&&... args) {
    if constexpr (go_detail::is_on_host<F>) {
      go(attributes(f), std::forward<Args>(args)...);
    } else {
      must_accept("runtime::go: the runtime is stopped");
      go_detail::start_task(*scheduler_, std::forward<F>(f), std::forward<Args>(args)...);
    }
  }
  template <class F = attributes, class... Args>
  THRUM_INLINE void go(attributes how, F&& f, Args&&... args) {
    if constexpr (go_detail::is_attributes<F>) {
      go(go_detail::merged(how, f), std::forward<Args>(args)...);
    } else {
      must_accept("runtime::go: the runtime is stopped", how);
      go_detail::start_task_on(go_detail::host_for_start(*scheduler_, how), *scheduler_, how,
                               std::forward<F>(f), std::forward<Args>(args)...);
    }
  }

  /// As go, and keeps the result for join().
  template <class F, class... Args>
  THRUM_INLINE auto spawn(F&& f, Args&&... args) -> typename go_detail::spawned<F, Args...>::type {
    if constexpr (go_detail::is_on_host<F>) {
      return spawn(attributes(f), std::forward<Args>(args)...);
    } else {
      must_accept("runtime::spawn: the runtime is stopped");
      return go_detail::spawn_task(*scheduler_, std::forward<F>(f), std::forward<Args>(args)...);
    }
  }
  template <class F = attributes, class... Args>
  THRUM_INLINE auto spawn(attributes how, F&& f, Args&&... args) ->
      typename go_detail::spawned<F, Args...>::type {
    if constexpr (go_detail::is_attributes<F>) {
      return spawn(go_detail::merged(how, f), std::forward<Args>(args)...);
    } else {
      must_accept("runtime::spawn: the runtime is stopped", how);
      return go_detail::spawn_task_on(go_detail::host_for_start(*scheduler_, how), *scheduler_, how,
                                      std::forward<F>(f), std::forward<Args>(args)...);
    }
  }

  // ---- in the main loop of a host ----
  //
  // A thread that is none of the library's becomes a host of the runtime by its first call of one of
  // these, and is one until it ends. During such a call it runs goroutines, on a processor of its own
  // beside procs(). While it waits for goroutines (join, block_on, wait_group::wait, channels, select
  // and the like, not mutexes), it runs them meanwhile. Each returns how many slices were run, and
  // returns at once, with 0, when the runtime is stopped.
  //
  // A goroutine that computes without calling the library cannot be taken off the thread: the call
  // lasts until it does. One that calls blocking(), or makes a thread_lock, goes to another thread
  // first, unless it is bound to the host. usage_error when called by a goroutine, in a
  // testing::bubble, by more than 64 threads, or by the destructor of a thread_local as the thread
  // ends; std::system_error if there is no memory.

  /// Runs what is ready now, a slice of each at most, and does not wait: for the begin or the end of a
  /// frame, or as often as options::on_host_work says. Goroutines of background priority are left to the
  /// processors, as they are while the thread waits.
  std::size_t poll();

  /// Runs goroutines, and waits for some to run, until the time is over; at the least as long as a
  /// goroutine does not come to a call of the library. Ends early when the runtime is stopped.
  template <class Rep, class Period>
  std::size_t run_for(std::chrono::duration<Rep, Period> time) {
    return run_until_ns(time_detail::deadline_after(time));
  }

  /// Runs goroutines until none is ready.
  std::size_t run_until_idle();

  /// So `{.name = "loader"}` may follow a runtime: go(runtime, {.name = "loader"}, f).
  operator attributes() noexcept { return {.runtime = this}; }

  /// Runs f as a goroutine and waits for it: returns what it returns, throws what it throws.
  template <class F>
  THRUM_INLINE auto block_on(F&& f) -> go_detail::task_result<F> {
    return spawn(std::forward<F>(f)).join();
  }

  /// Ends all goroutines: those that are parked at a cancellation point unwind, the others are
  /// waited for until they come to one or end. Starting one afterwards is a usage_error, except
  /// from a goroutine that is still running. Idempotent. usage_error from one of its own
  /// goroutines.
  void stop();

  /// The number of processors in force.
  unsigned procs() const noexcept { return scheduler_->procs(); }

  /// Changes it. More processors are there at once; a surplus one goes as soon as what it runs next
  /// blocks, yields or ends its time slice. 0: default_procs(). Does not block.
  void procs(unsigned n);

  /// Figures of this moment. Each is exact, but they are not of one instant.
  stats_snapshot stats() const;

  /// As thrum::dump_goroutines, of this runtime.
  void dump_goroutines(std::FILE* to = stderr, dump_form form = dump_form::full) const;

  /// The runtime of the calling goroutine or of the calling thread of a runtime, else null.
  static runtime* current() noexcept {
    auto* const m = sched::current_m();
    return m == nullptr ? nullptr : static_cast<runtime*>(m->scheduler->config().user);
  }

  /// Becomes stop_requested() when stop() begins.
  std::stop_token stop_token() const noexcept { return stop_source_.get_token(); }

  /// What it waits for descriptors with: what the options say, or the usual one where the system does not
  /// give that. Any thread.
  poller_kind poller() const noexcept;

  /// For those who work on the library: the scheduler itself.
  sched::runtime_scheduler& scheduler() noexcept { return *scheduler_; }

  /// block_on for run(). For the library.
  template <class F>
  THRUM_INLINE auto run_main(F&& f) -> go_detail::task_result<F> {
    return go_detail::spawn_task_on(host_of_main(), *scheduler_, {.stack_size = main_stack_size()},
                                    std::forward<F>(f))
        .join();
  }

  /// What to do about an exception that left a goroutine. For the library.
  void panic(std::exception_ptr error, goroutine_id id) noexcept;

  /// What dump_goroutines writes, as text, without stopping any goroutine. For the library.
  std::string describe_goroutines();

 private:
  static options complete(options settings);
  sched::scheduler_config configuration(const go_detail::runtime_role& role) noexcept;
  [[noreturn]] static void report_deadlock(void* user);

  class host_use;
  std::size_t run_until_ns(std::int64_t deadline);
  /// Bytes for the main goroutine; 0: as for others.
  std::size_t main_stack_size() const noexcept;
  /// The calling thread, if the main goroutine is to run there; else null.
  sched::host_thread* host_of_main();

  void must_accept(const char* message) const {
    if (scheduler_->ending.has_begun() && current() != this) [[unlikely]] {
      base::throw_usage(message);
    }
  }
  void must_accept(const char* message, const attributes& how) const {
    if (how.runtime != nullptr && how.runtime != this) [[unlikely]] {
      base::throw_usage(
          "runtime::go, runtime::spawn: attributes::runtime names another runtime; use thrum::go");
    }
    must_accept(message);
  }

  const options settings_;
  std::stop_source stop_source_;
  std::mutex stop_mutex_;
  bool stopped_ = false;
  base::owner<debug::trouble_detector> detector_;
  base::owner<sched::host_bell> bell_;  // null: options::on_host_work is empty
  base::owner<sched::runtime_scheduler> scheduler_;
  base::owner<sched::monitor> monitor_;
};

/// Runs `main` as goroutine 1 of a new runtime and returns its int, or 0 if it returns nothing.
/// When it returns, the runtime is stopped: see runtime::stop. An exception that leaves `main`
/// leaves run; if this_goroutine::exit ends `main`, a usage_error does. When no goroutine can ever
/// run again, and the process has no other threads, the program ends with status 2 and a list of
/// all goroutines on standard error (options::detect_deadlock). With options::main_thread, `main` and
/// what it starts on_host run on the calling thread; usage_error then if that is a goroutine's.
/// std::system_error as the runtime's constructor.
template <class F>
THRUM_INLINE int run(options settings, F&& main) {
  runtime all(std::move(settings), {.is_whole_program = true});
  if constexpr (std::is_void_v<go_detail::task_result<F>>) {
    all.run_main(std::forward<F>(main));
    return 0;
  } else {
    return static_cast<int>(all.run_main(std::forward<F>(main)));
  }
}

/// run(settings, main) with options::from_environment() as its settings.
template <class F>
THRUM_INLINE int run(F&& main) {
  return run(options::from_environment(), std::forward<F>(main));
}

/// Writes every goroutine: id, name, state, what it waits for and since when, where it stands and where it
/// was started. Writes those of the runtime that the caller runs on; outside of one, as on a watchdog
/// thread, those of every runtime of the process. Looks at them in pieces, and stops all of them for a
/// moment for each, so that each goroutine is shown as it is at one time. A goroutine inside a system call
/// is shown without its callers. dump_form::counts stops no goroutine, and says how many goroutines share a
/// state, a reason and a start, the most frequent first.
/// Names of functions come from the program's symbols; files and lines, if it was compiled with -g,
/// from the system's addr2line, for which it waits two seconds at most.
THRUM_OUT_OF_LINE void dump_goroutines(std::FILE* to = stderr, dump_form form = dump_form::full);

/// The figures of the runtime that the caller runs on; outside of one, of the only runtime of the
/// process. usage_error if there is none or more than one: then use runtime::stats.
THRUM_OUT_OF_LINE stats_snapshot stats();

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/start/runtime_parts.hpp>  // IWYU pragma: keep: the bodies
#endif

#endif
