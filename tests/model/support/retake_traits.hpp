// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The traits of a build in which the hand-shake over a P runs in the explorer: atomics, fences and
// a clock of a modelled machine; and the mutants of that hand-shake.
//
// Each access to an atomic knows the function that makes it, and is wrong where the mutant says so.
// The light fence keeps the compiler alone from reordering, which no machine of the model does; so
// here the compiler does, wherever it may: the store before the light fence sinks below the next
// load unless the fence stops it.

#ifndef THRUM_TESTS_MODEL_RETAKE_TRAITS_HPP
#define THRUM_TESTS_MODEL_RETAKE_TRAITS_HPP

#include <thrum/detail/sched/core/p_state.hpp>

#include "model_traits.hpp"
#include "objects.hpp"

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace model::retaking {

using thrum::sched::retake_state;

// ---- what a mutant gets wrong ----

enum class mistake {
  nothing,
  no_heavy_fence,      // R1
  no_light_fence,      // on the way in
  no_handler_fence,    // on the handler's way in
  weak_request,        // R1 stores `wanted` relaxed
  weak_leave,          // `inside` goes back to 0 relaxed
  weak_look,           // R2 reads it relaxed
  weak_give_back,      // R4 gives the P back relaxed
  weak_take,           // R5 relaxed
  weak_answer,         // the M reads the monitor's decision relaxed
  weak_objection,      // the M's compare-and-swap is relaxed
  torn_decision,       // R3 is a load and a store
  torn_objection,      // the M's compare-and-swap is a load and a store
  looks_not_inside,    // R2 left out
  looks_not_at_p,      // R4 left out
  never_gives_back,    // R4 leaves `decided`
  gives_back_as_none,  // R4 does not make the M look
  enters_blindly,      // the M does not look for a request
  waits_not,           // the M takes `decided` for a permission to go on
  handler_is_blind,    // the handler does not look for one
  handler_cuts_in,     // the handler does not mind that it interrupted the scheduler
  weak_plan,           // the monitor plans its sleep relaxed
  weak_return,         // a goroutine that queues up counts itself relaxed
  looks_before_plan,   // the monitor looks for such goroutines before it plans
  counts_first,        // MS1: such a goroutine counts itself before it queues up
  serves_by_asking     // MS2: the monitor forgets those for whom it has asked a P
};

/// The mutant that is being searched.
inline mistake made = mistake::nothing;
inline bool membarrier = true;

constexpr unsigned the_m = 0;
constexpr unsigned the_monitor = 1;
constexpr unsigned the_other = 2;

// The store to `inside` that the compiler has moved, of the thread whose P is wanted.
struct sunk_store {
  model::basic_atomic<std::uint32_t>* where = nullptr;

  void settle() {
    if (where != nullptr && model::explorer::active().self() == the_m) {
      std::exchange(where, nullptr)->store(1, std::memory_order_relaxed);
    }
  }
};
inline sunk_store sunk;

// An atomic that knows which thread accesses it, and is wrong as the mutant is.
template <class T>
class protocol_atomic : public model::basic_atomic<T> {
  using base = model::basic_atomic<T>;
  using order = std::memory_order;
  using text = std::string_view;
  static constexpr bool is_state = std::is_same_v<T, retake_state>;
  static constexpr bool is_inside = std::is_same_v<T, std::uint32_t>;

 public:
  protocol_atomic(T value) noexcept : base(value) {}  // not explicit: as std::atomic

  T load(order how, text caller = __builtin_FUNCTION()) const noexcept {
    T value = base::load(weaker(how, caller, "retake", mistake::weak_look,  //
                                "keeps_p", mistake::weak_answer));
    sunk.settle();
    if constexpr (is_inside) {
      if ((made == mistake::looks_not_inside && caller.starts_with("retake")) ||
          (made == mistake::handler_cuts_in && caller.starts_with("interrupt"))) {
        value = 0;
      }
    }
    if constexpr (is_state) {
      if ((made == mistake::enters_blindly && caller.starts_with("enter_scheduler")) ||
          (made == mistake::handler_is_blind && caller.starts_with("interrupt")) ||
          (made == mistake::waits_not && value == retake_state::decided)) {
        value = retake_state::none;
      }
    }
    if constexpr (std::is_pointer_v<T>) {
      if (made == mistake::looks_not_at_p && caller == "peek" &&
          model::explorer::active().self() == the_monitor) {
        value = as_before;
      }
    }
    return value;
  }

  void store(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if constexpr (is_inside) {
      if (membarrier &&
          (caller.starts_with("enter_scheduler") || caller.starts_with("interrupt"))) {
        sunk.where = this;
        return;
      }
      how = weaker(how, caller, "leave_scheduler", mistake::weak_leave);
    }
    if constexpr (is_state) {
      if (is_decided_ && value == retake_state::wanted) {
        is_decided_ = false;
        if (made == mistake::never_gives_back) {
          return;
        }
        if (made == mistake::gives_back_as_none) {
          value = retake_state::none;
        }
        how = weaker(how, caller, "retake", mistake::weak_give_back);
      } else {
        how = weaker(how, caller, "retake",
                     value == retake_state::wanted ? mistake::weak_request : mistake::weak_take);
      }
    }
    base::store(value, how);
  }

  bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                               text caller = __builtin_FUNCTION()) noexcept {
    if ((made == mistake::torn_decision && is_state && caller.starts_with("retake")) ||
        (made == mistake::torn_objection && is_state && caller.starts_with("keeps_p"))) {
      const T old = base::load(order::acquire);
      const bool equal = old == expected;
      if (equal) {
        base::store(desired, order::release);
      }
      expected = old;
      return equal;
    }
    const bool changed = base::compare_exchange_strong(
        expected, desired, weaker(success, caller, "keeps_p", mistake::weak_objection), failure);
    if constexpr (is_state) {
      is_decided_ = changed && desired == retake_state::decided;
    }
    return changed;
  }

  T exchange(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    return base::exchange(value, weaker(how, caller, "plan", mistake::weak_plan));
  }
  T fetch_add(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    return base::fetch_add(value, weaker(how, caller, "note_return", mistake::weak_return));
  }

  T as_before{};  // what the monitor has seen there

 private:
  static order weaker(order how, text caller, text where, mistake which) {
    return made == which && caller.starts_with(where) ? order::relaxed : how;
  }
  static order weaker(order how, text caller, text where, mistake which, text where_else,
                      mistake which_else) {
    return weaker(weaker(how, caller, where, which), caller, where_else, which_else);
  }

  bool is_decided_ = false;  // between R3 and R4
};

