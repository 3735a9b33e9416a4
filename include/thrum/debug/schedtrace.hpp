// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The line of figures that THRUM_DEBUG=schedtrace=1000 prints every second, in Go's words.
#ifndef THRUM_DEBUG_SCHEDTRACE_HPP
#define THRUM_DEBUG_SCHEDTRACE_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/sched/scheduler.hpp>

#include <cstdint>

namespace thrum::inline THRUM_ABI::debug {

/// Writes one line to standard error. Called by the monitor, so it allocates nothing.
template <class Traits>
void schedtrace(sched::basic_scheduler<Traits>& scheduler, std::int64_t now) noexcept {
  base::message<1024> line("SCHED ");
  line.append((now - scheduler.started_at) / 1'000'000).append("ms:");
  line.append(" gomaxprocs=").append(scheduler.procs());
  line.append(" idleprocs=").append(scheduler.idle.idle_ps());
  line.append(" threads=").append(scheduler.thread_count() + 1);
  line.append(" spinningthreads=").append(scheduler.idle.spinning());
  line.append(" idlethreads=").append(scheduler.idle.idle_ms());
  line.append(" runqueue=").append(scheduler.global.size());
  line.append(" [");
  for (unsigned i = 0; i < scheduler.procs(); ++i) {
    auto& queue = scheduler.p(i).queue;
    line.append(i == 0 ? "" : " ");
    line.append(queue.size() + (queue.peek_runnext() != nullptr ? 1 : 0));
  }
  line.append("]\n");
  base::write_error(line.view());
}

}  // namespace thrum::inline THRUM_ABI::debug

#endif
