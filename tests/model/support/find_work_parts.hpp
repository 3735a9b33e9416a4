// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Gs, Ms and Ps of modelled memory, as far as the search for work touches them, so that the
// scheduler's own code for it runs in the explorer: the scheduler itself with all its parts, the
// life of an M (loop.hpp), find_work and what it calls.
//
// They replace the scheduler's own, and so do the locks, and what an M does with a goroutine once
// it has found one: the include guards of the headers they replace are defined here. Of a P's queue
// there is one place in the ring, and runnext: run_queue_model.cpp is about the rest. Included
// before everything else of thrum's: the library of this source file is a build of its own.

#ifndef THRUM_TESTS_MODEL_FIND_WORK_PARTS_HPP
#define THRUM_TESTS_MODEL_FIND_WORK_PARTS_HPP

#undef THRUM_SEPARATE
#define THRUM_SEPARATE 0
#define THRUM_ABI_TRAITS _find_work_model
#define THRUM_TRAITS_HEADER "model/support/find_work_traits.hpp"
#define THRUM_DETAIL_SCHED_QUEUE_LOCK_HPP
#define THRUM_DETAIL_SCHED_CORE_COUNTERS_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_HPP
#define THRUM_DETAIL_SCHED_CORE_CURRENT_HPP
#define THRUM_DETAIL_SCHED_CORE_G_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_HPP
#define THRUM_DETAIL_SCHED_CORE_M_HPP
#define THRUM_DETAIL_SCHED_CORE_OPEN_CLOSE_HPP
#define THRUM_DETAIL_SCHED_CORE_P_HPP
#define THRUM_DETAIL_SCHED_STACK_STACK_POOL_HPP
#define THRUM_DETAIL_SCHED_RUN_ATTEND_HPP
#define THRUM_DETAIL_SCHED_RUN_EXECUTE_HPP
#define THRUM_DETAIL_SCHED_RUN_LATENCY_HPP
#define THRUM_DETAIL_SCHED_FORK_FORK_THIEF_HPP

#include "assertions.hpp"

#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/core/p_state.hpp>
#include <thrum/detail/sched/queue/lock_rank.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>

#include "objects.hpp"

// ---- locks ----

namespace model::finding {
class known_lock;
}

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;
using spin_lock = model::mutex;
using blocking_lock = model::finding::known_lock;
inline void back_off(std::uint32_t) noexcept { model::explorer::active().yield(); }

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/steal_order.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>
#include <thrum/detail/sched/queue/yield_queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace model::finding {

/// A figure on which nothing depends.
template <class T>
struct figure {
  T value{};
  T load(std::memory_order) const { return value; }
  void store(T to, std::memory_order) { value = to; }
  T exchange(T to, std::memory_order) { return std::exchange(value, to); }
  T fetch_or(T bits, std::memory_order) { return std::exchange(value, value | bits); }
  T fetch_and(T bits, std::memory_order) { return std::exchange(value, value & bits); }
  T get() const { return value; }
  T peek() const { return value; }
  void set(T to) { value = to; }
  void add(T n = 1) { value += n; }
  void take(T n = 1) { value -= n; }
};

/// How often a P has switched. A mutant sees a switch between any two looks.
struct switch_count : figure<std::uint64_t> {
  std::uint64_t get() const {
    const bool lies = made == mistake::refused_once_and_for_all && value != 0;
    return lies ? value + ++looks : value;
  }
  mutable std::uint64_t looks = 0;
};

}  // namespace model::finding

// ---- what the code under test touches of a G, P, M and what stands beside them ----

namespace thrum { inline namespace THRUM_ABI {
using goroutine_id = std::uint64_t;
}}  // namespace thrum::THRUM_ABI

namespace thrum { inline namespace THRUM_ABI { namespace base {
template <class T>
class figure<T, model::finding::step_atomic<T>> : public model::finding::figure<T> {};
}}}  // namespace thrum::THRUM_ABI::base

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class runtime_scheduler;
struct host_thread;
struct machine;
struct poll_sink;
struct upcall_table;

enum g_flag : std::uint8_t { g_background = 1, g_bound = 2, g_on_host = 4, g_outside_ring = 5 };

struct goroutine : netpoll::ready_node {
  goroutine* queue_next = nullptr;
  goroutine* queue_ahead = nullptr;
  model::finding::figure<g_status> status;
  model::finding::figure<void*> sp;
  runtime_scheduler* scheduler = nullptr;
  machine* bound = nullptr;
  std::uint32_t passed_over = 0;
  std::uint8_t flags = 0;
  bool moved_much = false;
  std::uint8_t wakes_earned = 0;
  bool preempted = false;
};