struct protocol_traits : model::traits {
  static constexpr bool is_process_wide = false;
  static constexpr std::int64_t least_run_ns = 1'000'000;
  static constexpr std::int64_t monitor_max_sleep_ns = 10'000'000;
  static constexpr std::int64_t long_call_ns = 20'000;
  static constexpr std::int64_t blocked_ns = 1'000'000;
  static constexpr std::int64_t monitor_min_sleep_ns = 20'000;
  static constexpr std::int64_t silent_ns = 100'000'000;
  static constexpr std::int64_t unresponsive_ns = 10'000'000;
  static constexpr bool has_fine_cpu_clock = true;
  static std::int64_t now() noexcept { return 0; }

  template <class T>
  using atomic = protocol_atomic<T>;

  static void light_fence(std::string_view caller = __builtin_FUNCTION()) noexcept {
    if ((made == mistake::no_light_fence && caller.starts_with("enter_scheduler")) ||
        (made == mistake::no_handler_fence && caller.starts_with("interrupt"))) {
      return;
    }
    if (membarrier) {
      sunk.settle();
    } else {
      model::traits::fence(std::memory_order_seq_cst);
    }
  }
  template <class Thread>
  static void heavy_fence_for(const Thread&) noexcept {
    if (made == mistake::no_heavy_fence) {
      return;
    }
    if (membarrier) {
      model::traits::heavy_fence();
    } else {
      model::traits::fence(std::memory_order_seq_cst);
    }
  }
};

}  // namespace model::retaking

namespace thrum { inline namespace THRUM_ABI { namespace sched {
using traits = model::retaking::protocol_traits;
}}}  // namespace thrum::THRUM_ABI::sched

#endif
