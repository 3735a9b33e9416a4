// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is tried on the simulated machine: bursts, trees, requests from outside, pairs. What has little to do
// for many processors is in small_workloads.hpp.
//
// Included before everything else of thrum's, as parts.hpp.
#ifndef THRUM_TESTS_SIMULATION_WORKLOADS_HPP
#define THRUM_TESTS_SIMULATION_WORKLOADS_HPP

#include "parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace simulation {

/// What a workload took on so many Ps.
struct outcome {
  double elapsed = 0;       // ns, until the last goroutine had ended
  double work = 0;          // ns that goroutines computed, all together
  double awake = 0;         // ns that threads were awake, all together
  double latency = 0;       // ns from ready to running: the median,
  double late = 0;          // and of a hundred the latest but one
  std::uint64_t wakes = 0;  // threads woken
  std::uint64_t steals = 0;
  std::uint64_t ran = 0;  // goroutines that ended
  std::uint64_t expected = 0;

  /// How much of the Ps' time was work.
  double used(unsigned procs) const { return work / (elapsed * procs); }
};

class workload {
 public:
  workload(unsigned procs, const costs& what) : all_(procs, what), procs_(procs) { active_ = this; }

  /// Begins when each P has had a thread, and all of them sleep again.
  outcome run(std::uint64_t expected) {
    on().start(
        [this] {
          awake_before_ = on().awake();
          wakes_before_ = on().wakes;
          steals_before_ = steals();
          submit_all();
        },
        warm_up);
    on().start([this, expected] { watch(expected); }, warm_up);
    all_.run(&make([](goroutine&) { active_->wake_all(); }));
    return finish(expected);
  }
  virtual ~workload() { active_ = nullptr; }
  workload(const workload&) = delete;
  workload& operator=(const workload&) = delete;

  /// On a thread that is no M.
  virtual void submit_all() = 0;

 private:
  void wake_all() {
    for (unsigned i = 0; i != 8 * procs_; ++i) {
      ready(make([](goroutine&) { active_->on().compute(1'000'000); }), false);
    }
  }

  /// What the monitor does about a runnext that waits (monitor_duties.hpp), at the times of its rounds.
  void watch(std::uint64_t expected) {
    using traits = thrum::sched::default_traits;
    auto& scheduler = all_.scheduler;
    std::int64_t sleep = traits::monitor_min_sleep_ns;
    for (unsigned quiet = 0; ran_ != expected && on().now() < 100 * warm_up;) {
      on().nap(static_cast<double>(sleep) + on().cost.nap);
      bool woke = false;
      scheduler.for_each_live_p([&](thrum::sched::processor& p) {
        const auto now = static_cast<std::int64_t>(on().now());
        if (p.status.peek() != thrum::sched::p_status::running) {
          p.seen.runnext = nullptr;
        } else if (thrum::sched::is_runnext_stuck(p, p.seen, now) &&
                   scheduler.idle.idle_ps() != 0) {
          p.wake_credit.set(thrum::sched::traits::wake_credit);
          scheduler.wake_processor();
          woke = true;
        }
      });
      quiet = woke ? 0 : quiet + 1;
      if (woke) {
        sleep = traits::monitor_min_sleep_ns;
      } else if (quiet > traits::monitor_quiet_rounds && sleep < traits::monitor_max_sleep_ns) {
        sleep *= 2;
      }
    }
  }

  std::uint64_t steals() {
    std::uint64_t sum = 0;
    all_.scheduler.for_each_p([&](thrum::sched::processor& p) { sum += p.counts.steals.get(); });
    return sum;
  }

  outcome finish(std::uint64_t expected) {
    std::sort(latencies_.begin(), latencies_.end());
    const std::size_t n = latencies_.size();
    outcome all;
    all.elapsed = last_end_ - warm_up;
    all.work = work_;
    all.awake = on().awake() - awake_before_;
    all.latency = n == 0 ? 0 : latencies_[n / 2];
    all.late = n == 0 ? 0 : latencies_[n - 1 - n / 100];
    all.wakes = on().wakes - wakes_before_;
    all.steals = steals() - steals_before_;
    all.ran = ran_;
    all.expected = expected;
    return all;
  }

 protected:
  machine& on() { return all_.on; }

  goroutine& make(void (*step)(goroutine&), std::uint64_t number = 0) {
    gs_.push_back(std::make_unique<goroutine>());
    goroutine& g = *gs_.back();
    g.scheduler = &all_.scheduler;
    g.step = step;
    g.number = number;
    return g;
  }
  /// As go(): what making one costs, and the step that makes it ready.
  void begin(goroutine& g, bool next = true) {
    on().compute(making);
    g.ready_at = on().now();
    ready(g, next);
  }
  void computes(double ns) {
    work_ += ns;
    on().compute(ns);
  }
  void begins(const goroutine& g) { latencies_.push_back(on().now() - g.ready_at); }
  void ends() {
    ++ran_;
    last_end_ = std::max(last_end_, on().now());
  }

