// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The runtime: a scheduler with its threads, as an object.
#ifndef THRUM_RUNTIME_HPP
#define THRUM_RUNTIME_HPP

#include <thrum/attributes.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/blocking.hpp>
#include <thrum/debug/dump.hpp>
#include <thrum/debug/goroutine_counts.hpp>
#include <thrum/debug/overflow_report.hpp>
#include <thrum/debug/panic_report.hpp>
#include <thrum/debug/schedtrace.hpp>
#include <thrum/debug/stats.hpp>
#include <thrum/debug/trouble.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/options.hpp>
#include <thrum/request_stop.hpp>
#include <thrum/sched/core/real_time.hpp>
#include <thrum/sched/io/poll_desc.hpp>
#include <thrum/sched/io/poll_wait.hpp>
#include <thrum/sched/life/process_exit.hpp>
#include <thrum/sched/life/registry.hpp>
#include <thrum/sched/life/shutdown.hpp>
#include <thrum/sched/run/loop.hpp>
#include <thrum/sched/run/threads.hpp>
#include <thrum/sched/watch/monitor.hpp>
#include <thrum/task.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace thrum::inline THRUM_ABI {

namespace sched {

/// What only the library itself may ask of a runtime.
struct runtime_role {
  bool is_whole_program = false;  // the thread that made it waits for it
  basic_virtual_clock<default_traits>* clock = nullptr;
};

}  // namespace sched

/// Goroutines and the threads that run them. Several may live in one process; each has its own
/// processors, threads and stacks, and channels or mutexes may be shared between them. All members
/// may be called from any thread, except where they say otherwise.
///
/// When not to use: a program that only has a main goroutine to run is shorter with run().
class runtime {
 public:
  /// Makes a runtime. Threads start when there is work for them. std::system_error if the system
  /// has no memory or no thread.
  explicit runtime(options settings = {}) : runtime(std::move(settings), sched::runtime_role()) {}

  /// For the library.
  runtime(options settings, sched::runtime_role role);

