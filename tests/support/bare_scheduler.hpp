// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A scheduler without the floors above it: it has its Ps and its creator, but no goroutine, no
// monitor and no thread that looks for work. So a test takes each step itself, on whatever state it
// has set up.
#ifndef THRUM_TESTS_SUPPORT_BARE_SCHEDULER_HPP
#define THRUM_TESTS_SUPPORT_BARE_SCHEDULER_HPP

#include <thrum.hpp>

#include "support/idle_lock.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace support {

class bare_scheduler {
 public:
  using scheduler_type = thrum::sched::runtime_scheduler;
  using machine = thrum::sched::machine;

  explicit bare_scheduler(unsigned procs, thrum::sched::scheduler_config config = {},
                          thrum::sched::virtual_clock* clock = nullptr)
      : inner_(new scheduler_type(with_owner(config, procs), table())),
        searcher_(new machine(*inner_, table(), ~0U, 1)) {
    inner_->clock = thrum::sched::runtime_clock(clock);
  }
  ~bare_scheduler() {
    if (is_open_) {
      inner_->close();
      inner_->join_threads();
    }
  }
  bare_scheduler(const bare_scheduler&) = delete;
  bare_scheduler& operator=(const bare_scheduler&) = delete;

  /// Ps and the creator. 0 or an errno value.
  int open() {
    const int error = inner_->open();
    is_open_ = error == 0;
    return error;
  }

  scheduler_type& operator*() noexcept { return *inner_; }
  scheduler_type* operator->() noexcept { return inner_.get(); }

  /// An M without a thread, which the scheduler does not know.
  std::unique_ptr<machine> stray_m() {
    auto m = std::make_unique<machine>(*inner_, table(), ~0U, 1);
    m->inside.store(0, std::memory_order_relaxed);
    return m;
  }

  /// All Ps off the idle list, so that the test has them.
  void take_all_ps() {
    const thrum::sched::scoped guard(inner_->idle.lock());
    while (inner_->idle.take_p_locked() != nullptr) {
    }
  }

  // Set before open().
  std::function<void(machine&)> on_thread;  ///< what a new thread does
  std::function<machine*()> on_spare;       ///< whether a spare is made

  std::atomic<int> threads{0};  ///< that have run to their end
  std::atomic<int> wakes{0};    ///< of idle Ps, for work that was published
  std::atomic<int> answers{0};  ///< to the monitor
  std::atomic<int> spares{0};   ///< times that a spare was asked for

 private:
  static bare_scheduler& of(scheduler_type& scheduler) noexcept {
    return *static_cast<bare_scheduler*>(scheduler.config().user);
  }

  thrum::sched::scheduler_config with_owner(thrum::sched::scheduler_config config, unsigned procs) {
    config.procs = procs;
    config.user = this;
    config.interrupts = false;
    return config;
  }

  static thrum::sched::upcall_table table() noexcept {
    thrum::sched::upcall_table all{};
    all.m_main = [](void* own) -> void* {
      auto& m = *static_cast<machine*>(own);
      bare_scheduler& self = of(*m.scheduler);
      if (self.on_thread) {
        self.on_thread(m);
      }
      ++self.threads;
      return nullptr;
    };
    all.start_spinner = [](scheduler_type& scheduler, thrum::sched::searchers) noexcept {
      bare_scheduler& self = of(scheduler);
      ++self.wakes;
      self.searcher_->spinning = true;  // gives the unit back
      scheduler.idle.end_spinning(*self.searcher_);
      return false;
    };
    all.make_spare = [](scheduler_type& scheduler) noexcept -> machine* {
      bare_scheduler& self = of(scheduler);
      ++self.spares;
      return self.on_spare ? self.on_spare() : nullptr;
    };
    all.answer_monitor = [](machine& m) noexcept -> machine& {
      ++of(*m.scheduler).answers;
      // relaxed: read by this thread only
      m.retake.store(thrum::sched::retake_state::none, std::memory_order_relaxed);
      return m;
    };
    return all;
  }

  std::unique_ptr<scheduler_type> inner_;
  std::unique_ptr<machine> searcher_;
  bool is_open_ = false;
};

/// The calling thread passes for one that runs goroutine `g` on a P, for as long as this lives; it
/// must not call anything of the library that parks.
class pretended_m {
 public:
  explicit pretended_m(bare_scheduler& scheduler) : m_(scheduler.stray_m()) {
    m_->g = &g;
    m_->p = &p;
    thrum::sched::set_current_m(m_.get());
  }
  ~pretended_m() { thrum::sched::set_current_m(nullptr); }
  pretended_m(const pretended_m&) = delete;
  pretended_m& operator=(const pretended_m&) = delete;

  thrum::sched::machine& operator*() const noexcept { return *m_; }
  thrum::sched::machine* operator->() const noexcept { return m_.get(); }
  bool is_inside() const noexcept { return m_->inside.load(std::memory_order_relaxed) != 0; }

  thrum::sched::goroutine g;
  thrum::sched::processor p{0};

 private:
  std::unique_ptr<thrum::sched::machine> m_;
};

}  // namespace support

#endif