  /// Of a workload whose goroutines need no more than what all of them share.
  template <class W>
  static W& mine() {
    return static_cast<W&>(*active_);
  }

  /// What a goroutine costs that is made, and when the workload begins.
  static constexpr double making = 40;
  static constexpr double warm_up = 100'000'000;

  world all_;
  const unsigned procs_;

 private:
  static inline workload* active_ = nullptr;

  std::vector<std::unique_ptr<goroutine>> gs_;
  std::vector<double> latencies_;
  double work_ = 0;
  double last_end_ = 0;
  double awake_before_ = 0;
  std::uint64_t wakes_before_ = 0;
  std::uint64_t steals_before_ = 0;
  std::uint64_t ran_ = 0;
};

/// One goroutine makes many, `each` ns long on average: half of them an eighth of that, some eight times.
class burst : public workload {
 public:
  burst(unsigned procs, const costs& what, unsigned a_p, double each)
      : workload(procs, what), count_(a_p * procs), each_(each) {}

  outcome run() { return workload::run(count_ + 1); }

 private:
  void submit_all() override {
    begin(make([](goroutine& g) { mine<burst>().produce(g); }));
  }
  void produce(goroutine& g) {
    begins(g);
    for (unsigned i = 0; i != count_; ++i) {
      begin(make([](goroutine& item) { mine<burst>().consume(item); }, i));
    }
    ends();
  }
  void consume(goroutine& g) {
    begins(g);
    computes(each_ * lengths[g.number * 7 % 8]);
    ends();
  }

  static constexpr double lengths[8] = {0.125, 0.125, 0.125, 0.125, 0.5, 1, 2, 4};

  const unsigned count_;
  const double each_;
};

/// A goroutine makes two, and so on.
class tree : public workload {
 public:
  tree(unsigned procs, const costs& what, unsigned depth, double each)
      : workload(procs, what), depth_(depth), each_(each) {}

  outcome run() { return workload::run((std::uint64_t{2} << depth_) - 1); }

 private:
  void submit_all() override { begin(make(&step, depth_)); }
  static void step(goroutine& g) { mine<tree>().node(g); }
  void node(goroutine& g) {
    begins(g);
    computes(each_);
    if (g.number != 0) {
      begin(make(&step, g.number - 1));
      begin(make(&step, g.number - 1));
    }
    ends();
  }

  const unsigned depth_;
  const double each_;
};

/// Threads outside submit goroutines at moments of chance, so many that a share of the Ps is busy.
class requests : public workload {
 public:
  requests(unsigned procs, const costs& what, double share, double each, unsigned count)
      : workload(procs, what),
        count_(count),
        each_(each),
        senders_(procs / 8 + 1),
        gap_(each / (share * procs) * senders_) {}

  outcome run() { return workload::run(count_); }

 private:
  void submit_all() override {
    for (unsigned i = 0; i != senders_; ++i) {
      on().start([this, i] { submit(i); }, on().now());
    }
  }
  void submit(unsigned sender) {
    thrum::base::random random(sender + 17);
    double next = on().now();
    for (unsigned i = sender; i < count_; i += senders_) {
      const double chance = (static_cast<double>(random.next()) + 1) / 4294967297.0;
      next -= gap_ * std::log(chance);
      if (next > on().now()) {
        on().nap(next - on().now());
      }
      begin(make([](goroutine& g) { mine<requests>().serve(g); }, i));
    }
  }
  void serve(goroutine& g) {
    begins(g);
    computes(each_);
    ends();
  }

  const unsigned count_;
  const double each_;
  const unsigned senders_;
  const double gap_;
};

/// Pairs that hand the processor to each other: each makes its partner ready, and waits for it.
class pairs : public workload {
 public:
  pairs(unsigned procs, const costs& what, unsigned count, unsigned turns, double each)
      : workload(procs, what), count_(count), turns_(turns), each_(each), partners_(2 * count) {}

  outcome run() { return workload::run(std::uint64_t{count_} * turns_); }

 private:
  void submit_all() override {
    begin(make([](goroutine&) { mine<pairs>().begin_all(); }));
  }
  void begin_all() {
    for (unsigned i = 0; i != 2 * count_; ++i) {
      partners_[i] = &make([](goroutine& g) { mine<pairs>().turn(g); }, i);
    }
    left_.assign(count_, turns_);
    for (unsigned i = 0; i != count_; ++i) {
      begin(*partners_[2 * i], false);
    }
  }
  void turn(goroutine& g) {
    begins(g);
    computes(each_);
    ends();
    if (--left_[g.number / 2] != 0) {
      goroutine& partner = *partners_[g.number ^ 1];
      partner.ready_at = on().now();
      ready(partner, true);
    }
  }

  const unsigned count_;
  const unsigned turns_;
  const double each_;
  std::vector<goroutine*> partners_;
  std::vector<unsigned> left_;
};

}  // namespace simulation

#endif
