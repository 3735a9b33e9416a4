// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a runtime is made of: the life of its threads, the monitor, the reports.
#ifndef THRUM_DETAIL_START_RUNTIME_PARTS_HPP
#define THRUM_DETAIL_START_RUNTIME_PARTS_HPP

#include <thrum/blocking.hpp>
#include <thrum/debug/stats.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/debug/crash_report.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/debug/panic_report.hpp>
#include <thrum/detail/debug/schedtrace.hpp>
#include <thrum/detail/debug/trouble.hpp>
#include <thrum/detail/sched/core/open_close.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/host/host_attach.hpp>
#include <thrum/detail/sched/host/host_loop.hpp>
#include <thrum/detail/sched/io/poll_events.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/life/process_exit.hpp>
#include <thrum/detail/sched/life/registry.hpp>
#include <thrum/detail/sched/life/shutdown.hpp>
#include <thrum/detail/sched/run/m_main.hpp>
#include <thrum/detail/sched/thread/real_time.hpp>
#include <thrum/detail/sched/watch/monitor.hpp>
#include <thrum/detail/sched/watch/preempt.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/detail/trace/hooks.hpp>
#include <thrum/runtime.hpp>
#if THRUM_TRACE
#include <thrum/trace.hpp>  // IWYU pragma: keep: what the environment asks for
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

THRUM_COLD THRUM_OUT_OF_LINE void throw_outside(const char* operation, const char* advice) {
  std::string text(operation);
  text.append(": called outside of a runtime; ");
  if (advice != nullptr) {
    text.append(advice);
  } else {
    text.append("use thrum::run, or runtime::").append(operation).append(" from a foreign thread");
  }
  base::throw_usage(text.c_str());
}

}  // namespace go_detail

