// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a scheduler opens and closes; and all else of it that no user's code inlines.
#ifndef THRUM_DETAIL_SCHED_CORE_OPEN_CLOSE_HPP
#define THRUM_DETAIL_SCHED_CORE_OPEN_CLOSE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/procs.hpp>  // IWYU pragma: export
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/core/virtual_time_jump.hpp>      // IWYU pragma: export
#include <thrum/detail/sched/thread/thread_creator_work.hpp>  // IWYU pragma: export
#include <thrum/detail/sched/thread/threads.hpp>              // IWYU pragma: export

#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE int runtime_scheduler::open() noexcept {
  os::prepare_heavy_fence();
  started_at = traits::now();
  if (const int error = netpoll::open(poller, config_.poller); error != 0) {
    return error;
  }
  pool = new (std::nothrow) stack_pool(config_.memory);
  ps.keep_in(memory().take_table<processor*>(p_table::most), memory());
  ms.keep_in(memory().take_table<machine>(config_.max_threads));
  if (pool == nullptr || ps.places() == nullptr || ms.places() == nullptr) {
    return os::no_memory;
  }
  if (config_.interrupts) {
    os::install_preempt_handler();
  }
  pool->tell_of_idle([](void* own) noexcept { static_cast<thread_creator*>(own)->offer_idle(); },
                     &creator);
  if (const int error = creator.open(); error != 0) {
    return error;
  }
  return set_procs(config_.procs);
}

THRUM_OUT_OF_LINE runtime_scheduler::~runtime_scheduler() {
  ps.clear();
  creator.close();
  ms.clear();
  memory().give_back_table(ps.places(), p_table::most);
  memory().give_back_table(ms.places(), config_.max_threads);
  if (pool != nullptr) {
    stack_pool::abandon(pool);
  }
  poller.close();
  hosts.clear(memory());
}

THRUM_OUT_OF_LINE void runtime_scheduler::close() noexcept {
  {
    scoped guard(idle.lock());
    // [s.close =] seq_cst: set under the lock under which an M decides to sleep.
    closing.exchange(true, seq_cst);
    while (machine* m = idle.take_m_locked()) {
      m->park.wake();
    }
  }
  poller.wake();
  monitor.wake();
}

THRUM_OUT_OF_LINE void runtime_scheduler::join_threads() noexcept {
  creator.close();
  for (unsigned i = 0; i < ms.made(); ++i) {
    if (ms[i].thread.joinable()) {
      ms[i].thread.join();
    }
  }
  wakers.wait_until_gone();
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