  /// stop(), then joins every thread. Not from one of its own goroutines, unless that has called
  /// exit() and the runtime is a static object: then it is left as it is.
  ~runtime();

  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Starts a goroutine that runs f(args...); both are moved or copied as std::thread does.
  /// std::system_error if there is no memory for its stack; usage_error once the runtime is
  /// stopped.
  template <class F, class... Args>
  void go(F&& f, Args&&... args) {
    must_accept("runtime::go: the runtime is stopped");
    sched::start_task(*scheduler_, {}, std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  void go(const attributes& how, F&& f, Args&&... args) {
    must_accept("runtime::go: the runtime is stopped");
    sched::start_task(*scheduler_, how, std::forward<F>(f), std::forward<Args>(args)...);
  }

  /// As go, and keeps the result for join().
  template <class F, class... Args>
  auto spawn(F&& f, Args&&... args) -> join_handle<sched::task_result<F, Args...>> {
    must_accept("runtime::spawn: the runtime is stopped");
    return sched::spawn_task(*scheduler_, {}, std::forward<F>(f), std::forward<Args>(args)...);
  }

  /// Runs f as a goroutine and waits for it: returns what it returns, throws what it throws.
  template <class F>
  auto block_on(F&& f) -> sched::task_result<F> {
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
  stats_snapshot stats() const { return debug::collect(*scheduler_); }

  /// As thrum::dump_goroutines, of this runtime.
  void dump_goroutines(std::FILE* to = stderr, dump_form form = dump_form::full) const;

  /// The runtime of the calling goroutine or of the calling thread of a runtime, else null.
  static runtime* current() noexcept {
    auto* const m = sched::current_m<sched::default_traits>();
    return m == nullptr ? nullptr : static_cast<runtime*>(m->scheduler->config().user);
  }

  /// Becomes stop_requested() when stop() begins.
  std::stop_token stop_token() const noexcept { return stop_source_.get_token(); }

  /// For those who work on the library: the scheduler itself.
  sched::basic_scheduler<sched::default_traits>& scheduler() noexcept { return *scheduler_; }

  /// What to do about an exception that left a goroutine. For the library.
  void panic(std::exception_ptr error, goroutine_id id) noexcept;

 private:
  using scheduler_type = sched::basic_scheduler<sched::default_traits>;
  using poll_events = sched::basic_poll_events<sched::default_traits>;
  using monitor_type = sched::basic_monitor<sched::default_traits>;
  using registry_type = sched::basic_registry<sched::default_traits>;

  static options complete(options settings);
  sched::scheduler_config configuration(const sched::runtime_role& role) noexcept;
  [[noreturn]] static void report_deadlock(void* user);

  void must_accept(const char* message) const {
    // relaxed: a misuse that races with stop() may be noticed or not
    if (scheduler_->stopping.load(std::memory_order_relaxed) && current() != this) [[unlikely]] {
      base::throw_usage(message);
    }
  }

  const options settings_;
  std::stop_source stop_source_;
  std::mutex stop_mutex_;
  bool stopped_ = false;
  debug::trouble_detector<sched::default_traits> detector_;
  std::unique_ptr<scheduler_type> scheduler_;
  std::unique_ptr<monitor_type> monitor_;
};

inline options runtime::complete(options settings) {
  {
    sched::environment_reader environment;
    environment.debug(settings);
    const unsigned procs = environment.procs();
    if (settings.procs == 0) {
      settings.procs = procs;
    }
  }
  if (settings.procs == 0) {
    settings.procs = default_procs();
  }
  if (settings.procs > sched::default_traits::max_procs) {
    settings.procs = sched::default_traits::max_procs;
  }
  if (settings.max_threads == 0) {
    settings.max_threads = 1;
  }
  // Longer than any run, and short enough to be added to any moment.
  constexpr std::chrono::hours year(24 * 365);
  settings.time_slice =
      std::clamp<std::chrono::nanoseconds>(settings.time_slice, std::chrono::microseconds(1), year);
  settings.report_blocked = std::min<std::chrono::seconds>(settings.report_blocked, year);
  settings.report_hogs = std::min(
      settings.report_hogs,
      static_cast<unsigned>(std::min<std::int64_t>(year / settings.time_slice, 1'000'000'000)));
  return settings;
}

inline sched::scheduler_config runtime::configuration(const sched::runtime_role& role) noexcept {
  sched::scheduler_config config;
  config.procs = settings_.procs;
  config.max_threads = settings_.max_threads;
  config.stack_class = sched::usable_stack_class(settings_.stack_size);
  config.time_slice_ns = settings_.time_slice.count();
  config.preempts = settings_.preempt != preemption::none;
  config.interrupts = settings_.preempt == preemption::async && os::has_preempt_signal;
  config.user = this;
  config.exit_hook = &registry_type::before_exit;
  config.stack_overrun = &debug::report_overrun<sched::default_traits>;
  config.is_whole_program = role.is_whole_program;
  config.catches_panics = static_cast<bool>(settings_.on_panic);
  if (settings_.on_thread_start) {
    config.thread_started = [](void* user, unsigned m) {
      static_cast<runtime*>(user)->settings_.on_thread_start(m);
    };
  }
  if (settings_.on_thread_stop) {
    config.thread_stopping = [](void* user, unsigned m) {
      static_cast<runtime*>(user)->settings_.on_thread_stop(m);
    };
  }
  if (settings_.schedtrace.count() > 0) {
    config.trace_every_ns = std::chrono::nanoseconds(settings_.schedtrace).count();
    config.trace = [](void* user, std::int64_t now) {
      auto& self = *static_cast<runtime*>(user);
      if (self.settings_.scheddetail) {
        debug::scheddetail(*self.scheduler_, now);
      } else {
        debug::schedtrace(*self.scheduler_, now);
      }
    };
  }
  if (settings_.dump_on_quit) {
    config.dump = [](void* user) {
      base::write_error(debug::describe_goroutines(*static_cast<runtime*>(user)->scheduler_,
                                                   debug::world::stopped, false));
    };
  }
  config.check_every_ns = detector_.period_ns();
  config.check = [](void* user) {
    auto& self = *static_cast<runtime*>(user);
    self.detector_.look(*self.scheduler_);
  };
  if (role.is_whole_program && settings_.detect_deadlock) {
    config.deadlock = &report_deadlock;
    config.bystanders = 1;
  }
  const std::size_t n = settings_.name.copy(config.name, sizeof config.name - 1);
  config.name[n] = '\0';
  return config;
}

/// Go's words and its exit status.
inline void runtime::report_deadlock(void* user) {
  std::string text = "fatal error: all goroutines are asleep - deadlock!\n\n";
  text.append(debug::describe_goroutines(*static_cast<runtime*>(user)->scheduler_,
                                         debug::world::quiet, true));
  base::write_error(text);
  os::exit_now(2);
}

inline runtime::runtime(options settings, sched::runtime_role role)
    : settings_(complete(std::move(settings))),
      detector_(std::chrono::nanoseconds(settings_.report_blocked).count(),
                settings_.time_slice.count() * settings_.report_hogs),
      scheduler_(std::make_unique<scheduler_type>(
          configuration(role),
          sched::basic_upcalls<sched::default_traits>{
              &sched::m_main<sched::default_traits>, &sched::start_spinner<sched::default_traits>,
              &sched::make_spare<sched::default_traits>, &sched::interrupt<sched::default_traits>,
              &sched::attend_running<sched::default_traits>,
              &sched::answer_monitor<sched::default_traits>, &poll_events::take,
              &poll_events::prefetch})),
      monitor_(std::make_unique<monitor_type>(*scheduler_)) {
  scheduler_->clock = role.clock;
  debug::install_panic_report<sched::default_traits>();
  os::install_fault_observer(&debug::report_overflow<sched::default_traits>);
  os::prepare_walks();
  const int error = blocking([&] {
    registry_type::add(*scheduler_);
    const sched::raised_priority before_ms;
    scheduler_->creator.priority_of_ms(before_ms.own());
    const int failed = scheduler_->open();
    return failed != 0 ? failed
                       : os::thread::start(monitor_->thread, &monitor_type::main, monitor_.get());
  });
  if (error != 0) {
    blocking([&] { registry_type::remove(*scheduler_); });
    base::throw_system(error, "runtime: cannot start the scheduler");
  }
  blocking([&] { registry_type::show(*scheduler_); });
  if (settings_.dump_on_quit) {
    os::quit_listener::open(
        [](void* own) noexcept { static_cast<scheduler_type*>(own)->creator.request_dump(); },
        scheduler_.get());
  }
}

inline runtime::~runtime() {
  if (current() == this && sched::basic_process_exit<sched::default_traits>::is_mine()) {
    // One of its goroutines has called exit(), which destroys it. The end is near.
    static_cast<void>(monitor_.release());
    static_cast<void>(scheduler_.release());
    return;
  }
  stop();
  blocking([&] {
    os::quit_listener::close(scheduler_.get());
    scheduler_->close();
    monitor_->thread.join();
    scheduler_->join_threads();
    registry_type::remove(*scheduler_);
    sched::poll_wait::detach_all(*scheduler_);
    monitor_.reset();
    scheduler_.reset();
  });
  debug::forget_main_exception();
}

inline void runtime::stop() {
  if (current() == this) {
    base::throw_usage(
        "runtime::stop: called by a goroutine of the same runtime, which would wait "
        "for itself");
  }
  const std::lock_guard guard(stop_mutex_);
  if (!stopped_) {
    sched::request_stop_here(stop_source_);
    blocking([&] {
      registry_type::retire(*scheduler_);
      sched::stop(*scheduler_);
    });
    stopped_ = true;
  }
}

inline void runtime::procs(unsigned n) {
  if (n == 0) {
    n = default_procs();
  }
  if (n > sched::default_traits::max_procs) {
    n = sched::default_traits::max_procs;
  }
  if (const int error = blocking([&] { return scheduler_->set_procs(n); }); error != 0) {
    base::throw_system(error, "runtime::procs: cannot make more processors");
  }
}

inline void runtime::panic([[maybe_unused]] std::exception_ptr error,
                           [[maybe_unused]] goroutine_id id) noexcept {
#if THRUM_EXCEPTIONS
  try {
    settings_.on_panic(std::move(error), id);
  } catch (const goroutine_exit&) {
    // The goroutine ends here anyway.
  }
#endif
}

/// Runs `main` as goroutine 1 of a new runtime and returns its int, or 0 if it returns nothing.
/// When it returns, the runtime is stopped: see runtime::stop. An exception that leaves `main`
/// leaves run; if this_goroutine::exit ends `main`, a usage_error does. When no goroutine can ever
/// run again, and the process has no other threads, the program ends with status 2 and a list of
/// all goroutines on standard error (options::detect_deadlock). std::system_error as the runtime's
/// constructor.
template <class F>
int run(options settings, F&& main) {
  runtime all(std::move(settings), {.is_whole_program = true});
  if constexpr (std::is_void_v<sched::task_result<F>>) {
    all.block_on(std::forward<F>(main));
    return 0;
  } else {
    return static_cast<int>(all.block_on(std::forward<F>(main)));
  }
}

/// The same with options::from_environment().
template <class F>
int run(F&& main) {
  return run(options::from_environment(), std::forward<F>(main));
}

inline void runtime::dump_goroutines(std::FILE* to, dump_form form) const {
  debug::write_goroutines(*scheduler_, to, form, [](auto f) { return blocking(f); });
}

/// Writes every goroutine: id, name, state, what it waits for and since when, where it stands and
/// where it was started. Of the runtime that the caller runs on; outside of one, as a watchdog
/// thread is, of every runtime of the process. They are looked at in pieces, for which all of them
/// are stopped for a moment each time, so that each goroutine is shown as it is at one time; one
/// that sits in a system call is shown without its callers. dump_form::counts stops nobody and
/// says how many goroutines do the same, the most frequent first, by state, reason and start.
/// Names of functions come from the program's symbols; files and lines, if it was compiled with -g,
/// from the system's addr2line, for which it waits two seconds at most.
inline void dump_goroutines(std::FILE* to = stderr, dump_form form = dump_form::full) {
  if (const runtime* const own = runtime::current()) {
    own->dump_goroutines(to, form);
    return;
  }
  sched::basic_registry<sched::default_traits>::for_each([&](auto& scheduler) {
    debug::write_goroutines(scheduler, to, form, [](auto f) { return f(); });
  });
}

/// The figures of the runtime that the caller runs on; outside of one, of the only runtime of the
/// process. usage_error if there is none or more than one: then use runtime::stats.
inline stats_snapshot stats() {
  if (const runtime* const own = runtime::current()) {
    return own->stats();
  }
  stats_snapshot result;
  unsigned found = 0;
  sched::basic_registry<sched::default_traits>::for_each([&](auto& scheduler) {
    if (++found == 1) {
      result = debug::collect(scheduler);
    }
  });
  if (found == 0) {
    base::throw_usage("stats: called outside of a runtime, and there is none");
  }
  if (found != 1) {
    base::throw_usage(
        "stats: called outside of a runtime, and there are several; use runtime::stats of one");
  }
  return result;
}

}  // namespace thrum::inline THRUM_ABI

#endif