THRUM_OUT_OF_LINE options runtime::complete(options settings) {
  if (sched::traits::has_shadow_stack()) {
    base::throw_system(
        std::make_error_code(std::errc::not_supported),
        "runtime: this thread has a shadow stack, and goroutines have none; turn it off "
        "by GLIBC_TUNABLES=glibc.cpu.x86_shstk=off:glibc.cpu.aarch64_gcs=0");
  }
  {
    go_detail::environment_reader environment;
    environment.debug(settings);
    environment.poller(settings);
    const unsigned procs = environment.procs();
    if (settings.procs == 0) {
      settings.procs = procs;
    }
  }
  if (settings.procs == 0) {
    settings.procs = default_procs();
  }
  if (settings.procs > sched::traits::max_procs) {
    settings.procs = sched::traits::max_procs;
  }
  if ((settings.memory.allocate == nullptr) != (settings.memory.deallocate == nullptr)) {
    base::throw_usage(
        "runtime: options::memory has only one of allocate and deallocate; set both, or none");
  }
  if (settings.max_threads == 0) {
    settings.max_threads = 1;
  }
  // Longer than any run, and short enough to be added to any moment.
  constexpr std::chrono::hours year(24 * 365);
  settings.time_slice =
      std::clamp<std::chrono::nanoseconds>(settings.time_slice, std::chrono::microseconds(1), year);
  settings.timer_slack =
      std::clamp<std::chrono::nanoseconds>(settings.timer_slack, std::chrono::nanoseconds(0), year);
  settings.report_blocked = std::min<std::chrono::seconds>(settings.report_blocked, year);
  settings.report_hogs = std::min(
      settings.report_hogs,
      static_cast<unsigned>(std::min<std::int64_t>(year / settings.time_slice, 1'000'000'000)));
  trace_detail::start_by_environment();
  return settings;
}

THRUM_OUT_OF_LINE sched::scheduler_config runtime::configuration(
    const go_detail::runtime_role& role) noexcept {
  sched::scheduler_config config;
  config.procs = settings_.procs;
  config.max_threads = settings_.max_threads;
  config.memory = settings_.memory;
  config.stack_class = sched::usable_stack_class(settings_.stack_size);
  config.time_slice_ns = settings_.time_slice.count();
  config.timer_slack_ns = settings_.timer_slack.count();
  config.preempts = settings_.preempt != preemption::none;
  config.migrates = settings_.migrate;
  config.interrupts = settings_.preempt == preemption::async && os::has_preempt_signal &&
                      trace_detail::allows_interrupts();
  config.poller = settings_.poller == poller_kind::io_uring ? netpoll::choice::io_uring
                                                            : netpoll::choice::usual;
  config.user = this;
  config.exit_hook = &sched::registry::before_exit;
  config.reports_crashes = settings_.crash_report;
  config.stack_overrun = &debug::report_overrun;
  config.slow_stop = [](void* user) noexcept {
    THRUM_TRY {
      base::write_error(debug::describe_slow_stop(*static_cast<runtime*>(user)->scheduler_));
    }
    THRUM_CATCH_ALL {}  // without memory it is not said
  };
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
  if (settings_.dump_on_quit || THRUM_TRACE) {
    config.dump = [](void* user) {
      const auto& self = *static_cast<runtime*>(user);
      if (trace_detail::write_for_crash()) {
        return;
      }
      if (!trace_detail::take_late() && self.settings_.dump_on_quit) {
        base::write_error(
            debug::describe_goroutines(*self.scheduler_, debug::world::stopped, false));
      }
      trace_detail::write_flight();
    };
  }
  config.check_every_ns = detector_->period_ns();
  config.check = [](void* user) {
    auto& self = *static_cast<runtime*>(user);
    self.detector_->look(*self.scheduler_);
  };
  if (role.is_whole_program && settings_.detect_deadlock) {
    config.deadlock = &report_deadlock;
    config.passive_threads = 1;
  }
  config.bell = bell_.get();
  const std::size_t n = settings_.name.copy(config.name, sizeof config.name - 1);
  config.name[n] = '\0';
  return config;
}

THRUM_OUT_OF_LINE poller_kind runtime::poller() const noexcept {
  return netpoll::chosen(scheduler_->poller) == netpoll::choice::io_uring ? poller_kind::io_uring
                                                                          : poller_kind::usual;
}

/// Go's words and its exit status.
THRUM_OUT_OF_LINE void runtime::report_deadlock(void* user) {
  std::string text = "fatal error: all goroutines are asleep - deadlock!\n\n";
  text.append(debug::describe_goroutines(*static_cast<runtime*>(user)->scheduler_,
                                         debug::world::quiet, true));
  base::write_error(text);
  trace_detail::end_with_trouble();
  os::exit_now(2);
}

THRUM_OUT_OF_LINE runtime::runtime(options settings, go_detail::runtime_role role)
    : settings_(complete(std::move(settings))),
      detector_(
          new debug::trouble_detector(std::chrono::nanoseconds(settings_.report_blocked).count(),
                                      settings_.time_slice.count() * settings_.report_hogs)),
      bell_(settings_.on_host_work ? new sched::host_bell(
                                         [](void* own) noexcept {
                                           static_cast<runtime*>(own)->settings_.on_host_work();
                                         },
                                         this)
                                   : nullptr),
      scheduler_(new sched::runtime_scheduler(
          configuration(role),
          sched::upcall_table{&sched::m_main, &sched::start_spinner, &sched::make_spare,
                              &sched::interrupt, &sched::serve_running, &sched::answer_monitor,
                              &sched::poll_events::take, &sched::poll_events::prefetch})),
      monitor_(new sched::monitor(*scheduler_)) {
  scheduler_->clock = sched::runtime_clock(role.clock);
  debug::install_panic_report();
  if (settings_.preempt != preemption::cooperative) {
    debug::install_crash_report(settings_.crash_report);
  }
  os::prepare_walks();
  const int error = blocking([&] {
    if (bell_) {
      if (const int failed = bell_->start(); failed != 0) {
        return failed;
      }
    }
    sched::registry::add(*scheduler_);
    const sched::raised_priority before_ms;
    scheduler_->creator.priority_of_ms(before_ms.own());
    if (const int failed = scheduler_->open(); failed != 0) {
      return failed;
    }
    const int failed = -os::thread::start(monitor_->thread, &sched::monitor::main, monitor_.get());
    if (failed != 0) {
      scheduler_->close();
      scheduler_->join_threads();
    }
    return failed;
  });
  if (error != 0) {
    blocking([&] { sched::registry::remove(*scheduler_); });
    base::throw_system(os::error_code_of(error), "runtime: cannot start the scheduler");
  }
  blocking([&] { sched::registry::show(*scheduler_); });
  if (settings_.dump_on_quit || trace_detail::keeps_flight()) {
    os::quit_listener::open(
        [](void* own) noexcept {
          static_cast<sched::runtime_scheduler*>(own)->creator.request_dump();
        },
        scheduler_.get());
  }
}

THRUM_OUT_OF_LINE runtime::~runtime() {
  const bool is_copy = scheduler_->is_copy.get();
  if ((current() == this || is_copy) && sched::process_exit::is_mine()) {
    // One of its goroutines has called exit(), which destroys it; or its threads are in another
    // process. The end is near.
    static_cast<void>(monitor_.release());
    static_cast<void>(scheduler_.release());
    static_cast<void>(bell_.release());
    return;
  }
  stop();
  blocking([&] {
    bell_.reset();  // no goroutine is left that it could ring for
    sched::detach_all_hosts(*scheduler_);
    os::quit_listener::close(scheduler_.get());
    scheduler_->close();
    monitor_->thread.join();
    scheduler_->join_threads();
    sched::registry::remove(*scheduler_);
    sched::poll_wait::detach_all(*scheduler_);
    monitor_.reset();
    scheduler_.reset();
  });
  debug::forget_main_exception();
}

THRUM_OUT_OF_LINE void runtime::stop() {
  if (current() == this) {
    base::throw_usage(
        "runtime::stop: called by a goroutine of the same runtime, which would wait for itself; "
        "call it from outside of the runtime");
  }
  const std::lock_guard guard(stop_mutex_);
  if (!stopped_) {
    static_cast<void>(go_detail::request_stop_here(stop_source_));
    blocking([&] {
      sched::registry::retire(*scheduler_);
      sched::stop(*scheduler_);
    });
    stopped_ = true;
  }
}

THRUM_OUT_OF_LINE void runtime::procs(unsigned n) {
  if (n == 0) {
    n = default_procs();
  }
  if (n > sched::traits::max_procs) {
    n = sched::traits::max_procs;
  }
  if (const int error = blocking([&] { return scheduler_->set_procs(n); }); error != 0) {
    base::throw_system(os::error_code_of(error), "runtime::procs: cannot make more processors");
  }
}

THRUM_OUT_OF_LINE void runtime::panic([[maybe_unused]] std::exception_ptr error,
                                      [[maybe_unused]] goroutine_id id) noexcept {
#if THRUM_EXCEPTIONS
  try {
    settings_.on_panic(std::move(error), id);
  } catch (const goroutine_exit&) {
    // The goroutine ends here anyway.
  }
#endif
}

/// The calling thread as a host, for one call.
class runtime::host_use {
 public:
  host_use(runtime& own, const char* operation) {
    sched::runtime_scheduler& scheduler = *own.scheduler_;
    if (scheduler.is_copy.get()) {
      sched::refuse_after_fork();
    }
    if (sched::current_m() != nullptr) {
      refuse(operation,
             ": called on a thread that runs goroutines already; call it on a thread of your own, "
             "outside of goroutines");
    }
    if (scheduler.clock.is_virtual()) {
      refuse(operation,
             ": the runtime of a testing::bubble has no hosts; call it on a runtime of your own");
    }
    if (scheduler.hosts.has_stopped()) {
      return;
    }
    if (sched::is_ending_thread()) {
      refuse(operation,
             ": called by a destructor at the end of the thread; call it before the thread ends");
    }
    h_ = sched::attach(scheduler, &sched::help_while_waiting);
    if (h_ != nullptr) {
      auto* const attachments = sched::own_attachments();
      // cooperative: no signals are handled
      if (own.settings_.preempt != preemption::cooperative && attachments != nullptr) {
        attachments->prepare_for_faults();
      }
      return;
    }
    if (scheduler.hosts.made() == sched::traits::max_hosts) {
      refuse(operation,
             ": this runtime has 64 hosts, the most that it may have; let one of these threads end "
             "first");
    }
    base::throw_system(os::error_code_of(os::no_memory),
                       "runtime: no memory for a host; raise the memory limit");
  }
  ~host_use() {
    if (h_ != nullptr) {
      sched::unpin(*h_);
    }
  }
  host_use(const host_use&) = delete;
  host_use& operator=(const host_use&) = delete;

  /// Null: the runtime is stopped.
  sched::host_thread* host() const noexcept { return h_; }

 private:
  [[noreturn]] static void refuse(const char* operation, const char* why) {
    std::string text(operation);
    text.append(why);
    base::throw_usage(text.c_str());
  }

  sched::host_thread* h_ = nullptr;
};

THRUM_OUT_OF_LINE std::size_t runtime::poll() {
  const host_use use(*this, "runtime::poll");
  return use.host() != nullptr ? sched::poll_host(*use.host()) : 0;
}

THRUM_OUT_OF_LINE std::size_t runtime::run_until_ns(std::int64_t deadline) {
  const host_use use(*this, "runtime::run_for");
  return use.host() != nullptr ? sched::run_host_until(*use.host(), deadline) : 0;
}

THRUM_OUT_OF_LINE std::size_t runtime::run_until_idle() {
  const host_use use(*this, "runtime::run_until_idle");
  return use.host() != nullptr ? sched::run_host_until_idle(*use.host()) : 0;
}

THRUM_OUT_OF_LINE sched::host_thread* runtime::host_of_main() {
  if (!settings_.main_thread) {
    return nullptr;
  }
  const host_use use(*this, "run: options::main_thread");
  sched::host_thread& host = *use.host();
  host.only_bound = true;
  return &host;
}

THRUM_OUT_OF_LINE std::size_t runtime::main_stack_size() const noexcept {
  constexpr std::size_t of_a_thread = std::size_t{8} << 20;
  const bool gets_more = settings_.stack_size >= go_detail::usual_stack_size &&
                         settings_.stack_size < of_a_thread && settings_.memory.allocate == nullptr;
  return gets_more ? of_a_thread : 0;
}

THRUM_OUT_OF_LINE stats_snapshot runtime::stats() const { return debug::collect(*scheduler_); }

THRUM_OUT_OF_LINE std::string runtime::describe_goroutines() {
  return debug::describe_goroutines(*scheduler_, debug::world::quiet, false);
}

THRUM_OUT_OF_LINE void runtime::dump_goroutines(std::FILE* to, dump_form form) const {
  debug::write_goroutines(*scheduler_, to, form, [](auto f) { return blocking(f); });
}

THRUM_OUT_OF_LINE void dump_goroutines(std::FILE* to, dump_form form) {
  if (const runtime* const own = runtime::current()) {
    own->dump_goroutines(to, form);
    return;
  }
  sched::registry::for_each([&](auto& scheduler) {
    debug::write_goroutines(scheduler, to, form, [](auto f) { return f(); });
  });
}

THRUM_OUT_OF_LINE stats_snapshot stats() {
  if (const runtime* const own = runtime::current()) {
    return own->stats();
  }
  stats_snapshot result;
  unsigned found = 0;
  sched::registry::for_each([&](auto& scheduler) {
    if (++found == 1) {
      result = debug::collect(scheduler);
    }
  });
  if (found == 0) {
    go_detail::throw_outside("stats", "the process has none");
  }
  if (found != 1) {
    go_detail::throw_outside("stats", "the process has several: use runtime::stats of one");
  }
  return result;
}

}}  // namespace thrum::THRUM_ABI

#endif
