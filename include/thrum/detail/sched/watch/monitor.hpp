// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The monitor (Go's sysmon): a thread without a P that keeps the others honest.
//
// Its duties, each round:
//   retake     a P whose M is inside blocking() goes to another M if it has been there for a whole
//              round and anything else could use it, or for 10 ms
//   preempt    a P that has run the same slice for longer than allowed is asked to yield, and taken
//              away if that does not help (retake.hpp)
//   share      a P that has run others for long is asked for a turn of a background goroutine, and one
//              that runs such a goroutine makes room sooner than others (background.hpp)
//   timers     a busy P is asked to run its timers when one is due; an idle one is woken for it, too,
//              unless a thread sleeps in the poller until then
//   poller     if all threads have left it for goroutines that compute, an idle P goes there
//              (leave_poller.hpp); if none can, the monitor polls itself after 10 ms
//   rescue     an idle P is woken for a runnext that has waited for a whole round (ready.hpp)
//              likewise for a half of a fork (fork.hpp), which is queued like a goroutine when no P
//              has been idle for a time slice, and its owner has come to none meanwhile
//   trace      a line of figures when asked for
//   exit       while the process exits, all are taken and none is given (process_exit.hpp)
//   deadlock   when all is idle, a look whether it can ever be otherwise (deadlock.hpp)
//
// Its rounds: 20 us apart while it finds something to do, doubling after 50 quiet ones up to 10 ms,
// never beyond the next timer of a busy P; 1 ms at most for a second after it has found that all threads
// had left the poller. When every P has been idle for a round of the longest kind, it sleeps until a P
// leaves the idle list: an idle runtime wakes no thread.
#ifndef THRUM_DETAIL_SCHED_WATCH_MONITOR_HPP
#define THRUM_DETAIL_SCHED_WATCH_MONITOR_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/fork/fork_thief.hpp>
#include <thrum/detail/sched/life/process_exit.hpp>
#include <thrum/detail/sched/run/background.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>
#include <thrum/detail/sched/watch/deadlock.hpp>
#include <thrum/detail/sched/watch/retake.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class monitor {
 public:
  explicit monitor(runtime_scheduler& scheduler) noexcept
      : scheduler_(scheduler), retaker_(scheduler) {}

  /// The life of its thread.
  static void* main(void* argument) noexcept {
    static_cast<monitor*>(argument)->run();
    return nullptr;
  }

  os::thread thread;

 private:
  void run() noexcept;
  /// Whether anything has, since the last call: a server that idles for a moment between two
  /// requests is not at rest, and to be woken with each of them would cost it more than our rounds.
  bool has_run() noexcept;

  /// Sends an idle P to the poller that all threads have left; polls when no thread has for 10 ms.
  void look_at_poller(std::int64_t now) noexcept;
  void wait_for_round() noexcept;
  void sleep_while_idle(liveness alive) noexcept;
  void note_time(std::int64_t now) noexcept {
    const auto ms = static_cast<std::uint32_t>((now - scheduler_.started_at) / 1'000'000);
    scheduler_.coarse_ms.set(ms);
  }
  /// Whether no thread sleeps until the first timer of all Ps: then the timers of idle Ps need us,
  /// too.
  bool nobody_waits_for_timers() const noexcept {
    // After the plan was made; a thread that leaves the poller reads it after end_sleep.
    return !scheduler_.poll.somebody_sleeps();
  }
  /// Whether the timers of idle Ps need us, and an idle P is there to run them.
  bool others_can_run_timers() const noexcept {
    return scheduler_.idle.idle_ps() != 0 && nobody_waits_for_timers();
  }
  /// An M that waits for events is given no P, and where there are no other threads a loop goes on beside
  /// what waits for its P: the M comes to the idle list, where the next interrupt finds it.
  void call_last_thread() noexcept {
    if (scheduler_.idle.idle_ms() == 0 && scheduler_.poll.somebody_sleeps() &&
        scheduler_.ms.with_thread() >= most_threads(scheduler_)) {
      scheduler_.poller.wake();
    }
  }
  bool an_idle_p_could_poll() const noexcept {
    return scheduler_.idle.idle_ps() != 0 && !scheduler_.clock.is_virtual();
  }
  /// In a real-time class the system does not share a CPU among those that compute: there is always
  /// one that could use it if more of them hold Ps than there are CPUs.
  bool must_share_cpus() const noexcept {
    return real_time_cpus_ != 0 && scheduler_.procs() > scheduler_.idle.idle_ps() + real_time_cpus_;
  }
  /// Those that are to go out of service, too: their holders may compute for long.
  bool all_idle() const noexcept {
    return scheduler_.idle.idle_ps() >= scheduler_.ps.live() && scheduler_.hosts.executing() == 0;
  }
  bool closing() const noexcept {
    return scheduler_.closing.load(acquire);  // [s.close <] the end of everything else
  }

  /// Looks at one P; true if something had to be done.
  bool look_at(processor& p, std::int64_t now) noexcept;
  /// Looks at the P of a host, which no thread takes away: see host/host_loop.hpp.
  void look_at_host(host_thread& h, std::int64_t now) noexcept;
  /// What others can have of it.
  void relieve(processor& p, bool due) noexcept;
  bool look_at_syscall(processor& p, std::int64_t now, bool slice_is_over) noexcept;
  bool look_at_runnext(processor& p, std::int64_t now) noexcept;
  /// Whether something waits on a P, and a thread has looked for an idle one in vain.
  bool is_wanted_elsewhere() noexcept {
    bool waits = false;
    if (scheduler_.idle.spinner_wanted()) {
      scheduler_.for_each_live_p([&](const processor& p) { waits = waits || p.has_queued(); });
    }
    return waits;
  }
  /// Asks a P for a turn of the background that has given none for long: see run/background.hpp.
  void look_at_share(processor& p, std::int64_t now) noexcept;
  /// Also of a P that is out of service: what began to fork on it may run on another one.
  bool look_at_forks(unsigned at, unsigned forking, std::int64_t now) noexcept;
  void ask(processor& p, attention what) noexcept {
    // [p.attention >] release: pairs with the exchange in attend.
    p.attention.fetch_or(what, release);
  }

  runtime_scheduler& scheduler_;
  retaker retaker_;
  std::int64_t next_look_ = retaker::never;  // a P is to be looked at again then
  std::int64_t delay_ = traits::monitor_min_sleep_ns;
  std::uint64_t ran_ = 0;
  returned returned_;
  std::uint32_t quiet_rounds_ = 0;
  std::int64_t next_trace_ = 0;
  std::int64_t next_look_for_rest_ = 0;  // not before this it asks whether anything has run
  run_queue<goroutine, traits> taken_from_host_;  // empty, but inside relieve()
  unsigned real_time_cpus_ = 0;  // CPUs of this process; 0: not in a real-time class
  bool exits_ = false;           // the exit of the process holds all goroutines
};

