// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which goroutines wait for ever: a search of all memory for what could still wake them.
//
// Purpose
//   A goroutine that waits without a deadline is woken only by a thread or a goroutine that comes to its wait point
//   (wait_point.hpp), which lies on its stack: through a pointer to that stack, or through the channel that the point
//   is linked in. If no word of the process leads there but words of goroutines that are lost themselves, it is lost.
//
// State: a graph
//   nodes   the stack of each candidate, and the body of each channel that candidates wait on
//   edges   words of a node that point into another one
//   roots   all other memory in use: data, heap, the stacks of threads and of other goroutines, and the registers of
//           all threads, which stand in frames of signal handlers meanwhile
//   A node that a word of the roots points into, or of a live node, is live. Candidates that are not live are lost.
//
// Invariants
//   LK1  a candidate waits for an object of the program, without a deadline or a stop: only a pointer wakes it.
//   LK2  left out of the roots is only what holds no handle of a program: what lies below a stack pointer, the stacks
//        of the dead, the scheduler's own records of a thread, the thread's stack below its switch, the search itself.
//   LK3  a body that is a node is a channel with a linked waiter, made by make_chan: its life depends on handles alone. Its
//        buffer belongs to the roots.
//   LK4  words on the stacks of the lost must account for each counted handle, else one is out of sight.
//
// So a word that is left over, of a handle that is gone, hides a leak. It never makes one: to be lost is a proof.
//
// Rejected: handles that know where they are. Each copy would cost more, in programs that never look for leaks. And to
// compare the count of handles with the words on the stacks of waiters alone: a handle leaves two or three words there,
// so channels that a global variable holds looked lost, too.
//
// Nothing here allocates: the goroutines stand still, and one may hold the lock.
#ifndef THRUM_DETAIL_PROFILE_LEAK_SEARCH_HPP
#define THRUM_DETAIL_PROFILE_LEAK_SEARCH_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/chan/base.hpp>
#include <thrum/detail/os/all_memory.hpp>
#include <thrum/detail/os/cpu_timer.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/profile/leak_graph.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace profile_detail {

using namespace base::orders;

/// Whether a goroutine that waits so is woken through a pointer to its wait point alone. LK1
constexpr bool waits_for_program(sched::wait_reason reason) noexcept {
  using enum sched::wait_reason;
  switch (reason) {
    case chan_receive:
    case chan_send:
    case chan_receive_nil:
    case chan_send_nil:
    case select:
    case select_no_cases:
    case join:
    case mutex_lock:
    case shared_mutex_lock:
    case shared_mutex_lock_shared:
    case wait_group_wait:
    case cond_wait:
    case semaphore_acquire:
    case latch_wait:
    case barrier_wait:
    case once_wait:
    case task_group_wait: return true;
    case none:
    case sleep:
    case select_ready:
    case generator_turn:
    case fork_join:
    case bubble_wait:
    case io_read:
    case io_write:
    case io_close:
    case name_look_up:
    case memory_pipe_read:
    case memory_pipe_write: return false;
  }
  return false;
}

constexpr bool waits_for_nothing(sched::wait_reason reason) noexcept {
  using enum sched::wait_reason;
  return reason == chan_receive_nil || reason == chan_send_nil || reason == select_no_cases;
}

/// What a channel's body has, for a look at it.
struct channel_body : chan_detail::chan_base {
  using base = chan_detail::chan_base;
  using list = sync_detail::wait_list;

  static const list& receivers_of(const base& of) noexcept {
    return of.*(&channel_body::receivers_);
  }
  static const list& senders_of(const base& of) noexcept { return of.*(&channel_body::senders_); }
  static std::uint32_t references(const base& of) noexcept {
    return (of.*(&channel_body::references_)).load(relaxed);  // relaxed: all stand still
  }
  static bool has_own_life(const base& of) noexcept {
    return of.*(&channel_body::clock_) == nullptr;
  }

  /// The body that a list is part of; null if it is another object's.
  static const base* around(const list& of) noexcept {
    const auto* const found =
        reinterpret_cast<const base*>(reinterpret_cast<std::uintptr_t>(&of.lock));
    return &receivers_of(*found) == &of || &senders_of(*found) == &of ? found : nullptr;
  }
};

