// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Goroutines stand still while the process exits. What that promises is in os/exit.hpp.
//
// The thread that exits keeps every P of a scheduler in a freeze (freeze.hpp) that it never ends.
// It has given up its own P before, as inside blocking(): no other goroutine comes to its thread,
// and it never leaves that thread.
//
//   hold     the thread that exits: asks every P to stop, and waits a while until they have
//   press    the monitor, every millisecond: takes Ps from calls that block, interrupts loops
//   watch    the monitor: ends the freeze when the thread that exits has slept for too long
//   release  by watch(), or by another freeze that begins, whichever comes first
#ifndef THRUM_DETAIL_SCHED_LIFE_PROCESS_EXIT_HPP
#define THRUM_DETAIL_SCHED_LIFE_PROCESS_EXIT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/syscall.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class process_exit {
 public:
  /// The calling thread exits, and from now on is no longer the scheduler's. False: it has said so
  /// before. Does not return if another thread was first.
  static bool begin() noexcept {
    {
      section here;
      if (here.m() != nullptr) {
        enter_syscall(*here.m());
      }
    }
    const std::uint64_t own = os::thread_id();
    std::uint64_t first = 0;
    // relaxed: only one thread wins
    if (one().thread.compare_exchange_strong(first, own, relaxed, relaxed)) {
      one().self.open();
      return true;
    }
    while (first != own) {  // NOLINT(bugprone-infinite-loop): until the process has ended
      constexpr std::int64_t hour = 3'600'000'000'000;
      os::sleep_ns(hour);
    }
    return false;
  }

  /// The only thread of a process that has no others of its schedulers exits.
  static void begin_in_copy() noexcept {
    one().thread.store(os::thread_id(), relaxed);  // relaxed: there is only this thread
  }

  /// Whether the calling thread exits.
  static bool is_mine() noexcept {
    return one().thread.load(relaxed) == os::thread_id();  // relaxed: our own, or another's
  }

  /// Its goroutines stand still from now on. Waits until they do, but not for long.
  static void hold(runtime_scheduler& scheduler) noexcept {
    scheduler.exit_of_process.has_begun_.set(true);
    // A look at the stacks may be under way, and its end takes a moment.
    const std::int64_t end_of_others = traits::now() + 10 * patience_ns;
    while (!scheduler.freeze.try_begin_exclusive()) {
      if (traits::now() >= end_of_others) {
        return;
      }
      os::sleep_ns(100'000);
    }
    const std::uint32_t phase = scheduler.freeze.start_for_exit();
    scheduler.for_each_p([](processor& p) {
      // [p.attention >] release: pairs with the exchange in attend.
      p.attention.fetch_or(attention_freeze, release);
    });
    traits::heavy_fence();  // [fz.phase =] asked before the look at the holders of Ps; a thread
                            // that takes a P looks
    scheduler.monitor.wake();
    const std::int64_t begin = traits::now();
    for (std::int64_t passed = 0; passed < stop_patience_ns; passed = traits::now() - begin) {
      bool complete = true;
      scheduler.for_each_p(
          [&](processor& p) { complete = has_stopped(scheduler, p, phase, passed) && complete; });
      complete = nobody_computes_without_p(scheduler) && complete;
      if (complete) {
        break;
      }
      os::sleep_ns(passed < 2'000'000 ? 50'000 : 1'000'000);
    }
    tell_leak_checker(scheduler);
  }

  /// Whether goroutines stand still for this.
  static bool holds(const runtime_scheduler& scheduler) noexcept {
    return scheduler.freeze.is_held_by_exit();
  }

  /// The monitor's look, while holds(): the thread that exits may need what a goroutine has.
  static void watch(runtime_scheduler& scheduler, std::int64_t now) noexcept {
    auto& seen = scheduler.exit_of_process.seen_;
    const os::thread_ref& self = one().self;  // opened before anything was held
    const std::int64_t cpu = self.cpu_now();
    if (seen.since == 0) {
      seen = {cpu, now, cpu, now};
    }
    if (cpu != seen.cpu) {
      seen.cpu = cpu;
      seen.when = now;
    }
    // A thread that only waits for a CPU is given time.
    if (now - seen.when >= patience_ns) {
      if (!computes(self) && !self.naps()) {
        scheduler.freeze.release_from_exit();
      }
      seen.when = now;
    }
    if (now - seen.since >= long_patience_ns) {
      constexpr std::int64_t few = 16;
      if (cpu - seen.cpu_since >= (now - seen.since) / few) {
        seen.cpu_since = cpu;
        seen.since = now;
      } else if (!computes(self)) {
        scheduler.freeze.release_from_exit();
      }
    }
  }

 private:
  static constexpr std::int64_t patience_ns = 100'000'000;
  /// On a busy machine a thread takes its time to get to its signal.
  static constexpr std::int64_t stop_patience_ns = 1'000'000'000;
  static constexpr std::int64_t long_patience_ns = 2'000'000'000;
  static constexpr std::int64_t courtesy_ns = 5'000'000;

  /// Whether the thread runs, or will run without help of another thread.
  static bool computes(const os::thread_ref& thread) noexcept {
    const os::thread_look seen = thread.look();
    return seen == os::thread_look::computes || seen == os::thread_look::in_fault;
  }

  static bool has_stopped(runtime_scheduler& scheduler, processor& p, std::uint32_t phase,
                          std::int64_t passed) noexcept {
    if (p.status.load(acquire) != p_status::running ||  // [p.status <] acquire: as in freeze.hpp
        p.frozen_in.load(acquire) == phase) {           // [fz.phase <] acquire: as in freeze.hpp
      return true;
    }
    // [p.attention >] release: pairs with the exchange in attend.
    p.attention.fetch_or(attention_freeze, release);
    machine* const m = p.m.peek();  // A stray signal is harmless
    if (m == nullptr || passed < courtesy_ns) {
      return false;
    }
    const bool interrupts = scheduler.config().interrupts && m->as_host == nullptr;
    // It blocks in a call that it has not announced, and stops when it is back. Where the system does
    // not say so, a signal makes it stop, whatever it does.
    if (m->inside.peek() == 0) {
      const os::thread_look seen = m->self.look();
      if (seen == os::thread_look::in_system || (seen == os::thread_look::unknown && !interrupts)) {
        return true;
      }
    }
    if (interrupts) {
      m->self.interrupt(m->interruption);
    }
    return false;
  }

  /// Threads that lost their P in a call, and compute again. The monitor interrupts those that it sees
  /// compute for a while; here there is no while.
  static bool nobody_computes_without_p(runtime_scheduler& scheduler) noexcept {
    bool nobody = true;
    for (unsigned i = 0; i != scheduler.ms.made(); ++i) {
      machine& m = scheduler.ms[i];
      // [m.retake <] acquire: pairs with forget_p.
      if (m.retake.load(acquire) == retake_state::taken && computes(m.self)) {
        nobody = false;
        if (scheduler.config().interrupts) {
          m.self.interrupt(m.interruption);
        }
      }
    }
    return nobody;
  }

  /// Tells it that memory is not lost to which only a goroutine refers.
  static void tell_leak_checker([[maybe_unused]] runtime_scheduler& scheduler) noexcept {
#if THRUM_ASAN
    scheduler.for_each_p([](processor& p) { base::keep_reachable(&p, sizeof p); });
    scheduler.ps.keep_reachable();
    scheduler.pool->for_each([](goroutine& g) {
      const char* const from = static_cast<const char*>(g.sp.get());
      const char* const to = reinterpret_cast<const char*>(&g + 1);
      const g_status status = g.status.get();
      if (status != g_status::idle && status != g_status::dead && from != nullptr && from < to) {
        base::keep_reachable(from, static_cast<std::size_t>(to - from));
      }
    });
#endif
  }

  /// The thread that exits.
  struct state {
    static constexpr std::string_view process_name = "sched::process_exit";
    std::atomic<std::uint64_t> thread{0};
    os::thread_ref self;
  };
  static state& one() noexcept { return os::process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
