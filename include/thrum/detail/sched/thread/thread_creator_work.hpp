// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the creator's thread does. The essay is in thread_creator.hpp.
#ifndef THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_WORK_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_WORK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/thread/thread_creator.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE void thread_creator::wait() noexcept {
  std::int64_t until = retry_at_ < check_at_ ? retry_at_ : check_at_;
  until = give_back_.next() < until ? give_back_.next() : until;
  bool woken = true;
  if (until == never) {
    note_.sleep();
  } else {
    woken = note_.sleep_for(until - traits::now());
  }
  if (woken) {
    note_.clear_while_woken();
  }
  const std::int64_t now = traits::now();
  if (now >= check_at_) {
    check_at_ = now + scheduler_.config().check_every_ns;
    if (!scheduler_.exit_of_process.has_begun()) {
      scheduler_.config().check(scheduler_.config().user);
    }
  }
  give_back_.work(now);
  if (retry_at_ != never || scheduler_.ms.holds_back()) {
    const bool again = now >= retry_at_;
    if (again) {
      retry_at_ = never;
    }
    scheduler_.release_held(again);
    if (retry_at_ == never && scheduler_.ms.holds_back()) {
      retry_at_ = now + retry_ns;
    }
  }
}

THRUM_OUT_OF_LINE void thread_creator::run() noexcept {
  os::set_thread_name("thrum/creator");
  if (const std::int64_t period = scheduler_.config().check_every_ns; period != 0) {
    check_at_ = traits::now() + period;
  }
  for (bool last = false; !last;) {
    wait();
    last = closing_.load(acquire);  // [cr.list <] acquire: as in close
    // [cr.list <] acquire: the Ms.
    for (machine* m = first_.exchange(nullptr, acquire); m != nullptr;) {
      machine* const next = m->idle_next;
      if (m->ends) [[unlikely]] {
        give_back_.join_later(*m);
      } else {
        start(*m);
      }
      m = next;
    }
    // relaxed: published by the note
    if (dump_wanted_.exchange(false, relaxed) && scheduler_.config().dump != nullptr) {
      scheduler_.config().dump(scheduler_.config().user);
    }
    start_late();
    // relaxed: published by the note
    if (const std::uint8_t size_class = stack_wanted_.exchange(0, relaxed);
        size_class != 0 && !last) {
      make_stack(size_class);
    }
    // relaxed: published by the note
    if (spare_wanted_.exchange(false, relaxed) && !last && retry_at_ == never) {
      if (machine* const spare = make_spare_(scheduler_)) {
        start(*spare);
      }
    }
  }
}

THRUM_OUT_OF_LINE void thread_creator::start_late() noexcept {
  // [cr.list <] acquire: the objects.
  for (late_start* each = first_late_.exchange(nullptr, acquire); each != nullptr;) {
    late_start* const next = each->next;
    each->start(*each);
    each = next;
    late_starts_.fetch_sub(1, release);  // [cr.late >] release: what has been made runnable
  }
}

THRUM_OUT_OF_LINE void thread_creator::make_stack(std::uint8_t size_class) noexcept {
  if (goroutine* const g = scheduler_.pool->make(size_class)) {
    base::intrusive_queue<goroutine> one;
    one.push_back(g);
    scheduler_.pool->put(size_class, static_cast<decltype(one)&&>(one));
    scheduler_.wake_processor();  // for the fork that found none
  }
}

THRUM_OUT_OF_LINE void thread_creator::start(machine& m) noexcept {
  const int error =
      m.for_signals.reserve() ? os::thread::start(m.thread, m_main_, &m) : -os::no_memory;
  if (error == 0) {
    scheduler_.reserve.set_limit(thread_reserve::any_number);
    refusals_ = 0;
    return;
  }
  m.for_signals.give_back();
  retry_at_ = traits::now() + retry_ns;
  scheduler_.take_back(m);
  // The limit is known before this is written: to write may take long, and until it is known a loop may take
  // the last thread.
  const bool has_none = scheduler_.ms.with_thread() == 0 && scheduler_.hosts.made() == 0;
  if (!has_warned_) {
    has_warned_ = true;
    base::message<> text("thrum: go: the system refuses thread ");
    text.append(std::uint64_t{m.id} + 1).append(" of this runtime (errno ");
    text.append(static_cast<std::uint64_t>(error));
    text.append(has_none ? "); it has no other thread and tries again; "
                         : "); it continues with the threads it has; ");
    text.append("raise the limit of processes or memory, or lower options::procs\n");
    base::write_error(text.view());
  }
  if (has_none && ++refusals_ == most_refusals) {
    base::message<512> text("go: the system has refused the only thread of this runtime ");
    text.append(std::uint64_t{most_refusals}).append(" times in a row (errno ");
    text.append(static_cast<std::uint64_t>(error)).append("), so no goroutine can run; ");
    text.append(
        "raise the limit of processes (ulimit -u, pids.max) or memory: a runtime takes three ");
    text.append("threads beside the program's own");
    base::fatal(text.view());
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
