// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Gs, Ms, Ps and a scheduler of modelled memory, as far as the hand-shake over a P touches them, so
// that the scheduler's own code for it runs in the explorer; and the mutants of that code.
//
// They take the places of the scheduler's by specialisation. Functions behind the hand-shake, of
// which there is nothing to check here, are replaced by overloads that are found with these types.
//
// An access of an atomic knows the function that makes it, and is wrong where the mutant is. The
// light fence keeps the compiler alone from reordering, which no machine of the model does; so here
// the compiler does, wherever it may: the store before the light fence sinks below the next load
// unless the fence stops it.

#ifndef THRUM_TESTS_MODEL_RETAKE_PARTS_HPP
#define THRUM_TESTS_MODEL_RETAKE_PARTS_HPP

#include "assertions.hpp"

#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/syscall.hpp>
#include <thrum/sched/watch/preempt.hpp>
#include <thrum/sched/watch/retake.hpp>

#include "model_traits.hpp"
#include "objects.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace model::retaking {

using thrum::sched::g_status;
using thrum::sched::p_status;
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
  handler_cuts_in      // the handler does not mind that it interrupted the scheduler
};

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

// An atomic that knows who accesses it, and is wrong where the mutant is.
template <class T, mistake Made, bool Membarrier>
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
      if ((Made == mistake::looks_not_inside && caller.starts_with("retake")) ||
          (Made == mistake::handler_cuts_in && caller.starts_with("interrupt"))) {
        value = 0;
      }
    }
    if constexpr (is_state) {
      if ((Made == mistake::enters_blindly && caller.starts_with("enter_scheduler")) ||
          (Made == mistake::handler_is_blind && caller.starts_with("interrupt")) ||
          (Made == mistake::waits_not && value == retake_state::decided)) {
        value = retake_state::none;
      }
    }
    if constexpr (std::is_pointer_v<T>) {
      if (Made == mistake::looks_not_at_p && caller.starts_with("retake")) {
        value = as_before;
      }
    }
    return value;
  }

  void store(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if constexpr (is_inside) {
      if (Membarrier &&
          (caller.starts_with("enter_scheduler") || caller.starts_with("interrupt"))) {
        sunk.where = this;
        return;
      }
      how = weaker(how, caller, "leave_scheduler", mistake::weak_leave);
    }
    if constexpr (is_state) {
      if (is_decided_ && value == retake_state::wanted) {
        is_decided_ = false;
        if (Made == mistake::never_gives_back) {
          return;
        }
        if (Made == mistake::gives_back_as_none) {
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
    if ((Made == mistake::torn_decision && is_state && caller.starts_with("retake")) ||
        (Made == mistake::torn_objection && is_state && caller.starts_with("keeps_p"))) {
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

  T as_before{};  // what the monitor has seen there

 private:
  static order weaker(order how, text caller, text where, mistake which) {
    return Made == which && caller.starts_with(where) ? order::relaxed : how;
  }
  static order weaker(order how, text caller, text where, mistake which, text where_else,
                      mistake which_else) {
    return weaker(weaker(how, caller, where, which), caller, where_else, which_else);
  }

  bool is_decided_ = false;  // between R3 and R4
};

template <mistake Made, bool Membarrier>
struct protocol_traits : model::traits {
  static constexpr std::int64_t least_run_ns = 1'000'000;
  static constexpr std::int64_t blocked_ns = 1'000'000;
  static std::int64_t now() noexcept { return 0; }

  template <class T>
  using atomic = protocol_atomic<T, Made, Membarrier>;

  static void light_fence(std::string_view caller = __builtin_FUNCTION()) noexcept {
    if ((Made == mistake::no_light_fence && caller.starts_with("enter_scheduler")) ||
        (Made == mistake::no_handler_fence && caller.starts_with("interrupt"))) {
      return;
    }
    if (Membarrier) {
      sunk.settle();
    } else {
      model::traits::fence(std::memory_order_seq_cst);
    }
  }
  static void heavy_fence() noexcept {
    if (Made == mistake::no_heavy_fence) {
      return;
    }
    if (Membarrier) {
      model::traits::heavy_fence();
    } else {
      model::traits::fence(std::memory_order_seq_cst);
    }
  }
};

// A plain pointer of an M's that the monitor looks at as well.
template <class T, mistake Made>
class watched_pointer {
 public:
  watched_pointer& operator=(T* value) {
    value_ = value;
    return *this;
  }
  operator T*() const {  // not explicit: as a pointer
    if (Made == mistake::looks_not_at_p && as_before != nullptr &&
        model::explorer::active().self() == the_monitor) {
      return as_before;
    }
    return value_;
  }
  T* operator->() const { return *this; }

  T* as_before = nullptr;

 private:
  model::cell<T*> value_{nullptr};
};

// What is said of times and turns: no more than a hint to anybody.
template <class T>
struct hint {
  T load(std::memory_order) const { return T{}; }
  void store(T, std::memory_order) {}
};

// A figure that nobody relies on.
struct figure {
  unsigned value = 0;
  unsigned load(std::memory_order) const { return value; }
  void fetch_add(unsigned n, std::memory_order) { value += n; }
  void add() { ++value; }
};

}  // namespace model::retaking

// ---- what the code under test touches of a G, P, M and the scheduler ----

namespace thrum { inline namespace THRUM_ABI { namespace sched {

template <model::retaking::mistake Made, bool Membarrier>
struct basic_g<model::retaking::protocol_traits<Made, Membarrier>> {
  using traits = model::retaking::protocol_traits<Made, Membarrier>;
  typename traits::template atomic<g_status> status{g_status::running};
  basic_m<traits>* bound = nullptr;
  unsigned thread_locks = 0;
  std::int64_t ran_ns = 0;
  std::uint8_t flags = 0;
  void* sp = nullptr;
  void** sp_slot() { return &sp; }
};

template <model::retaking::mistake Made, bool Membarrier>
struct basic_p<model::retaking::protocol_traits<Made, Membarrier>> {
  using traits = model::retaking::protocol_traits<Made, Membarrier>;
  template <class T>
  using atomic = typename traits::template atomic<T>;

  atomic<p_status> status{p_status::running};
  atomic<basic_m<traits>*> m{nullptr};
  atomic<std::uint32_t> attention{0};
  struct {
    std::size_t size() const { return 0; }
    std::int64_t earliest() const { return 0; }
  } timers;
  struct {
    model::retaking::figure preemptions;
    model::retaking::figure switches;
  } counts;
  model::retaking::hint<std::uint32_t> syscall_tick, schedule_tick, resumed_tick;
  model::retaking::hint<std::int64_t> slice_ran_ns, resumed_at;
  struct {
    bool empty() const { return true; }
  } queue;

  const void* holder = nullptr;  // what must hold, not what anybody knows
  model::cell<int> content{0};   // everything that belongs to whoever holds the P
};

template <class Traits>
basic_m<Traits>& answer_monitor(basic_m<Traits>& m) noexcept;

template <model::retaking::mistake Made, bool Membarrier>
struct basic_m<model::retaking::protocol_traits<Made, Membarrier>> {
  using traits = model::retaking::protocol_traits<Made, Membarrier>;
  template <class T>
  using atomic = typename traits::template atomic<T>;

  atomic<std::uint32_t> inside{1};
  atomic<retake_state> retake{retake_state::none};
  basic_m& (*answer_monitor)(basic_m&) noexcept = &sched::answer_monitor<traits>;
  model::retaking::watched_pointer<basic_g<traits>, Made> g;
  model::retaking::watched_pointer<basic_p<traits>, Made> p;
  basic_scheduler<traits>* scheduler = nullptr;
  basic_p<traits>* old_p = nullptr;
  basic_g<traits>* locked_g = nullptr;
  model::cell<bool> spinning{false};
  model::cell<basic_p<traits>*> next_p{nullptr};
  model::note park;
  basic_m* watched_next = nullptr;
  std::int64_t watched_cpu = 0;
  bool watched = false;
  struct {
    std::int64_t now() const { return 0; }
  } cpu_clock;
  // The models' threads are fibres of one; these are not part of the protocol.
  std::atomic<std::uint64_t> tid{os::thread_id()};
  std::uint64_t thread_number() const { return tid.load(relaxed); }
  std::atomic<std::uint32_t> heard{0};
  std::atomic<bool> deaf{false};
  std::uint32_t cpu = 0;
  os::preempt_target interruption;
};

// Three Ms' worth of scheduler: whoever waits for a P gets the next one that comes free.
template <model::retaking::mistake Made, bool Membarrier>
class basic_scheduler<model::retaking::protocol_traits<Made, Membarrier>> {
 public:
  using traits = model::retaking::protocol_traits<Made, Membarrier>;
  using g_type = basic_g<traits>;
  using m_type = basic_m<traits>;
  using p_type = basic_p<traits>;

  struct settings {
    std::int64_t time_slice_ns = 10'000'000;
    bool interrupts = false;
    unsigned max_threads = 8;
  };
  const settings& config() const { return settings_; }

  void acquire_p(m_type& m, p_type& p) {
    model::require(p.holder == nullptr, "an M takes a P that somebody holds");
    p.holder = &m;
    m.p = &p;
    p.m.store(&m, relaxed);
    p.status.store(p_status::running, release);
  }
  p_type& release_p(m_type& m) {
    p_type& p = *m.p;
    model::require(p.holder == &m, "an M gives away a P that it does not hold");
    p.holder = nullptr;
    m.p = nullptr;
    p.m.store(nullptr, relaxed);
    p.status.store(p_status::idle, release);
    return p;
  }
  void pass_p(p_type& p, m_type& m, bool spinning) {
    m.spinning = spinning;
    m.next_p = &p;
    m.park.wake();
  }
  // False: nobody will ever give it one.
  bool wait_for_p(m_type& m) {
    if (!m.park.sleep()) {
      return false;
    }
    m.park.clear();
    acquire_p(m, *m.next_p);
    return true;
  }

  // The monitor's: it has taken the P of `robbed`.
  void hand_off(p_type& p) {
    model::require(p.holder == robbed, "a P was taken from an M that no longer held it");
    p.holder = &robbed;  // somebody else, for a moment
    use(p, &robbed);
    p.holder = nullptr;
    give(p);
  }
  void use(p_type& p, const void* by) {
    model::require(p.holder == by, "a P is used by one who does not hold it");
    p.content = p.content + 1;
  }
  // To a goroutine that waits for a P, else to the other M, else on the idle list.
  void give(p_type& p) {
    idle.lock().lock();
    m_type* m = waiting != nullptr ? waiting : idle.take_m_locked();
    if (m == waiting) {
      waiting = nullptr;
    }
    if (m == nullptr) {
      idle.put_p_locked(p);
    }
    idle.lock().unlock();
    if (m != nullptr) {
      pass_p(p, *m, false);
    }
  }
  // Waits until it has one. Caller holds the lock, which is released here.
  void queue_up_locked(m_type& m) {
    if (p_type* const p = idle.take_p_locked()) {
      idle.lock().unlock();
      acquire_p(m, *p);
      return;
    }
    waiting = &m;
    idle.lock().unlock();
    wait_for_p(m);
  }

  bool has_spare() const { return true; }
  unsigned procs() const { return 1; }
  template <class P>
  static std::int64_t next_timer(const P& p) {
    return p.timers.earliest();
  }
  void wake_monitor() {}
  void wake_monitor_for(std::int64_t) {}
  void wake_processor_after_rmw() {}
  // Something was pushed.
  void wake_processor() {
    idle.lock().lock();
    p_type* const p = waiting != nullptr ? idle.take_p_locked() : nullptr;
    m_type* const m = waiting;
    waiting = p != nullptr ? nullptr : waiting;
    idle.lock().unlock();
    if (p != nullptr) {
      pass_p(*p, *m, false);
    }
  }

  struct {
    model::mutex& lock() { return lock_; }
    unsigned idle_ps() const { return 0; }
    template <class Suits>
    m_type* take_m_locked(Suits) {
      return take_m_locked();
    }
    m_type* take_m_locked() {
      m_type* const m = m_;
      m_ = nullptr;
      return m;
    }
    void put_m_locked(m_type& m) { m_ = &m; }
    p_type* take_p_locked() { return count_ == 0 ? nullptr : ps_[--count_]; }
    void put_p_locked(p_type& p) { ps_[count_++] = &p; }
    void end_spinning(m_type& m) { m.spinning = false; }

    model::mutex lock_;
    m_type* m_ = nullptr;
    p_type* ps_[4] = {};
    unsigned count_ = 0;
  } idle;
  struct {
    void request_spare() {}
  } creator;
  struct {
    template <class Suits>
    g_type* take_preempted_in_turn(Suits, unsigned) {
      return nullptr;
    }
    g_type* take_preempted() { return nullptr; }  // hand_over's own goroutine is the only one
    void push_preempted(g_type& g, bool) { *waiting = g.bound; }
    std::size_t stopped() const { return 0; }
    m_type** waiting;
  } global{&waiting};
  struct {
    template <class IsShort>
    bool note_loop(const g_type&, IsShort) const {
      return false;  // there are threads enough
    }
    unsigned limit() const { return 8; }
  } reserve;
  template <class F>
  void for_each_live_p(F) {}
  const void* clock = nullptr;
  struct {
    model::retaking::figure signals, retakes, exchanges, without_p;
  } taken;
  model::retaking::figure creating;
  m_type* waiting = nullptr;  // under the lock
  const m_type* robbed = nullptr;

 private:
  settings settings_;
};

}}}  // namespace thrum::THRUM_ABI::sched

namespace model::retaking {

// Found by who looks for them with a G, M or P of the model's, before the scheduler's own.
template <mistake Made, bool Membarrier>
using m_of = thrum::sched::basic_m<protocol_traits<Made, Membarrier>>;

template <mistake Made, bool Membarrier>
m_of<Made, Membarrier>& regain_p(m_of<Made, Membarrier>& m) noexcept {
  m.scheduler->idle.lock().lock();
  m.scheduler->queue_up_locked(m);
  return m;
}

template <mistake Made, bool Membarrier>
m_of<Made, Membarrier>& attend_running(m_of<Made, Membarrier>& m) noexcept {
  return m;
}

template <mistake Made, bool Membarrier>
void end_slice(m_of<Made, Membarrier>&) noexcept {}

template <mistake Made, bool Membarrier>
void wait_while_frozen(m_of<Made, Membarrier>&) noexcept {}

}  // namespace model::retaking

#endif
