// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A scheduler without any thread of its own: its Ps are held by Ms that the test makes, and its
// goroutines stand in queues and never run. So each step of sched/run can be taken alone.
#ifndef THRUM_TESTS_SUPPORT_LONE_SCHEDULER_HPP
#define THRUM_TESTS_SUPPORT_LONE_SCHEDULER_HPP

#include <thrum.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/run/poll_sink.hpp>

#include "support/idle_lock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace support {

class lone_scheduler {
 public:
  /// All Ps idle.
  explicit lone_scheduler(unsigned procs, thrum::sched::scheduler_config config = quiet()) {
    config.procs = procs;
    config.user = this;
    own_ = std::make_unique<thrum::sched::runtime_scheduler>(config, upcalls());
    thrum::os::prepare_heavy_fence();
    own_->started_at = thrum::sched::traits::now();
    opened_ = own_->poller.open() == 0;
    own_->pool = new thrum::sched::stack_pool;
    // As a scheduler does itself, which gives them back.
    own_->ps.keep_in(static_cast<thrum::sched::processor**>(
        thrum::os::map(thrum::sched::p_table::most * sizeof(thrum::sched::processor*))));
    opened_ = own_->ps.make(procs) == 0 && opened_;
    const thrum::sched::scoped guard(own_->idle.lock());
    own_->ps.want_locked(procs);
    for (unsigned i = procs; i-- != 0;) {
      own_->ps[i].status = thrum::sched::p_status::idle;
      own_->idle.put_p_locked(own_->ps[i]);
    }
  }
  lone_scheduler(const lone_scheduler&) = delete;
  lone_scheduler& operator=(const lone_scheduler&) = delete;

  thrum::sched::runtime_scheduler& operator*() noexcept { return *own_; }
  thrum::sched::runtime_scheduler* operator->() noexcept { return own_.get(); }
  thrum::sched::processor& p(unsigned i) noexcept { return own_->ps[i]; }

  /// False: the system has refused a descriptor or memory.
  bool is_open() const noexcept { return opened_; }

  /// An M without a P.
  thrum::sched::machine& m() {
    const auto id = static_cast<std::uint32_t>(ms_.size());
    return ms_.emplace_back(*own_, own_->upcalls(), id, id + 1);
  }
  /// An M that holds this P, which was idle.
  thrum::sched::machine& holder_of(unsigned i) {
    thrum::sched::machine& fresh = m();
    {
      const thrum::sched::scoped guard(own_->idle.lock());
      own_->idle.remove_p_locked(p(i));
    }
    own_->acquire_p(fresh, p(i));
    return fresh;
  }
  /// An M in the idle list, where whoever has a P to give finds it.
  thrum::sched::machine& idle_m() {
    thrum::sched::machine& fresh = m();
    const thrum::sched::scoped guard(own_->idle.lock());
    own_->idle.put_m_locked(fresh);
    return fresh;
  }

  /// A goroutine of this scheduler that stands nowhere. Its stack is as if it had left it at once.
  thrum::sched::goroutine& g() {
    thrum::sched::goroutine& fresh = *own_->pool->take(own_->config().stack_class);
    fresh.scheduler = own_.get();
    constexpr std::size_t frames = 1024;
    fresh.extent.reach(fresh.stack_low, reinterpret_cast<char*>(&fresh) - frames);
    const auto top = reinterpret_cast<std::uintptr_t>(&fresh) & ~std::uintptr_t{15};
    fresh.sp = thrum::arch::prepare_stack(
        reinterpret_cast<void*>(top), {fresh.stack_low, fresh.extent.limit(fresh.stack_low)},
        [](void*, void*) {}, nullptr);
    return fresh;
  }

  /// Into the ring of a P, at its tail. There is room.
  void push(unsigned i, thrum::sched::goroutine& each) noexcept {
    static_cast<void>(p(i).queue.push(&each));
  }
  /// Into runnext, which is empty.
  void set_runnext(unsigned i, thrum::sched::goroutine& each) noexcept {
    static_cast<void>(p(i).queue.exchange_runnext(&each));
  }

  /// How many searching Ms were started on idle Ps. Each counts as one that searches from then on.
  unsigned started() const noexcept { return started_; }
  /// Which threads came into question when one was last to be started.
  thrum::sched::searchers asked() const noexcept { return asked_; }

  /// The last one that was started has found nothing: it searches no more, and its P idles again.
  void end_search() {
    thrum::sched::machine& searcher = m();
    searcher.spinning = true;
    own_->idle.end_spinning(searcher);
    const thrum::sched::scoped guard(own_->idle.lock());
    own_->idle.put_p_locked(*given_);
  }

  /// What each event of the poller makes ready, in this order.
  std::vector<thrum::sched::goroutine*> ready_by_event;

  /// No signals, no preemption, small stacks.
  static thrum::sched::scheduler_config quiet() noexcept {
    thrum::sched::scheduler_config config;
    config.stack_class = 15;
    config.preempts = false;
    config.interrupts = false;
    return config;
  }

 private:
  static lone_scheduler& of(thrum::sched::runtime_scheduler& scheduler) noexcept {
    return *static_cast<lone_scheduler*>(scheduler.config().user);
  }
  static bool start_spinner(thrum::sched::runtime_scheduler& scheduler,
                            thrum::sched::searchers which) noexcept {
    of(scheduler).asked_ = which;
    const thrum::sched::scoped guard(scheduler.idle.lock());
    thrum::sched::processor* const p = scheduler.idle.take_p_to_spin_locked();
    if (p == nullptr) {
      return false;
    }
    of(scheduler).given_ = p;
    ++of(scheduler).started_;
    return true;
  }
  static void take_event(thrum::sched::poll_sink& to, std::uint64_t, std::uint32_t) noexcept {
    for (thrum::sched::goroutine* const each : of(to.scheduler).ready_by_event) {
      to.ready.push_back(*each);
    }
  }
  /// Those of a runtime, from one: where the library is compiled apart no header declares them.
  static thrum::sched::upcall_table upcalls() {
    static const thrum::sched::upcall_table of_a_runtime = [] {
      thrum::runtime runtime(thrum::options{.procs = 1});
      return runtime.scheduler().upcalls();
    }();
    thrum::sched::upcall_table all = of_a_runtime;
    all.m_main = nullptr;
    all.start_spinner = &start_spinner;
    all.make_spare = nullptr;
    all.take_event = &take_event;
    all.announce_event = nullptr;
    return all;
  }

  std::unique_ptr<thrum::sched::runtime_scheduler> own_;
  std::deque<thrum::sched::machine> ms_;
  thrum::sched::processor* given_ = nullptr;
  std::atomic<unsigned> started_{0};
  std::atomic<thrum::sched::searchers> asked_{thrum::sched::searchers::all};
  bool opened_ = false;
};

/// The calling thread is this M's for as long as this lives.
class [[nodiscard]] on_m {
 public:
  explicit on_m(thrum::sched::machine& m) noexcept {
    m.error_number = thrum::os::thread_error_number();
    thrum::sched::set_current_m(&m);
  }
  ~on_m() { thrum::sched::set_current_m(nullptr); }
  on_m(const on_m&) = delete;
  on_m& operator=(const on_m&) = delete;
};

}  // namespace support

#endif
