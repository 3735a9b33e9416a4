// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Gs, Ms and Ps of the simulated machine, so that the scheduler's own code runs on it: the scheduler with
// all its parts, run queues and heaps, the life of an M (loop.hpp), find_work, stealing, waking.
//
// They replace the scheduler's own, and so do the locks, and what an M does with a goroutine once it
// has found one: the include guards of the headers they replace are defined here. A P has its words in
// the lines where the library's has them. Included before everything else of thrum's: the library of
// this source file is a build of its own.
#ifndef THRUM_TESTS_SIMULATION_PARTS_HPP
#define THRUM_TESTS_SIMULATION_PARTS_HPP

#undef THRUM_SEPARATE
#define THRUM_SEPARATE 0
#define THRUM_ABI_TRAITS _simulation
#define THRUM_TRAITS_HEADER "simulation/traits.hpp"
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
#define THRUM_DETAIL_SCHED_THREAD_THREAD_RESERVE_HPP
#define THRUM_DETAIL_SCHED_RUN_ATTEND_HPP
#define THRUM_DETAIL_SCHED_RUN_EXECUTE_HPP
#define THRUM_DETAIL_SCHED_RUN_LATENCY_HPP
#define THRUM_DETAIL_SCHED_FORK_FORK_THIEF_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/core/p_state.hpp>
#include <thrum/detail/sched/queue/lock_rank.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>

#include "machine.hpp"

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;
using spin_lock = simulation::spin_lock;
using blocking_lock = simulation::blocking_lock;
inline void back_off(std::uint32_t) noexcept {}  // as default_traits asks for; see traits.hpp

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/run_queue.hpp>
#include <thrum/detail/sched/queue/steal_order.hpp>
#include <thrum/detail/sched/queue/timer_heap.hpp>
#include <thrum/detail/sched/queue/yield_queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {
using goroutine_id = std::uint64_t;
}}  // namespace thrum::THRUM_ABI

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// A figure for reports costs nothing here.
template <class T>
struct cheap_figure {
  T value{};
  T load(std::memory_order) const { return value; }
  void store(T to, std::memory_order) { value = to; }
  T get() const { return value; }
  T peek() const { return value; }
  void set(T to) { value = to; }
  void add(T n = 1) { value += n; }
  void take(T n = 1) { value -= n; }
};

/// A figure that other threads look at.
struct watched_figure {
  simulation::atomic<std::uint64_t> value{0};
  std::uint64_t get() const { return value.load(std::memory_order_relaxed); }
  void add() { value.store(get() + 1, std::memory_order_relaxed); }
};

}}}  // namespace thrum::THRUM_ABI::sched

namespace thrum { inline namespace THRUM_ABI { namespace base {
template <class T>
class figure<T, simulation::atomic<T>> : public sched::cheap_figure<T> {};
}}}  // namespace thrum::THRUM_ABI::base

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class runtime_scheduler;
struct host_thread;
struct machine;
struct poll_sink;
struct upcall_table;

enum g_flag : std::uint8_t { g_background = 1, g_bound = 2, g_on_host = 4, g_outside_ring = 5 };

/// Runs step by step: from where it begins, or was made ready, to where it waits or ends.
struct goroutine : netpoll::ready_node {
  goroutine* queue_next = nullptr;
  goroutine* queue_ahead = nullptr;
  cheap_figure<g_status> status;
  cheap_figure<void*> sp;
  runtime_scheduler* scheduler = nullptr;
  machine* bound = nullptr;
  std::uint32_t passed_over = 0;
  std::uint8_t flags = 0;
  bool moved_much = false;
  std::uint8_t wakes_earned = 0;
  bool preempted = false;

  void (*step)(goroutine&) = nullptr;
  std::uint64_t number = 0;
  double ready_at = 0;
};

struct alignas(base::cache_line_size) processor {
  explicit processor(std::uint32_t n) noexcept : id(n) {}

  // -- the holder only --
  const std::uint32_t id;
  std::uint32_t inheritances_left = traits::most_inheritances;
  std::uint32_t background_tick = 0;
  struct {
    base::intrusive_queue<goroutine> take_all() noexcept { return {}; }
  } free_gs;  // none is kept
  struct {
    cheap_figure<std::uint64_t> created, finished, steals, timers;
    watched_figure switches;
  } counts;
  cheap_figure<std::uint32_t> schedule_tick;

  // -- anyone writes --
  alignas(base::cache_line_size) hint<std::uint32_t> attention{0};
  hint<std::uint32_t> wake_credit{traits::wake_credit};
  one_writer<p_status> status{p_status::idle};
  one_writer<machine*> m{nullptr};
  processor* idle_next = nullptr;