/// What a run_queue promises: a goroutine is there once it was pushed, and one taker gets it.
class one_place_queue {
  using batch = base::intrusive_queue<goroutine>;

 public:
  [[nodiscard]] batch push(goroutine* g) {
    // relaxed: only the holder puts one in
    model::require(ring_.load(relaxed) == nullptr, "the model has room for one goroutine a ring");
    ring_.store(g, release);
    return {};
  }
  bool try_push(goroutine* g) {
    static_cast<void>(push(g));
    return true;
  }
  void push_batch(batch& all) {
    if (!all.empty() && ring_.load(relaxed) == nullptr) {
      ring_.store(all.pop_front(), release);
    }
  }
  goroutine* exchange_runnext(goroutine* g) { return next_.exchange(g, seq_cst); }
  goroutine* peek_runnext() const {
    return model::finding::uses_runnext ? next_.load(acquire) : nullptr;
  }
  goroutine* take_runnext() { return model::finding::uses_runnext ? take(next_) : nullptr; }
  goroutine* pop() { return take(ring_); }
  template <class May>
  goroutine* steal_half_into(one_place_queue&, May may_take_runnext) {
    goroutine* const g = take(ring_);
    return g == nullptr && peek_runnext() != nullptr && may_take_runnext() ? take_runnext() : g;
  }
  bool empty() const { return ring_.load(acquire) == nullptr && peek_runnext() == nullptr; }
  bool begins_anew() const { return false; }
  std::uint32_t ring_size() const { return 0; }
  batch drain() {
    batch all;
    if (goroutine* const g = pop()) {
      all.push_back(g);
    }
    return all;
  }

 private:
  using word = atomic<goroutine*>;

  static goroutine* take(word& from) {
    goroutine* g = from.load(acquire);
    return g != nullptr && from.compare_exchange_strong(g, nullptr, acq_rel, relaxed) ? g : nullptr;
  }

  word ring_{nullptr};
  word next_{nullptr};
};

/// No step where no goroutine yields.
class yields_of_model : public yield_queue<goroutine, traits> {
  using base_type = yield_queue<goroutine, traits>;

 public:
  bool empty() const noexcept { return !model::finding::uses_yields || base_type::empty(); }
  goroutine* pop() noexcept { return empty() ? nullptr : base_type::pop(); }
  queue drain() noexcept { return empty() ? queue{} : base_type::drain(); }
};

/// What is asked of a P. A step where their number changes; elsewhere nothing is asked.
class attention_word {
 public:
  using word = std::uint32_t;

  word load(std::memory_order how) { return model::finding::procs_change ? asked().load(how) : 0; }
  word get() { return load(std::memory_order_relaxed); }
  word exchange(word to, std::memory_order how) {
    return model::finding::procs_change ? asked().exchange(to, how) : 0;
  }
  word fetch_or(word bits, std::memory_order how) {
    return model::finding::procs_change ? asked().fetch_or(bits, how) : 0;
  }
  word fetch_and(word bits, std::memory_order how) {
    return model::finding::procs_change ? asked().fetch_and(bits, how) : 0;
  }

 private:
  model::atomic<word>& asked() {
    if (!asked_) {
      model::name_atomics("attention");
      asked_.emplace(0);
    }
    return *asked_;
  }

  std::optional<model::atomic<word>> asked_;
};

struct processor {
  explicit processor(std::uint32_t number) noexcept : id(number) {}

  const std::uint32_t id;
  std::uint32_t inheritances_left = traits::most_inheritances;
  std::uint32_t background_tick = 0;
  struct {
    base::intrusive_queue<goroutine> take_all() noexcept { return {}; }
  } free_gs;  // nobody dies
  model::finding::figure<std::uint32_t> schedule_tick, wake_credit{traits::wake_credit};
  attention_word attention;
  model::finding::figure<machine*> m;
  struct {
    model::finding::figure<std::uint64_t> created, finished, steals, timers;
    model::finding::switch_count switches;
  } counts;
  one_writer<p_status> status{p_status::idle};
  processor* idle_next = nullptr;
  bool global_is_next = false;
  one_place_queue queue;
  yields_of_model yielded;
  timer_heap<traits> timers;
  struct {
    bool has_work() noexcept { return false; }
    std::uint8_t largest_class() const noexcept { return 0; }
  } forks;  // nobody forks