inline void monitor::run() noexcept {
  const scheduler_config& config = scheduler_.config();
  base::message<32> name;
  name.append(config.name).append("/sysmon");
  name.append(std::string_view("\0", 1));
  os::set_thread_name(name.view().data());
  os::ask_for_short_waits();
  if (os::real_time_priority() != 0) {
    real_time_cpus_ = os::available_processors();
  }
  next_trace_ = scheduler_.started_at + config.trace_every_ns;
  while (!closing()) {
    wait_for_round();
    const std::int64_t now = traits::now();
    exits_ = process_exit::holds(scheduler_);
    if (exits_) [[unlikely]] {
      process_exit::watch(scheduler_, now);
    }
    note_time(now);
    returned_.look(scheduler_.monitor.returns(), [this] { return scheduler_.global.empty(); });
    bool acted = false;
    next_look_ = retaker::never;
    const unsigned n = scheduler_.ps.live();
    for (unsigned i = 0; i < n && !closing(); ++i) {
      acted = look_at(scheduler_.ps[i], now) || acted;
    }
    for (unsigned i = 0; i < scheduler_.hosts.made() && !closing(); ++i) {
      look_at_host(scheduler_.hosts[i], now);
    }
    if (scheduler_.ps.keeps_forkless()) [[unlikely]] {
      scoped guard(scheduler_.idle.lock());
      scheduler_.ps.forget_forkless_locked();
    }
    const unsigned forking = scheduler_.ps.forking();
    const unsigned all = forking + scheduler_.ps.hosts();
    for (unsigned i = 0; i < all && !closing(); ++i) {
      acted = look_at_forks(i, forking, now) || acted;
    }
    retaker_.watch(now, next_look_);
    look_at_poller(now);  // is no sign that Ps need to be looked at
    quiet_rounds_ = acted ? 0 : quiet_rounds_ + 1;
    if (config.trace_every_ns != 0 && now >= next_trace_ &&
        !scheduler_.exit_of_process.has_begun()) {
      config.trace(config.user, now);
      next_trace_ = now + config.trace_every_ns;
    }
  }
}

inline bool monitor::has_run() noexcept {
  const std::uint64_t ran = activity(scheduler_);
  return ran != std::exchange(ran_, ran);
}

