// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a runtime is made of: the life of its threads, the monitor, the reports.
#ifndef THRUM_IMPLEMENTATION_RUNTIME_DEFINITION_HPP
#define THRUM_IMPLEMENTATION_RUNTIME_DEFINITION_HPP

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
#include <thrum/request_stop.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/open_close.hpp>
#include <thrum/sched/core/real_time.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/io/poll_events.hpp>
#include <thrum/sched/io/poll_wait.hpp>
#include <thrum/sched/life/process_exit.hpp>
#include <thrum/sched/life/registry.hpp>
#include <thrum/sched/life/shutdown.hpp>
#include <thrum/sched/run/m_main.hpp>
#include <thrum/sched/watch/monitor.hpp>
#include <thrum/sched/watch/preempt.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE options runtime::complete(options settings) {
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

THRUM_OUT_OF_LINE sched::scheduler_config runtime::configuration(
    const go_detail::runtime_role& role) noexcept {
  sched::scheduler_config config;
  config.procs = settings_.procs;
  config.max_threads = settings_.max_threads;
  config.stack_class = sched::usable_stack_class(settings_.stack_size);
  config.time_slice_ns = settings_.time_slice.count();
  config.preempts = settings_.preempt != preemption::none;
  config.interrupts = settings_.preempt == preemption::async && os::has_preempt_signal;
  config.poller = settings_.poller == poller_kind::io_uring ? netpoll::choice::io_uring
                                                            : netpoll::choice::usual;
  config.user = this;
  config.exit_hook = &sched::registry::before_exit;
  config.stack_overrun = &debug::report_overrun;
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
  config.check_every_ns = detector_->period_ns();
  config.check = [](void* user) {
    auto& self = *static_cast<runtime*>(user);
    self.detector_->look(*self.scheduler_);
  };
  if (role.is_whole_program && settings_.detect_deadlock) {
    config.deadlock = &report_deadlock;
    config.bystanders = 1;
  }
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
  os::exit_now(2);
}

THRUM_OUT_OF_LINE runtime::runtime(options settings, go_detail::runtime_role role)
    : settings_(complete(std::move(settings))),
      detector_(
          new debug::trouble_detector(std::chrono::nanoseconds(settings_.report_blocked).count(),
                                      settings_.time_slice.count() * settings_.report_hogs)),
      scheduler_(new sched::runtime_scheduler(
          configuration(role),
          sched::upcall_table{&sched::m_main, &sched::start_spinner, &sched::make_spare,
                              &sched::interrupt, &sched::serve_running, &sched::answer_monitor,
                              &sched::poll_events::take, &sched::poll_events::prefetch})),
      monitor_(new sched::monitor(*scheduler_)) {
  scheduler_->clock = sched::runtime_clock(role.clock);
  debug::install_panic_report();
  os::install_fault_observer(&debug::report_overflow);
  os::prepare_walks();
  const int error = blocking([&] {
    sched::registry::add(*scheduler_);
    const sched::raised_priority before_ms;
    scheduler_->creator.priority_of_ms(before_ms.own());
    const int failed = scheduler_->open();
    return failed != 0 ? failed
                       : os::thread::start(monitor_->thread, &sched::monitor::main, monitor_.get());
  });
  if (error != 0) {
    blocking([&] { sched::registry::remove(*scheduler_); });
    base::throw_system(os::error_code_of(error), "runtime: cannot start the scheduler");
  }
  blocking([&] { sched::registry::show(*scheduler_); });
  if (settings_.dump_on_quit) {
    os::quit_listener::open(
        [](void* own) noexcept {
          static_cast<sched::runtime_scheduler*>(own)->creator.request_dump();
        },
        scheduler_.get());
  }
}

THRUM_OUT_OF_LINE runtime::~runtime() {
  // relaxed: set when there was one thread
  const bool is_copy = scheduler_->is_copy.load(std::memory_order_relaxed);
  if ((current() == this || is_copy) && sched::process_exit::is_mine()) {
    // One of its goroutines has called exit(), which destroys it; or its threads are in another
    // process. The end is near.
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
        "runtime::stop: called by a goroutine of the same runtime, which would wait "
        "for itself");
  }
  const std::lock_guard guard(stop_mutex_);
  if (!stopped_) {
    go_detail::request_stop_here(stop_source_);
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
    base::throw_usage("stats: called outside of a runtime, and there is none");
  }
  if (found != 1) {
    base::throw_usage(
        "stats: called outside of a runtime, and there are several; use runtime::stats of one");
  }
  return result;
}

}}  // namespace thrum::THRUM_ABI

#endif
