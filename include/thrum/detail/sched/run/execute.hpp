// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The step from g0 to a goroutine. The steps between goroutines are in switch.hpp.
#ifndef THRUM_DETAIL_SCHED_RUN_EXECUTE_HPP
#define THRUM_DETAIL_SCHED_RUN_EXECUTE_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/switch.hpp>
#include <thrum/detail/trace/hooks.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// g0 -> goroutine. Returns when a goroutine of this M finds no successor.
inline void execute(machine& m, goroutine& g) noexcept {
  wait_if_frozen(m);
  m.g = &g;
  g.status.set(g_status::running);
  if ((g.flags & g_timed) != 0) [[unlikely]] {
    end_timed_wait(m, g);
  }
  m.p->counts.switches.add();
  trace_detail::runs(m, g);
  if constexpr (THRUM_EXCEPTIONS) {
    *m.exceptions = g.exceptions;
  }
  g.flags |= g_started;
  base::before_switch(m.context, g.context, false);
  arch::switch_stack(&m.g0_sp, g.sp.get(), &m);
  arrive(m, m.context);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