  what_was_seen seen;
  bool global_is_next = false;
  std::uint32_t turns_since_look = 0;
  std::uint32_t levelled_with = 0;
  run_queue<goroutine, traits> queue;
  yield_queue<goroutine, traits> yielded;
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
  machine(runtime_scheduler& owner, const upcall_table&, std::uint32_t n, std::uint64_t) noexcept
      : scheduler(&owner), id(n), random(n + 1), search(n + 1) {}

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
  bool spinning = false;
  bool awaited = false;
  processor* next_p = nullptr;
  machine* idle_next = nullptr;
  simulation::note park;
  host_thread* as_host = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::sched

#include "model/support/absent_parts.hpp"

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline machine* current_m() noexcept;

class thread_creator {
 public:
  thread_creator(runtime_scheduler&, void* (*)(void*), machine* (*)(runtime_scheduler&) noexcept) {}
  void request(machine& m) noexcept;
  void request_spare() noexcept {}
  void offer_idle() noexcept {}
};

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/core/procs.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/thread/threads.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

THRUM_OUT_OF_LINE bool runtime_scheduler::resume_quiet_locked() noexcept { return false; }
/// Nothing is asked of a P that none of these would wait for.
inline bool attend(machine& m) noexcept {
  m.p->attention.exchange(0, acquire);
  return true;
}
inline void execute(machine& m, goroutine& g) noexcept;
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

namespace simulation {

using goroutine = thrum::sched::goroutine;

/// A scheduler with so many Ps, one of which is held by the first M, and the threads of a machine.
class world {
 public:
  static constexpr unsigned most_ms = 768;

  world(unsigned procs, const costs& what)
      : on(what),
        scheduler(settings(procs),
                  {nullptr, &thrum::sched::start_spinner, nullptr, nullptr, nullptr}) {
    active = this;
    scheduler.pool = &pool_;
    scheduler.open();
    scheduler.idle.lock().lock();
    for (unsigned i = procs; --i != 0;) {
      scheduler.put_idle_locked(scheduler.ps[i]);
    }
    thrum::sched::machine& first = *scheduler.new_m_locked();
    scheduler.idle.lock().unlock();
    scheduler.acquire_p(first, scheduler.ps[0]);
  }
  ~world() {
    scheduler.ps.clear();
    active = nullptr;
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// Until nothing is left to do: the first M runs g, the others are made as they are asked for.
  void run(goroutine* g) {
    begin_thread(scheduler.ms[0], [this, g] {
      auto& m = scheduler.ms[0];
      run_goroutines(m, g);
    });
    on.run();
  }

  void begin_thread(thrum::sched::machine& m, std::function<void()> body) {
    const double begins = on.inside() ? on.now() + on.cost.thread_start : 0;
    const unsigned number = on.start(std::move(body), begins);
    if (of_thread_.size() <= number) {
      of_thread_.resize(number + 1, nullptr);
    }
    of_thread_[number] = &m;
  }
  thrum::sched::machine* of_thread(unsigned number) const {
    return number < of_thread_.size() ? of_thread_[number] : nullptr;
  }

  static inline world* active = nullptr;

  machine on;
  thrum::sched::runtime_scheduler scheduler;

 private:
  friend class thrum::sched::runtime_scheduler;

  static thrum::sched::scheduler_config settings(unsigned procs) {
    thrum::sched::scheduler_config config;
    config.procs = procs;
    config.max_threads = most_ms;
    return config;
  }

  thrum::sched::stack_pool pool_;
  std::vector<thrum::sched::machine*> of_thread_;
  thrum::sched::processor* ps_[thrum::sched::traits::max_procs] = {};
  alignas(thrum::sched::machine) unsigned char ms_[most_ms * sizeof(thrum::sched::machine)];
};

}  // namespace simulation

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline machine* current_m() noexcept {
  simulation::world& all = *simulation::world::active;
  return all.on.inside() ? all.of_thread(all.on.self()) : nullptr;
}

inline void thread_creator::request(machine& m) noexcept {
  simulation::world::active->begin_thread(m, [&m] { run_goroutines(m, first_goroutine(m)); });
}

inline void execute(machine& m, goroutine& g) noexcept {
  simulation::machine& on = simulation::machine::active();
  m.g = &g;
  m.p->counts.switches.add();
  on.compute(on.cost.run);
  g.step(g);
  m.g = nullptr;
}

THRUM_OUT_OF_LINE int runtime_scheduler::open() noexcept {
  simulation::world& all = *simulation::world::active;
  ps.keep_in(all.ps_);
  ms.keep_in(reinterpret_cast<machine*>(all.ms_));
  const int error = ps.make(config_.procs);
  ps.want_locked(config_.procs);
  idle.expect_locked(config_.procs);
  for_each_p([](processor& p) { p.status.store(p_status::idle, relaxed); });
  return error;
}
THRUM_OUT_OF_LINE runtime_scheduler::~runtime_scheduler() {}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
