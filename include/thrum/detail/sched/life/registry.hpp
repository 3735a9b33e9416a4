// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// All schedulers of the process, for what concerns the process as a whole: exit, fork.
#ifndef THRUM_DETAIL_SCHED_LIFE_REGISTRY_HPP
#define THRUM_DETAIL_SCHED_LIFE_REGISTRY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/life/process_exit.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class registry {
 public:
  /// Adds a scheduler: use() and visit() find it from now on. Not inside a section.
  static void add(runtime_scheduler& scheduler) noexcept {
    scoped guard(all().lock);
    scheduler.registered.number_ = ++all().count;
    scheduler.registered.next_ = all().first;
    all().first = &scheduler;
    if (!all().hooked) {
      all().hooked = true;
      os::register_exit_hook(&before_exit);
      poll_table::prepare_for_fork();
      os::call_after_fork(&after_fork);
    }
    os::this_threads_exit_watch().watch(&before_exit);
  }

  /// Makes use() refuse this scheduler from now on.
  static void retire(runtime_scheduler& scheduler) noexcept {
    scoped guard(all().lock);
    scheduler.registered.is_retired_ = true;
  }

  /// Calls f() if that scheduler still works, and keeps it from being retired meanwhile: for a
  /// caller that is none of its goroutines, and does not know whether it is still there. False: it
  /// was not called.
  template <class F>
  static bool use(const runtime_scheduler* scheduler, std::uint64_t number, F f) noexcept {
    bool works = false;
    visit(scheduler, number, [&] {
      works = !scheduler->registered.is_retired_;
      if (works) {
        f();
      }
    });
    return works;
  }

  /// Calls f() if that scheduler is still there, retired or not, and keeps it there meanwhile.
  template <class F>
  static void visit(const runtime_scheduler* scheduler, std::uint64_t number, F f) noexcept {
    const section here;
    scoped guard(all().lock);
    for (const runtime_scheduler* s = all().first; s != nullptr; s = s->registered.next_) {
      if (s == scheduler && s->registered.number_ == number) {
        f();
        return;
      }
    }
  }

  /// Declares a scheduler complete: for_each finds it from now on.
  static void show(runtime_scheduler& scheduler) noexcept {
    scoped guard(all().lock);
    scheduler.registered.is_shown_ = true;
  }

  /// Calls f(scheduler) for each that there is, the oldest first, and keeps that one there
  /// meanwhile; f may block and allocate. Not inside a section.
  template <class F>
  static void for_each(F f) {
    struct unpin {
      runtime_scheduler& scheduler;
      // [reg.pins >] release: f's last look
      ~unpin() { scheduler.registered.pins_.fetch_sub(1, release); }
    };
    std::uint64_t last = 0;
    while (runtime_scheduler* const next = pin_after(last)) {
      const unpin later{*next};
      last = next->registered.number_;
      f(*next);
    }
  }

  /// Takes a scheduler out, and waits until no thread looks at it any more. Not inside a section.
  static void remove(runtime_scheduler& scheduler) noexcept {
    {
      scoped guard(all().lock);
      for (runtime_scheduler** link = &all().first; *link != nullptr;
           link = &(*link)->registered.next_) {
        if (*link == &scheduler) {
          *link = scheduler.registered.next_;
          break;
        }
      }
    }
    // [reg.exit <] acquire: its last look at the scheduler; [reg.pins <] acquire: theirs
    while (all().exit_looks.load(acquire) || scheduler.registered.pins_.load(acquire) != 0) {
      os::sleep_ns(1'000'000);
    }
  }

  /// What exit() calls first: see os/exit.hpp.
  static void before_exit(int status) noexcept {
    const machine* const m = current_m();
    runtime_scheduler* const own = m != nullptr && m->g != nullptr ? m->scheduler : nullptr;
    const bool is_copy = own != nullptr && own->is_copy.get();
    if (is_copy) {
      end_copy(status);
      return;
    }
    if (!process_exit::begin()) {
      return;
    }
    all().exit_looks.store(true, relaxed);  // relaxed: ordered by the lock
    for (runtime_scheduler* s = own != nullptr ? own : next_to_hold(); s != nullptr;
         s = next_to_hold()) {
      if (s->is_copy.get()) {
        end_copy(status);
        break;
      }
      process_exit::hold(*s);
    }
    all().exit_looks.store(false, release);  // [reg.exit >] release: our last look
    os::let_exit_pass_standard_input();
  }

 private:
  /// exit() in a process without the threads. Where it does not tell the status it must go on.
  static void end_copy(int status) noexcept {
    if (status != os::unknown_exit_status) {
      os::exit_now(status);
    }
    process_exit::begin_in_copy();
  }

  static runtime_scheduler* pin_after(std::uint64_t number) noexcept {
    const section here;
    scoped guard(all().lock);
    runtime_scheduler* next = nullptr;
    for (runtime_scheduler* s = all().first; s != nullptr; s = s->registered.next_) {
      if (s->registered.is_shown_ && s->registered.number_ > number &&
          (next == nullptr || s->registered.number_ < next->registered.number_)) {
        next = s;
      }
    }
    if (next != nullptr) {
      // relaxed: under the lock under which it is taken out
      next->registered.pins_.fetch_add(1, relaxed);
    }
    return next;
  }

  /// A scheduler whose goroutines must stand still before exit() destroys what they use. Other
  /// runtimes are objects, which are destroyed in their turn. Null: no more.
  static runtime_scheduler* next_to_hold() noexcept {
    scoped guard(all().lock);
    for (runtime_scheduler* s = all().first; s != nullptr; s = s->registered.next_) {
      if (s->config().is_whole_program && !s->exit_of_process.has_begun() &&
          s->goroutine_count() != 0) {
        return s;
      }
    }
    return nullptr;
  }

  /// In a child process, which has none of the threads: marks each scheduler for threads that enter it.
  static void after_fork() noexcept {
    all().lock.abandon();
    poll_table::after_fork();
    for (runtime_scheduler* s = all().first; s != nullptr; s = s->registered.next_) {
      s->is_copy.set(true);
    }
    if (machine* const m = current_m()) {
      m->retake.store(retake_state::forked, relaxed);  // relaxed: there is only this thread
    }
  }

  struct state {
    static constexpr std::string_view process_name = "sched::registry";
    blocking_lock lock{lock_rank::registry};
    runtime_scheduler* first = nullptr;
    std::uint64_t count = 0;
    bool hooked = false;
    std::atomic<bool> exit_looks{false};
  };
  static state& all() noexcept { return os::process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
