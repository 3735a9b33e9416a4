// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Gs, Ms, Ps and a scheduler of modelled memory, as far as the hand-shake over a P touches them, so
// that the scheduler's own code for it runs in the explorer (retake_traits.hpp).
//
// They replace the scheduler's own, and so do the functions behind the hand-shake, where there is
// nothing to check here: the include guards of the headers they replace are defined here. Included
// before everything else of thrum's: the library of this source file is a build of its own.

#ifndef THRUM_TESTS_MODEL_RETAKE_PARTS_HPP
#define THRUM_TESTS_MODEL_RETAKE_PARTS_HPP

#undef THRUM_SEPARATE
#define THRUM_SEPARATE 0
#define THRUM_ABI_TRAITS _retake_model
#define THRUM_TRAITS_HEADER "model/support/retake_traits.hpp"
#define THRUM_DETAIL_SCHED_CORE_G_HPP
#define THRUM_DETAIL_SCHED_CORE_M_HPP
#define THRUM_DETAIL_SCHED_CORE_P_HPP
#define THRUM_DETAIL_SCHED_CORE_SCHEDULER_HPP
#define THRUM_DETAIL_SCHED_RUN_BACKGROUND_HPP
#define THRUM_DETAIL_SCHED_RUN_PARK_HPP
#define THRUM_DETAIL_SCHED_RUN_YIELD_HPP
#define THRUM_DETAIL_SCHED_RUN_END_HPP
#define THRUM_DETAIL_SCHED_RUN_LATENCY_HPP

#include "assertions.hpp"

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/core/p_state.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/freeze/freeze_state.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>

#include "objects.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace model::retaking {