  bool has_queued() const noexcept { return !queue.empty() || !yielded.empty(); }
  base::intrusive_queue<goroutine> drain() noexcept {
    auto all = queue.drain();
    all.append(yielded.drain());
    return all;
  }
};

struct machine {
  machine(runtime_scheduler& owner, const upcall_table&, std::uint32_t number,
          std::uint64_t seed) noexcept
      : scheduler(&owner), id(number), random(seed), search(seed) {}

  runtime_scheduler* const scheduler;
  const std::uint32_t id;
  goroutine* g = nullptr;
  processor* p = nullptr;
  goroutine* pending = nullptr;
  struct {
    const goroutine* g;
    std::uint32_t slice;
    std::int64_t at;
  } from_poller{};
  goroutine* locked_g = nullptr;
  bool ends = false;
  base::random random;
  base::random search;
  steal_order order;
  std::uint32_t cpu = 0;
  model::cell<bool> spinning{false};
  model::cell<bool> awaited{false};
  model::cell<processor*> next_p{nullptr};
  model::cell<machine*> idle_next{nullptr};
  model::note park;
  host_thread* as_host = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::sched

#include "absent_parts.hpp"

namespace thrum { inline namespace THRUM_ABI { namespace sched {

machine* current_m() noexcept;

/// A thread is there for each M. It begins when it is asked for; or, if one of the model's threads is
/// the creator's, when that one lets it.
class thread_creator {
 public:
  static constexpr unsigned most = 5;

  thread_creator(runtime_scheduler&, void* (*)(void*), machine* (*)(runtime_scheduler&) noexcept) {}

  void request_spare() noexcept {}
  void request(machine& m) noexcept {
    model::require(m.id < threads, "the model has no thread left for an M");
    if (!has_thread) {
      begin(m);
      return;
    }
    machine* first = first_.load(relaxed);  // as in thread_creator.hpp
    do {
      m.idle_next = first;
    } while (!first_.compare_exchange_weak(first, &m, release, relaxed));
    note_.wake();
  }
  void offer_idle(const char* caller = __builtin_FUNCTION()) noexcept {
    using model::finding::mistake;
    const std::string_view by = caller;
    if (has_thread && !(model::finding::made == mistake::idle_is_not_offered && by == "stop_m") &&
        !(model::finding::made == mistake::refused_is_not_offered && by == "take_back")) {
      note_.wake();
    }
  }

  // ---- the creator's thread ----

  /// Sleeps until it is asked for something. False: nobody will ever ask.
  bool wait() {
    if (!note_.sleep()) {
      return false;
    }
    note_.clear();
    return true;
  }
  /// A list of the Ms that were asked for.
  machine* take_requests() { return first_.exchange(nullptr, acquire); }
  void begin(machine& m) { begun_[m.id].wake(); }

  // ---- the thread of an M ----

  /// False: nobody will ever ask for it.
  bool wait_for_request(unsigned m) { return begun_[m].sleep(); }

  unsigned threads = most;
  bool has_thread = false;

 private:
  model::atomic<machine*> first_{nullptr};
  model::note note_;
  model::note begun_[most];
};

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/core/procs.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/thread/threads.hpp>

// ---- what an M does that has found something, and what is not asked for here ----

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE bool runtime_scheduler::resume_quiet_locked() noexcept { return false; }
/// As in attend.hpp: only to retire is asked for.
inline bool attend(machine& m) noexcept {
  const std::uint32_t asked = m.p->attention.exchange(0, acquire);
  if ((asked & attention_retire) != 0) {
    m.scheduler->retire_p(m);
  }
  return m.p != nullptr;
}
void execute(machine& m, goroutine& g) noexcept;
inline void time_wait(goroutine&) noexcept {}
inline void time_wait_in_turn(runtime_scheduler&, goroutine&) noexcept {}
template <class Sink>
void time_last(Sink&) noexcept {}
inline void count_lateness(machine&, std::int64_t) noexcept {}
inline goroutine* take_forked(machine&) noexcept { return nullptr; }

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/run/arm.hpp>
#include <thrum/detail/sched/run/find_work.hpp>
#include <thrum/detail/sched/run/loop.hpp>
#include <thrum/detail/sched/run/ready.hpp>

// ---- a world of them ----

namespace model::finding {

/// Some Ps, an M for each of the first threads, and a scheduler. Every M is a thread of the model;
/// one that does not live from the start begins when the scheduler asks for a thread.
class search_world {
 public:
  using goroutine = thrum::sched::goroutine;
  using machine = thrum::sched::machine;
  using processor = thrum::sched::processor;