/// One search. Its memory is mapped before the goroutines stop.
class leak_search {
 public:
  explicit leak_search(sched::runtime_scheduler& scheduler)
      : scheduler_(scheduler), graph_(count(scheduler)) {
    if (graph_.has_memory()) {
      scheduler.pool->for_each([this](sched::goroutine& g) { graph_.note(g); });
    }
  }

  bool has_memory() const noexcept { return graph_.has_memory(); }

  /// Inside a freeze that is complete. `own`: the calling M, on which a goroutine runs.
  void look(sched::machine& own) noexcept {
    struct call {
      leak_search& self;
      sched::machine& m;
      void* sp;
    } here{*this, own, nullptr};
    // Its frame holds the registers of this thread.
    arch::call_as_parked(
        &here.sp,
        [](void* argument) noexcept {
          auto& at = *static_cast<call*>(argument);
          at.self.look_above(at.m, reinterpret_cast<std::uintptr_t>(at.sp));
        },
        &here);
  }

  /// Whether all memory was seen: else only waits for nothing are proven.
  bool is_complete() const noexcept { return is_complete_; }
  /// Whether a thread has begun during the search: another search may be complete.
  bool has_changed() const noexcept { return has_changed_; }

  /// Calls f(id) for each goroutine that is lost.
  template <class F>
  void for_each_lost(F f) const {
    graph_.for_each_lost(f);
  }

 private:
  static std::size_t count(sched::runtime_scheduler& scheduler) noexcept {
    std::size_t n = 64;  // are made meanwhile
    scheduler.pool->for_each([&n](sched::goroutine&) noexcept { ++n; });
    return n;
  }

  void look_above(const sched::machine& own, std::uintptr_t own_sp) noexcept {
    graph_.for_each_noted([&](sched::goroutine& g) { sort_in(g, own, own_sp); });
    find_channels();
    graph_.order();
    graph_.read_nodes();
    if (look_at_roots()) {
      is_complete_ = true;
      graph_.mark();
    }
  }

  /// A candidate, or memory that is left out.
  void sort_in(const sched::goroutine& g, const sched::machine& own,
               std::uintptr_t own_sp) noexcept {
    using sched::g_status;
    const auto low = reinterpret_cast<std::uintptr_t>(g.stack_low);
    const auto high = reinterpret_cast<std::uintptr_t>(&g);
    const auto sp = reinterpret_cast<std::uintptr_t>(g.sp.get());
    const g_status status = g.status.load(acquire);  // [g.status <] acquire: the stack pointer
    const bool is_parked = status == g_status::waiting || status == g_status::runnable;
    if (&g == own.g) {
      graph_.leave_out(low, own_sp);
    } else if (is_parked && sp >= low && sp < high) {
      graph_.leave_out(low, sp);
      if (status == g_status::waiting && is_candidate(g)) {
        graph_.add_goroutine(g, sp, waits_for_nothing(g.reason.peek()));
      }
    } else if ((status == g_status::idle || status == g_status::dead) &&
               g.join.get() == sched::join_state::none) {
      graph_.leave_out(low, high);
    }
  }

  static bool is_candidate(const sched::goroutine& g) noexcept {
    using timer = sched::basic_timer<sched::traits>;
    const std::int64_t due = g.word.load(relaxed);  // relaxed: all stand still
    return waits_for_program(g.reason.peek()) && g.stop == nullptr &&
           (due == timer::idle || due == timer::stopped);
  }

  /// LK3
  void find_channels() noexcept {
    graph_.for_each_goroutine([this](const leak_node& at) {
      using sched::wait_reason;
      // relaxed: all stand still
      const sched::wait_point* const point = at.g->withdrawable.load(relaxed);
      const wait_reason reason = at.g->reason.peek();
      if (point == nullptr) {
        return;
      }
      if (reason == wait_reason::chan_receive || reason == wait_reason::chan_send) {
        const auto* const body =
            channel_body::around(*static_cast<const channel_body::list*>(point->object));
        if (body != nullptr) {
          add_channel(*body);
        }
      } else if (reason == wait_reason::select && point->selection != nullptr) {
        find_channels_of(at, *point->selection);
      }
    });
  }