// A plain pointer of an M's that the monitor looks at as well.
template <class T>
class watched_pointer {
 public:
  watched_pointer& operator=(T* value) {
    value_ = value;
    return *this;
  }
  operator T*() const {  // not explicit: as a pointer
    if (made == mistake::looks_not_at_p && as_before != nullptr &&
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

// A time or a turn, which is no more than a hint in the scheduler, either.
template <class T>
struct hint {
  T load(std::memory_order) const { return T{}; }
  void store(T, std::memory_order) {}
  T get() const { return T{}; }
  void set(T) {}
  void add() {}
};

// A figure on which nothing depends.
struct figure {
  unsigned value = 0;
  unsigned load(std::memory_order) const { return value; }
  void fetch_add(unsigned n, std::memory_order) { value += n; }
  void fetch_sub(unsigned n, std::memory_order) { value -= n; }
  void add() { ++value; }
  unsigned get() const { return value; }
};

}  // namespace model::retaking

// ---- what the code under test touches of a G, P, M and the scheduler ----

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;
struct goroutine;
struct machine;
struct processor;
class runtime_scheduler;

constexpr unsigned g_short_calls = 1;
constexpr unsigned g_long_calls = 2;
constexpr unsigned g_call_flags = g_short_calls | g_long_calls;

struct goroutine {
  std::uint64_t id = 0;
  one_writer<g_status> status{g_status::running};
  machine* bound = nullptr;
  unsigned thread_locks = 0;
  std::int64_t ran_ns = 0;
  std::uint8_t flags = 0;
  char* stack_low = nullptr;
  void* sp = nullptr;
  void** sp_slot() { return &sp; }
};

struct processor {
  std::uint32_t id = 0;
  one_writer<p_status> status{p_status::running};
  one_writer<machine*> m{nullptr};
  hint<std::uint32_t> attention{0};
  struct {
    std::size_t size() const { return 0; }
    std::int64_t earliest() const { return 0; }
  } timers;
  struct {
    model::retaking::figure preemptions;
    model::retaking::figure switches;
  } counts;
  model::retaking::hint<std::uint32_t> syscall_tick, schedule_tick, resumed_tick, asked_tick,
      frozen_in;
  model::retaking::hint<std::int64_t> slice_ran_ns, resumed_at;
  model::retaking::hint<bool> first_calls_are_long;
  bool has_queued() const { return false; }

  what_was_seen seen;
  const void* holder = nullptr;  // what must hold, not what anybody knows
  model::cell<int> content{0};   // all that only the holder of the P may use
};

machine& answer_monitor(machine& m) noexcept;

struct machine {
  std::uint32_t id = 0;
  one_writer<std::uint32_t> inside{1};
  atomic<retake_state> retake{retake_state::none};
  machine& (*answer_monitor)(machine&) noexcept = &sched::answer_monitor;
  model::retaking::watched_pointer<goroutine> g;
  model::retaking::watched_pointer<processor> p;
  runtime_scheduler* scheduler = nullptr;
  processor* old_p = nullptr;
  std::int64_t call_since = 0;
  goroutine* locked_g = nullptr;
  model::cell<bool> spinning{false};
  model::cell<processor*> next_p{nullptr};
  model::note park;
  machine* watched_next = nullptr;
  std::int64_t watched_cpu = 0;
  std::int64_t watched_at = 0;
  bool watched = false;
  os::call_stack callers;
  // The models' threads are fibres of one; what it says of them is not part of the protocol.
  struct {
    std::int64_t cpu_now() const { return 0; }
    os::thread_look look() const { return os::thread_look::unknown; }
    bool interrupt(os::preempt_target&) const { return false; }
    bool is_calling_thread() const { return true; }
  } self;
  model::retaking::figure heard;
  std::atomic<bool> unresponsive{false};
  std::uint32_t cpu = 0;
  os::preempt_target interruption;
};

// As much of a scheduler as three Ms need: an M that waits for a P gets the next free one.
class runtime_scheduler {
 public:
  struct settings {
    std::int64_t time_slice_ns = 10'000'000;
    bool interrupts = false;
    unsigned max_threads = 8;
  };
  const settings& config() const { return settings_; }

  void acquire_p(machine& m, processor& p) {
    model::require(p.holder == nullptr, "an M takes a P that somebody holds");
    p.holder = &m;
    m.p = &p;
    p.m.store(&m, relaxed);
    p.status.store(p_status::running, release);
  }
  processor& release_p(machine& m) {
    processor& p = *m.p;
    model::require(p.holder == &m, "an M gives away a P that it does not hold");
    p.holder = nullptr;
    m.p = nullptr;
    p.m.store(nullptr, relaxed);
    p.status.store(p_status::idle, release);
    return p;
  }
  void pass_p(processor& p, machine& m, bool spinning) {
    m.spinning = spinning;
    m.next_p = &p;
    m.park.wake();
  }
  // False: nobody will ever give it one.
  bool wait_for_p(machine& m) {
    if (!m.park.sleep()) {
      return false;
    }
    m.park.clear();
    acquire_p(m, *m.next_p);
    return true;
  }

  // The monitor's: it has taken the P of `robbed`. Or that of an M which has given it up itself.
  void hand_off(processor& p) {
    if (p.holder == nullptr) {
      give(p);
      return;
    }
    model::require(p.holder == robbed, "a P was taken from an M that no longer held it");
    p.holder = &robbed;  // somebody else, for a moment
    use(p, &robbed);
    p.holder = nullptr;
    give(p);
  }
  void use(processor& p, const void* by) {
    model::require(p.holder == by, "a P is used by an M that does not hold it");
    p.content = p.content + 1;
  }
  // To a goroutine that waits for a P, else to the other M, else on the idle list.
  void give(processor& p) {
    idle.lock().lock();
    machine* m = waiting != nullptr ? waiting : idle.take_m_locked();
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
  void queue_up_locked(machine& m) {
    if (processor* const p = idle.take_p_locked()) {
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
  struct {
    unsigned live() const { return 0; }
    processor& operator[](unsigned) { __builtin_unreachable(); }
  } ps;
  template <class P>
  static std::int64_t next_timer(const P& p) {
    return p.timers.earliest();
  }
  struct {
    void wake_if_all_idle() {}
    void wake_for(std::int64_t) {}
    void note_return(std::int64_t) {
      model::require(is_queued, "MS1: a goroutine is counted, and waits nowhere");
    }
    bool is_queued = false;
  } monitor;
  struct {
    bool has_begun() const { return false; }
  } exit_of_process;
  void wake_processor_after_rmw() {}
  // Something was pushed.
  void wake_processor() {
    idle.lock().lock();
    processor* const p = waiting != nullptr ? idle.take_p_locked() : nullptr;
    machine* const m = waiting;
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
    machine* take_m_locked(Suits) {
      return take_m_locked();
    }
    machine* take_m_locked() {
      machine* const m = m_;
      m_ = nullptr;
      return m;
    }
    void put_m_locked(machine& m) { m_ = &m; }
    processor* take_p_locked() { return count_ == 0 ? nullptr : ps_[--count_]; }
    void put_p_locked(processor& p) { ps_[count_++] = &p; }
    void end_spinning(machine& m) { m.spinning = false; }

    model::mutex lock_;
    machine* m_ = nullptr;
    processor* ps_[4] = {};
    unsigned count_ = 0;
  } idle;
  struct {
    void request_spare() {}
  } creator;
  struct shared_queue {
    template <class Suits>
    goroutine* take_preempted_in_turn(Suits, unsigned) {
      return nullptr;
    }
    goroutine* take_preempted() { return nullptr; }  // hand_over's own goroutine is the only one
    void push_preempted(goroutine& g, bool) { *waiting = g.bound; }
    bool empty() const { return !others_wait; }
    machine** waiting;
    bool others_wait = false;
  } global{&waiting}, background{&waiting};
  shared_queue& queue_for(const goroutine&) { return global; }
  struct {
    bool is_virtual() const { return false; }
  } clock;
  struct {
    model::retaking::figure signals, retakes, exchanges, without_p, blocked;
  } taken;
  model::retaking::figure hand_offs;
  freeze_state freeze;
  struct {
    bool is_awaited_locked() const { return false; }  // every M has its thread
    processor* release_locked() { return nullptr; }
  } ms;
  machine* waiting = nullptr;  // under the lock
  const machine* robbed = nullptr;

 private:
  settings settings_;
};

}}}  // namespace thrum::THRUM_ABI::sched

// ---- what stands behind the hand-shake ----

namespace thrum { inline namespace THRUM_ABI { namespace sched {

[[noreturn]] inline void refuse_after_fork() noexcept { base::fatal("the model does not fork"); }
inline bool is_in_background(const goroutine&) noexcept { return false; }
inline void show_priority(processor&, const goroutine&) noexcept {}
inline void begin_slice(processor&) noexcept {}
inline void end_slice(machine&) noexcept {}
inline void count_cut_slice(machine&) noexcept {}
inline void run_timers(machine&, processor&, bool&) noexcept {}
inline machine& attend_running(machine& m) noexcept { return m; }
/// Waits for a P behind all others.
inline machine& yield_slow(machine& m) noexcept {
  m.scheduler->idle.lock().lock();
  m.scheduler->queue_up_locked(m);
  return m;
}
inline bool commit_to_global(machine& m, goroutine&, void*) noexcept {
  m.scheduler->monitor.is_queued = true;
  return true;
}
template <class Commit>
machine& leave(machine& m, goroutine*, Commit commit, void* argument) noexcept {
  commit(m, *m.g, argument);
  return yield_slow(m);
}
inline void bind(machine& m, goroutine& g) noexcept { g.bound = &m; }
inline void unbind(machine& m, goroutine& g) noexcept {
  m.locked_g = nullptr;
  g.bound = nullptr;
}

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/run/syscall.hpp>
#include <thrum/detail/sched/watch/preempt.hpp>
#include <thrum/detail/sched/watch/retake.hpp>

#endif
