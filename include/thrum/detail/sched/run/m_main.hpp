// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The thread of an M: what it has to set up before it runs goroutines, and to take down afterwards.
#ifndef THRUM_DETAIL_SCHED_RUN_M_MAIN_HPP
#define THRUM_DETAIL_SCHED_RUN_M_MAIN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/loop.hpp>

#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Queues g again and gives the P to another thread. False: no other thread is to be had.
THRUM_COLD inline bool pass_to_another(machine& m, goroutine& g) noexcept {
  runtime_scheduler& scheduler = *m.scheduler;
  scheduler.idle.lock().lock();
  const unsigned threads = scheduler.ms.with_thread();
  if (scheduler.idle.idle_ms() == 0 &&
      (threads >= scheduler.config().max_threads || threads >= scheduler.ms.limit())) {
    scheduler.idle.lock().unlock();
    return false;
  }
  if (is_in_background(g)) {
    scheduler.background.push_back(g);
  } else if (goroutine* const kicked = m.p->queue.exchange_runnext(&g)) {
    push_to_ring(m, *kicked);
  }
  scheduler.start_m(scheduler.release_p(m), false);
  return true;
}

/// run_goroutines(), where each goroutine continues on another thread than the one that it left, if there is
/// one (options::migrate). Each that leaves comes here, since attention_migrate is set on each P.
THRUM_COLD inline void run_goroutines_in_turns(machine& m, goroutine* g) noexcept {
  while (g != nullptr) {
    end_search(m);
    const bool is_bound = (g->flags & g_bound) != 0;
    if (is_bound && m.locked_g != g) {
      pass_to_owner(m, *g);
    } else if (is_bound || g->last_m != m.id + 1 || !pass_to_another(m, *g)) {
      g->last_m = m.id + 1;
      execute(m, *g);
    }
    g = m.locked_g != nullptr ? wait_for_locked(m) : find_work(m);
  }
}

/// The life of an M's thread.
inline void* m_main(void* argument) noexcept {
  auto& m = *static_cast<machine*>(argument);
  runtime_scheduler& scheduler = *m.scheduler;
  const scheduler_config& config = scheduler.config();
  set_current_m(&m);
  os::this_threads_exit_watch().watch(config.exit_hook);
#if THRUM_CHECKS
  may_lock.set(&is_lock_allowed);
#endif
  m.exceptions = os::thread_exception_state();
  m.error_number = os::thread_error_number();
  base::context_adopt(m.context);

  base::message<32> name;
  name.append(config.name).append("/").append(std::uint64_t{m.id});
  name.append(std::string_view("\0", 1));
  os::set_thread_name(name.view().data());
  m.for_signals.open(m.interruption);
  m.self.open();  // from here on others interrupt it
  if (config.thread_started != nullptr) {
    config.thread_started(config.user, m.id);
  }
  trace_detail::happens(m, trace_detail::event_kind::thread_began);
  goroutine* const first = first_goroutine(m);
  scheduler.creator.lower_own_priority();
  if (config.migrates) {
    run_goroutines_in_turns(m, first);
  } else {
    run_goroutines(m, first);
  }
  trace_detail::happens(m, trace_detail::event_kind::thread_ended);
  if (config.thread_stopping != nullptr) {
    config.thread_stopping(config.user, m.id);
  }
  os::this_threads_exit_watch().forget();
  m.self.close();
  m.for_signals.close();
  set_current_m(nullptr);
  return nullptr;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