  void add_channel(const channel_body::base& body) noexcept {
    if (channel_body::has_own_life(body)) {
      graph_.add_channel(reinterpret_cast<std::uintptr_t>(&body), sizeof body,
                         channel_body::references(body));
    }
  }

  /// The channels of a select: their addresses stand on its stack, and they lead to points of the selection.
  void find_channels_of(const leak_node& of, const sched::selection_state& selection) noexcept {
    if constexpr (os::sees_all_memory) {
      for (std::uintptr_t at = of.low; at < of.high; at += sizeof at) {
        const std::uintptr_t word = sched::word_at(at);
        const bool may_be_one = word % alignof(channel_body::base) == 0 &&
                                word >= os::page_size() && !(word >= of.low && word < of.end);
        if (may_be_one && !graph_.is_known(word) && graph_.is_untested(word) &&
            leads_to(word, selection)) {
          add_channel(*reinterpret_cast<const channel_body::base*>(word));
        }
      }
    }
  }

  /// Whether there is a channel at an address, one of whose waiters belongs to the selection. The address may be
  /// anything.
  static bool leads_to(std::uintptr_t address, const sched::selection_state& selection) noexcept {
    using body = channel_body::base;
    alignas(body) std::byte copy[sizeof(body)];
    if (os::copy_own_memory(copy, address, sizeof copy) != sizeof copy) {
      return false;
    }
    const auto& seen = *reinterpret_cast<const body*>(copy);
    const channel_body::list& receivers = channel_body::receivers_of(seen);
    const channel_body::list& senders = channel_body::senders_of(seen);
    return reinterpret_cast<std::uintptr_t>(&receivers.lock) == address &&
           reinterpret_cast<std::uintptr_t>(&senders.lock) == address &&
           (holds(receivers, selection) || holds(senders, selection));
  }

  static bool holds(const channel_body::list& list,
                    const sched::selection_state& selection) noexcept {
    constexpr int most_steps = 10'000;
    auto at = reinterpret_cast<std::uintptr_t>(list.points.front());
    for (int steps = 0; at != 0 && steps != most_steps; ++steps) {
      alignas(sched::wait_point) std::byte copy[sizeof(sched::wait_point)];
      if (os::copy_own_memory(copy, at, sizeof copy) != sizeof copy) {
        return false;
      }
      const auto& point = *reinterpret_cast<const sched::wait_point*>(copy);
      if (!point.linked || point.selection == &selection) {
        return point.linked;
      }
      at = reinterpret_cast<std::uintptr_t>(point.next);
    }
    return false;
  }

  /// False: some memory was not seen. LK2
  bool look_at_roots() noexcept {
    if constexpr (os::sees_all_memory) {
      if (!graph_.has_nodes()) {
        return true;
      }
      const unsigned made = scheduler_.ms.made();
      for (unsigned i = 0; i != made; ++i) {
        const sched::machine& m = scheduler_.ms[i];
        const auto at = reinterpret_cast<std::uintptr_t>(&m);
        const auto sp = reinterpret_cast<std::uintptr_t>(m.g0_sp);
        graph_.leave_out(at, at + sizeof m);
        if (sp != 0 && m.as_host == nullptr && os::number_of(m.self) != 0) {
          constexpr std::uintptr_t used_there = 32 << 10;
          graph_.leave_out(sp - used_there, sp);
        }
      }
      graph_.order_left_out();
      constexpr auto is_harmless = [](std::int32_t thread) noexcept {
        for (const std::string_view each :
             {"thrum/creator", "thrum/sysmon", "thrum/bell", "thrum/profile", "thrum-look-up"}) {
          if (os::all_threads_stopped::is_named(thread, each)) {
            return true;
          }
        }
        return false;
      };
      const os::all_threads_stopped stopped(is_harmless);
      const bool was_read = stopped.complete() && graph_.read_roots();
      has_changed_ = was_read && !stopped.still_complete(is_harmless);
      return was_read && !has_changed_;
    } else {
      return false;
    }
  }

  sched::runtime_scheduler& scheduler_;
  leak_graph graph_;
  bool is_complete_ = false;
  bool has_changed_ = false;
};

}}}  // namespace thrum::THRUM_ABI::profile_detail

#endif