inline void monitor::look_at_poller(std::int64_t now) noexcept {
  constexpr std::int64_t longest_ns = 10'000'000;  // from Go
  if (scheduler_.poller.descriptors() == 0) {
    return;
  }
  if (an_idle_p_could_poll() && !all_idle() && !exits_ && scheduler_.poll.note_if_left_alone(now)) {
    scheduler_.wake_processor();  // it sleeps there if it finds nothing
  }
  if (!scheduler_.poll.take_if_due(now, longest_ns)) {
    return;
  }
  poll_sink sink(scheduler_);
  scheduler_.poller.poll(0, sink);
  trace_detail::polled(scheduler_, sink.ready.size);
  time_last(sink);
  inject(sink);
}

inline void monitor::wait_for_round() noexcept {
  if (process_exit::holds(scheduler_)) [[unlikely]] {
    // Rounds as seldom as suffice to notice a thread that blocks, also while nothing can run.
    if (scheduler_.monitor.sleep_for(traits::blocked_ns) && !closing()) {
      scheduler_.monitor.clear();
    }
    return;
  }
  if (quiet_rounds_ == 0) {
    delay_ = traits::monitor_min_sleep_ns;
  } else if (quiet_rounds_ > traits::monitor_quiet_rounds) {
    delay_ *= 2;
  }
  const std::int64_t now = traits::now();
  if (delay_ >= traits::monitor_max_sleep_ns) {
    delay_ = traits::monitor_max_sleep_ns;
    if (now >= next_look_for_rest_ && all_idle() && !has_run() && !scheduler_.has_forks()) {
      const liveness alive = look_for_deadlock(scheduler_);
      if (scheduler_.config().trace_every_ns == 0) {
        sleep_while_idle(alive);
        return;
      }
    }
  }
  std::int64_t delay = delay_;
  if (delay > traits::poll_interval_ns && an_idle_p_could_poll() &&
      scheduler_.poll.was_left_alone(now)) {
    delay = traits::poll_interval_ns;
    if (now >= next_look_for_rest_) {
      // As if rounds were as long as ever.
      next_look_for_rest_ = now + traits::monitor_max_sleep_ns;
    }
  }
  scheduler_.monitor.plan(now + delay);
  scheduler_.for_each_live_p([&](processor& p) {
    // A busy P's timers need us; if no thread sleeps in the poller, those of all Ps do.
    if (p.status.peek() == p_status::running || others_can_run_timers()) {
      const std::int64_t left = scheduler_.next_timer(p) - now;
      // The P knows of one that is due, and the retaker has said when to look again.
      if (left < delay &&
          (left > 0 || (p.attention.get() & ~std::uint32_t{attention_standing}) == 0)) {
        delay = left > traits::monitor_min_sleep_ns ? left : traits::monitor_min_sleep_ns;
      }
    }
  });
  if (next_look_ - now < delay) {
    delay = next_look_ - now > traits::monitor_min_sleep_ns ? next_look_ - now
                                                            : traits::monitor_min_sleep_ns;
  }
  if (delay > traits::least_run_ns && returned_.wait(scheduler_.monitor.returns())) {
    delay = traits::least_run_ns;
  }
  scheduler_.monitor.shorten_plan(now + delay);
  // A P that leaves the idle list does not hurry a round; a new timer does, and close().
  if (scheduler_.monitor.sleep_for(delay) && !closing()) {
    scheduler_.monitor.clear();
  }
  scheduler_.monitor.end_plan();
}

inline void monitor::sleep_while_idle(liveness alive) noexcept {
  scheduler_.monitor.announce_idle_sleep();
  bool all = false;
  {
    scoped guard(scheduler_.idle.lock());  // both counts of one moment
    all = all_idle();
  }
  if (all && !scheduler_.has_forks() && !closing()) {
    if (alive == liveness::by_others) {
      constexpr std::int64_t second = 1'000'000'000;  // the end of those threads is not reported
      static_cast<void>(scheduler_.monitor.sleep_for(second));
    } else {
      scheduler_.monitor.sleep();
    }
  }
  scheduler_.monitor.end_idle_sleep();
  if (!closing()) {
    scheduler_.monitor.clear();
  }
  note_time(traits::now());
  if (alive == liveness::by_others && all_idle()) {
    return;  // nothing has happened: look again, and sleep again
  }
  // The first look comes soon, the others less and less so: a server that idles between its
  // requests would pay for fifty short rounds each time (Go does).
  quiet_rounds_ = traits::monitor_quiet_rounds;
  delay_ = traits::monitor_min_sleep_ns / 2;
}

}}}  // namespace thrum::THRUM_ABI::sched

#include <thrum/detail/sched/watch/monitor_duties.hpp>

#endif