  search_world(unsigned procs, unsigned ms, unsigned most_ms)
      : initial_(ms),
        scheduler(settings(procs),
                  {nullptr, &thrum::sched::start_spinner, nullptr, nullptr, nullptr}) {
    active = this;
    scheduler.pool = &pool;
    scheduler.open();
    scheduler.creator.threads = most_ms;
    scheduler.idle.lock().lock();
    for (unsigned i = 0; i != ms; ++i) {
      scheduler.new_m_locked();
    }
    scheduler.idle.lock().unlock();
  }
  virtual ~search_world() {
    scheduler.ps.clear();
    active = nullptr;
  }
  search_world(const search_world&) = delete;
  search_world& operator=(const search_world&) = delete;

  // ---- the initial state ----

  void hold(unsigned m, unsigned p, bool spinning) {
    scheduler.acquire_p(scheduler.ms[m], *ps[p]);
    if (spinning) {
      scheduler.idle.begin_spinning(scheduler.ms[m]);
    }
  }
  void put_idle(unsigned p) { scheduler.put_idle_locked(*ps[p]); }
  void put_asleep(unsigned m) {
    scheduler.idle.lock().lock();
    scheduler.idle.put_m_locked(scheduler.ms[m]);
    scheduler.idle.lock().unlock();
  }

  /// A submitter wakes another searcher while there is only one.
  void let_two_search() {
    two_search = true;
    scheduler.idle.expect_locked(scheduler.procs());
  }

  // ---- the threads ----

  /// The life of an M.
  void live(unsigned thread) {
    if (thread >= initial_) {
      if (scheduler.creator.wait_for_request(thread)) {
        machine& m = scheduler.ms[thread];
        run_goroutines(m, first_goroutine(m));
      }
      return;
    }
    machine& m = scheduler.ms[thread];
    if (m.p != nullptr || scheduler.wait_for_p(m)) {
      run_goroutines(m, find_work(m));
    }
  }

  /// A goroutine goes on, until it gives up the processor.
  virtual void executes(machine& m, goroutine& g) = 0;

  /// All threads rest: they are to end.
  void close() { scheduler.closing.store(true, std::memory_order_relaxed); }

  static inline search_world* active = nullptr;

 private:
  static thrum::sched::scheduler_config settings(unsigned procs) {
    thrum::sched::scheduler_config config;
    config.procs = procs;
    return config;
  }
  struct fresh_figures {
    fresh_figures() {
      states = {};
      sizes_made = 0;
      procs_change = false;
      uses_background = false;
      uses_yields = false;
      two_search = false;
    }
  } const fresh_figures_;  // before the scheduler
  unsigned initial_ = 0;

 public:
  thrum::sched::runtime_scheduler scheduler;
  thrum::sched::stack_pool pool;
  processor* ps[4] = {};
  alignas(machine) unsigned char m_places[thrum::sched::thread_creator::most * sizeof(machine)];
};

inline bool has_p() {
  const auto* const m = thrum::sched::current_m();
  return m != nullptr && m->p != nullptr;
}
inline bool spins() {
  const auto* const m = thrum::sched::current_m();
  return m != nullptr && m->spinning;
}
inline bool is_on_g0() {
  const auto* const m = thrum::sched::current_m();
  return m != nullptr && m->g == nullptr;
}

}  // namespace model::finding

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline machine* current_m() noexcept {
  runtime_scheduler& scheduler = model::finding::search_world::active->scheduler;
  const unsigned self = model::explorer::active().self();
  return self < scheduler.ms.made() && self < scheduler.creator.threads ? &scheduler.ms[self]
                                                                        : nullptr;
}

inline void execute(machine& m, goroutine& g) noexcept {
  m.g = &g;
  if (m.p != nullptr) {  // an M that was woken for the end of the world has none
    m.p->counts.switches.add();
  }
  model::finding::search_world::active->executes(m, g);
  m.g = nullptr;
}

THRUM_OUT_OF_LINE int runtime_scheduler::open() noexcept {
  auto& world = *model::finding::search_world::active;
  ps.keep_in(world.ps);
  ms.keep_in(reinterpret_cast<machine*>(world.m_places));
  const int error = ps.make(config_.procs);
  ps.want_locked(config_.procs);
  for_each_p([](processor& p) { p.status.store(p_status::idle, relaxed); });
  return error;
}
THRUM_OUT_OF_LINE runtime_scheduler::~runtime_scheduler() {}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
