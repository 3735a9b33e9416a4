// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Stopping all goroutines of a scheduler for a moment, to look at their stacks.
//
// Every P is asked, as for preemption; its holder waits, with it, at the next place where it
// attends to what is asked: between two goroutines, at the end of an operation, or in the handler
// of a signal. A P without a holder needs no asking: a thread that takes it comes by such a place
// before it switches to a goroutine. So when every P that is held has a waiting holder, no
// goroutine is switched to or leaves its stack until the end of the freeze.
//
// Not stopped are threads without a P: inside blocking(), or in a call that lost its P. They touch
// their own stacks only.
//
// What a holder does about it is in freeze/freeze_holder.hpp.
//
// FZ1  while the world is frozen nothing may be called that a goroutine could hold a lock of: no
//      malloc. The code that looks collects addresses, and makes words of them afterwards.
//
// Fences of [fz.phase]: freezer, hold, stop_in_handler, wait_if_frozen.
#ifndef THRUM_DETAIL_SCHED_FREEZE_FREEZE_HPP
#define THRUM_DETAIL_SCHED_FREEZE_FREEZE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class [[nodiscard]] freezer {
 public:
  /// Waits until all others have stopped, but not longer than `patience_ns`. The caller is inside a
  /// section, or a thread that is none of the scheduler's, between begin_exclusive() and
  /// end_exclusive() of scheduler.freeze.
  freezer(runtime_scheduler& scheduler, machine* own, std::int64_t patience_ns) noexcept
      : scheduler_(scheduler), own_(own) {
    const std::uint32_t phase = scheduler.freeze.start();
    scheduler.for_each_live_p([](processor& p) {
      // [p.attention >] release: pairs with the exchange in attend.
      p.attention.fetch_or(attention_freeze, release);
    });
    traits::heavy_fence();  // [fz.phase =] asked before the look at the holders of Ps; a thread
                            // that takes a P looks
    const std::int64_t end = traits::now() + patience_ns;
    const processor* const mine = own != nullptr ? own->p : nullptr;
    for (std::uint32_t turn = 0;; ++turn) {
      complete_ = true;
      scheduler.for_each_live_p([&](processor& p) {
        complete_ = (&p == mine || has_stopped(p, phase, turn)) && complete_;
      });
      if (complete_ || traits::now() >= end) {
        return;
      }
      os::sleep_ns(50'000);
    }
  }

  ~freezer() { scheduler_.freeze.finish(); }
  freezer(const freezer&) = delete;
  freezer& operator=(const freezer&) = delete;

  /// Whether all holders of Ps have stopped.
  bool complete() const noexcept { return complete_; }

  /// The callers of a goroutine that runs, noted down by its M; null if it runs on no such M.
  const os::call_stack* callers_of(const goroutine& g) const noexcept {
    const os::call_stack* found = nullptr;
    scheduler_.for_each_live_p([&](processor& p) {
      machine* const m = p.m.peek();
      // [fz.phase <] acquire: the callers
      const bool waits = p.frozen_in.load(acquire) == scheduler_.freeze.own_phase();
      if ((waits || m == own_) && m != nullptr && m->g == &g) {
        found = &m->callers;
      }
    });
    return found;
  }

 private:
  bool has_stopped(processor& p, std::uint32_t phase, std::uint32_t turn) noexcept {
    if (p.status.load(acquire) != p_status::running) {  // [p.status <] acquire: what its M has left
      return true;
    }
    if (p.frozen_in.load(acquire) == phase) {  // [fz.phase <] acquire: its callers
      return true;
    }
    // [p.attention >] release: pairs with the exchange in attend.
    p.attention.fetch_or(attention_freeze, release);
    machine* const m = p.m.peek();  // A stray signal is harmless
    if (m != nullptr && m->as_host == nullptr && scheduler_.config().interrupts && turn % 16 == 0) {
      m->self.interrupt(m->interruption);
    }
    return false;
  }

  runtime_scheduler& scheduler_;
  machine* const own_;
  bool complete_ = false;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
