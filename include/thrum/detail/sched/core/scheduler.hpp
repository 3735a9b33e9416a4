// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The scheduler of one runtime: owns its Ps, its Ms, the shared queue and the poller, and moves Ps
// between Ms. How Ms are made, start and stop is in threads.hpp, how the number of Ps changes in
// procs.hpp.
//
// A P goes from hand to hand: on the idle list, to an M that is started on it, held, lent to a
// system call, taken back, given up. Each function here is one of these steps. What an M does
// while it holds a P is in find_work.hpp and loop.hpp.
//
// Lock order: queue/lock_rank.hpp.
//
// What a runtime tells its scheduler, once: figures, and what to call on the floors above.
#ifndef THRUM_DETAIL_SCHED_CORE_SCHEDULER_HPP
#define THRUM_DETAIL_SCHED_CORE_SCHEDULER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/lifetime.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/core/memory_source.hpp>
#include <thrum/detail/sched/core/monitor_sleep.hpp>
#include <thrum/detail/sched/core/p.hpp>
#include <thrum/detail/sched/core/p_table.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/core/virtual_time.hpp>
#include <thrum/detail/sched/freeze/freeze_state.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/queue/global_queue.hpp>
#include <thrum/detail/sched/queue/idle.hpp>
#include <thrum/detail/sched/queue/poll_turn.hpp>
#include <thrum/detail/sched/stack/stack_pool.hpp>
#include <thrum/detail/sched/thread/thread_creator.hpp>
#include <thrum/detail/sched/thread/thread_table.hpp>
#include <thrum/memory_hooks.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// For how long a stack, or a thread, must have been of no use before it goes back to the system.
/// Tests shorten them, before they make a runtime.
inline constinit base::set_once<std::int64_t> default_stack_idle_ns{1'000'000'000};
inline constinit base::set_once<std::int64_t> default_thread_idle_ns{10'000'000'000};

class host_bell;

struct scheduler_config {
  unsigned procs = 1;
  unsigned max_threads = 10'000;
  memory_hooks memory{};
  std::uint8_t stack_class = 18;
  std::int64_t time_slice_ns = 10'000'000;
  std::int64_t timer_slack_ns = 50'000;
  std::int64_t stack_idle_ns = default_stack_idle_ns.get();
  std::int64_t thread_idle_ns = default_thread_idle_ns.get();
  bool preempts = true;    // asks goroutines to yield, and takes Ps from those that block
  bool interrupts = true;  // ... and from those that compute, by a signal
  bool migrates = false;   // each goroutine to another thread whenever it leaves its own
  /// Called on each M's thread as its first and its last act.
  void (*thread_started)(void* user, unsigned m) = nullptr;
  void (*thread_stopping)(void* user, unsigned m) = nullptr;
  /// Called by the monitor, every trace_every_ns, if that is not 0.
  void (*trace)(void* user, std::int64_t now) = nullptr;
  std::int64_t trace_every_ns = 0;
  /// Called by the creator when a dump was requested; null: none can be requested.
  void (*dump)(void* user) = nullptr;
  /// Called by the creator, every check_every_ns, if that is not 0.
  void (*check)(void* user) = nullptr;
  std::int64_t check_every_ns = 0;
  /// Called by the monitor when no goroutine can ever run again; does not return. Null: not asked
  /// for. See deadlock.hpp.
  void (*deadlock)(void* user) = nullptr;
  /// Called once by the thread that stops the runtime, when it has waited for a second.
  void (*slow_stop)(void* user) noexcept = nullptr;
  /// Called when a goroutine was found to have left its stack; `g` is that goroutine.
  void (*stack_overrun)(const void* g) noexcept = nullptr;
  bool reports_crashes = false;   // of its goroutines
  bool is_whole_program = false;  // made by run()
  /// Which poller, where there are several.
  netpoll::choice poller = netpoll::choice::usual;
  /// What exit() is to call first.
  os::exit_hook exit_hook = nullptr;
  /// An exception that leaves a goroutine is caught, for `panic`; else it ends the program where it
  /// was thrown.
  bool catches_panics = false;
  /// Tells the first host of goroutines that are bound to it. Null: not asked for.
  host_bell* bell = nullptr;
  /// Threads of the process that are neither Ms nor the monitor and cannot wake a goroutine.
  unsigned passive_threads = 0;
  void* user = nullptr;
  char name[12] = "thrum";
};

/// Functions named `_locked` want the caller to hold idle.lock(). Short bodies are in scheduler_inline.hpp.
class runtime_scheduler {
 public:
  // ---- its life: open_close.hpp ----
  runtime_scheduler(const scheduler_config& config, const upcall_table& upcalls) noexcept
      : creator(*this, upcalls.m_main, upcalls.make_spare), config_(config), upcalls_(upcalls) {}
  runtime_scheduler(const runtime_scheduler&) = delete;
  runtime_scheduler& operator=(const runtime_scheduler&) = delete;
  ~runtime_scheduler();
  /// Gets memory and the poller ready. 0 or an error below zero; after an error only the destructor may
  /// be called.
  int open() noexcept;
  /// Tells every M and the monitor to end. All goroutines have ended before.
  void close() noexcept;
  /// Joins the creator and the Ms. The monitor, which may start one, has been joined before.
  void join_threads() noexcept;
  const scheduler_config& config() const noexcept { return config_; }
  const upcall_table& upcalls() const noexcept { return upcalls_; }
  memory_source memory() const noexcept { return memory_source(config_.memory); }

  // ---- how many Ps there are: procs.hpp ----
  unsigned procs() const noexcept { return ps.wanted(); }
  /// GOMAXPROCS. More: at once. Fewer: each surplus P goes when its holder next schedules.
  /// Returns 0 or an error below zero.
  int set_procs(unsigned n) noexcept;
  /// The holder gives up a P that was asked to retire: its goroutines go to the head of the
  /// global queue, its timers to P 0. The caller then wakes a processor for them.
  void retire_p(machine& m) noexcept;
  /// Moves the timers of a P to P 0, where other Ms find them. Returns when the first of them is due.
  std::int64_t give_timers_away(processor& p) noexcept;

  // ---- a look at all Ps; those of hosts are always among them ----
  template <class F>
  void for_each_p(F f) noexcept;
  template <class F>
  void for_each_live_p(F f) noexcept;
  /// Calls f for each P on which a goroutine may fork that has begun to fork there.
  template <class F>
  void for_each_forking_p(F f) noexcept;
  /// When a P's next timer is due, by the machine's clock.
  std::int64_t next_timer(const processor& p) const noexcept;
  /// The first one of all Ps; not after `when`.
  std::int64_t first_timer(std::int64_t when) noexcept;

  // ---- is there work? ----
  /// The queue that all Ps share for goroutines like this one.
  global_queue<goroutine, traits>& queue_for(const goroutine& g) noexcept;
  /// Whether something is queued that all Ps share.
  bool has_shared_work() const noexcept { return !global.empty() || !background.empty(); }
  /// Whether a half of a fork waits for a thread to run it.
  bool has_forks() noexcept;
  /// Whether something is queued, anywhere.
  bool has_queued_work() noexcept;
  /// Whether no M waits in the poller, and one should: for descriptors, or for the timers of Ps that
  /// idle.
  bool poller_is_wanted() noexcept;
  /// No goroutine runs or is about to: every P idles, and every M sleeps, one of them perhaps in
  /// the poller.
  bool is_quiet_locked() noexcept;

  // ---- a P goes from hand to hand; hand_off is in threads.hpp ----
  void acquire_p(machine& m, processor& p) noexcept;
  processor& release_p(machine& m) noexcept;
  /// Gives a P to an M that sleeps, or is about to.
  static void pass_p(processor& p, machine& m, bool spinning) noexcept;
  /// Gives this P to another M, or makes it idle. It is in flight: held by no M.
  /// Starts an M in every case in which find_work on this P would find something.
  void hand_off(processor& p) noexcept;
  /// On the idle list, or, if the number of processors has fallen, out of service.
  void put_idle_locked(processor& p) noexcept;

  // ---- Ms: threads.hpp ----
  /// Starts an M on a P: an idle one, else one that sleeps in a signal handler, else a new one.
  /// Caller holds the lock, which is released here. When `spinning`, the caller hands over a unit
  /// of idle.spinning().
  void start_m(processor& p, bool spinning) noexcept;
  /// Idles until another thread hands this M a P. False: the scheduler closes.
  bool stop_m(machine& m) noexcept;
  /// Sleeps until another thread gives this M a P. False: the scheduler closes.
  bool wait_for_p(machine& m) noexcept;
  /// An M for a new thread: a vacant one, or another.
  machine* new_m_locked() noexcept;
  /// The thread has ended, or was never made: the M is kept for the next that is wanted.
  void vacate(machine& m) noexcept;
  /// The system has refused a thread: its P waits, the M is kept for the next that is wanted.
  void take_back(machine& m) noexcept;
  /// Ps for which there was no thread are offered to idle Ms, or, `again`, to new ones, too.
  void release_held(bool again) noexcept;
  /// An idle M for the next hand-over, and one for any other need meanwhile.
  bool has_spare() const noexcept { return idle.idle_ms() > 1; }
  /// Idle threads that stay, however long they are not needed.
  std::uint32_t kept_threads() const noexcept { return procs() + 2; }

  // ---- waking ----
  /// After work was published by plain or release stores: wakes an idle P unless some M searches.
  void wake_processor() noexcept;
  /// Wakes an idle P unless some M searches. After work was published by a seq_cst read-modify-write.
  void wake_processor_after_rmw() noexcept;
  /// Starts a spinning M on an idle P for a unit that claim_wake gave, or wakes a host. False: no P idles.
  bool wake_claimed() noexcept;
  /// Wakes a processor for a host whose search found nothing. Never wakes another host as a searcher: it
  /// would find nothing either and wake this one again.
  void wake_m() noexcept;
  /// There is work that finds no idle P: a host that waits for some comes back, or the next M that
  /// runs out of work looks once more.
  void ask_for_spinner_locked() noexcept;
  /// A timer was armed for `when`: the thread in the poller must not oversleep it. Checked
  /// by tests/model/timer_wake_model.cpp.
  void wake_for_timer(std::int64_t when) noexcept;
  /// Whether there is another P that might idle, or a host that might wait. Ask after work was published:
  /// their number may rise at any time.
  bool has_other_ps() const noexcept;
  /// V1 to V4 (virtual_time_jump.hpp), for an M that is about to sleep and counts as asleep, or has given
  /// up the last P that was held. True: some M must take a P and look for work.
  bool resume_quiet_locked() noexcept;

  // ---- goroutines ----
  /// Started minus ended. Zero only if there was a moment during the call at which none lived.
  std::uint64_t goroutine_count() noexcept;
  std::uint64_t created_elsewhere() const noexcept;
  void count_created_elsewhere() noexcept;
  /// A goroutine that is sure to be started later counts as one that lives, until that is taken back when it
  /// has been counted itself: on a thread that the destructor joins.
  void announce_start() noexcept { count_created_elsewhere(); }
  void take_back_announcement() noexcept;
  goroutine_id take_ids(goroutine_id n) noexcept;
  /// A seed for a generator, different for each M and each run.
  static std::uint64_t seed(std::uint64_t number) noexcept;

  // ---- what it consists of; the rooms above use it, too ----
  p_table ps;
  m_table ms;
  host_table hosts;
  idle_set<traits, processor, machine> idle;
  global_queue<goroutine, traits> global;
  global_queue<goroutine, traits> background;
  stack_pool* pool = nullptr;
  typename traits::poller poller;
  poll_turn<traits> poll;
  /// Set before open().
  runtime_clock clock;
  /// Milliseconds since started_at, as of the monitor's last round.
  hint<std::uint32_t> coarse_ms{0};
  monitor_sleep monitor;
  /// For samples of latencies; a count may be lost.
  hint<std::uint32_t> readied_elsewhere{0};
  hint<std::uint32_t> fruitful_polls{0};
  under_lock<bool> closing{false};
  endings ending;
  /// Ps taken back from system calls that lasted.
  shared_figure<std::uint64_t> hand_offs{0};
  /// How Ps were taken from goroutines that ran on them; see preempt.hpp.
  struct {
    shared_figure<std::uint64_t> signals{0};    // sent
    shared_figure<std::uint64_t> exchanges{0};  // of them: the P went to another handler
    shared_figure<std::uint64_t> retakes{0};    // Ps taken from threads that block
    shared_figure<std::uint64_t> without_p{0};  // threads stopped that computed without a P
    atomic<std::uint32_t> blocked{0};  // threads whose P was taken in a call that has not ended
  } taken;
  waker_count wakers;
  freeze_state freeze;
  process_exit_state exit_of_process;
  /// This is the memory of a child process: there are no threads.
  base::set_once<bool> is_copy{false};
  registration registered;
  /// More threads than are to stay are idle, and the creator knows. Under the lock.
  bool has_idle_threads = false;
  bool has_reported_limit = false;  // under the lock
  bool discards_timers = false;     // shutdown: each P keeps those that it has
  /// Ms that sleep because the goroutine locked to them does.
  atomic<std::uint32_t> locked_asleep{0};
  thread_creator creator;
  std::int64_t started_at = 0;

 private:
  template <class F>
  void for_each_p_below(unsigned n, F& f) noexcept;
  void begin_moment(machine& m, processor& p) noexcept;
  void bury_locked(processor& p) noexcept;
  /// There may be no more threads: the P waits until an M is idle. Ends the program if it has work and no
  /// thread can come back for it. Caller holds the lock, which is released here.
  void hold_back_at_limit_locked(processor& p, bool spinning) noexcept;
  void hold_back_locked(processor& p) noexcept;
  goroutine* take_bound() noexcept;
  /// I6 of idle.hpp, for searches that take_back has ended.
  void look_for_refused() noexcept;

  const scheduler_config config_;
  const upcall_table upcalls_;
  atomic<std::uint64_t> created_elsewhere_{0};
  shared_figure<goroutine_id> next_id_{1};
};

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/core/scheduler_inline.hpp>  // IWYU pragma: export

#endif  // THRUM_DETAIL_SCHED_CORE_SCHEDULER_HPP
