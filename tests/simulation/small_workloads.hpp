// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Work that many processors can hardly share: a second one must not make it slower. Goroutines that talk through
// a buffered channel, that yield, that start many small ones and wait for them, that join what they started.
//
// A goroutine here runs step by step, so that the inner call of fib is part of its step, and it waits for
// all that it has started at once.
#ifndef THRUM_TESTS_SIMULATION_SMALL_WORKLOADS_HPP
#define THRUM_TESTS_SIMULATION_SMALL_WORKLOADS_HPP

#include "workloads.hpp"

#include <cstdint>
#include <deque>

namespace simulation {

/// Senders and receivers, as many of each, on one channel with room for 128 items. A send counts, and a receive.
class channel : public workload {
 public:
  channel(unsigned procs, const costs& what, unsigned count, unsigned items, double make_ns,
          double use_ns)
      : workload(procs, what),
        count_(count),
        left_(2 * count, items),
        make_(make_ns),
        use_(use_ns) {}

  outcome run() { return workload::run(2 * std::uint64_t{count_} * left_[0]); }

 private:
  static constexpr unsigned room = 128;

  void submit_all() override {
    begin(make([](goroutine&) { mine<channel>().begin_all(); }));
  }
  void begin_all() {
    for (unsigned i = 0; i != 2 * count_; ++i) {
      begin(make([](goroutine& g) { mine<channel>().pass(g); }, i));
    }
  }
  /// Senders have even numbers. Until there is no item, or no room for one.
  void pass(goroutine& g) {
    begins(g);
    const bool sends = g.number % 2 == 0;
    std::deque<goroutine*>& own = sends ? senders_ : receivers_;
    std::deque<goroutine*>& others = sends ? receivers_ : senders_;
    for (std::uint32_t& left = left_[g.number]; left != 0; --left) {
      if (sends) {
        computes(make_);
      }
      lock_.lock();
      if (used_ == (sends ? room : 0)) {
        own.push_back(&g);
        g.ready_at = on().now();
        lock_.unlock();
        return;
      }
      used_ = sends ? used_ + 1 : used_ - 1;
      on().write(&used_, false);
      goroutine* partner = nullptr;
      if (!others.empty()) {
        partner = others.front();
        others.pop_front();
      }
      lock_.unlock();
      if (partner != nullptr) {
        partner->ready_at = on().now();
        ready(*partner, true);
      }
      if (!sends) {
        computes(use_);
      }
      ends();
    }
  }

  const unsigned count_;
  std::vector<std::uint32_t> left_;
  const double make_;
  const double use_;
  spin_lock lock_{thrum::sched::lock_rank::channel};
  unsigned used_ = 0;
  std::deque<goroutine*> senders_;
  std::deque<goroutine*> receivers_;
};

/// Goroutines that yield so often.
class yielders : public workload {
 public:
  yielders(unsigned procs, const costs& what, unsigned count, unsigned yields)
      : workload(procs, what), count_(count), left_(count, yields) {}

  outcome run() { return workload::run(std::uint64_t{count_} * left_[0]); }

 private:
  void submit_all() override {
    begin(make([](goroutine&) { mine<yielders>().begin_all(); }));
  }
  void begin_all() {
    for (unsigned i = 0; i != count_; ++i) {
      begin(make([](goroutine& g) { mine<yielders>().turn(g); }, i));
    }
  }
  void turn(goroutine& g) {
    begins(g);
    computes(5);
    ends();
    if (--left_[g.number] != 0) {
      g.ready_at = on().now();
      auto& p = *thrum::sched::current_m()->p;
      p.yielded.lock().lock();
      p.yielded.push_back_locked(g);
      p.yielded.lock().unlock();
      all_.scheduler.wake_processor();
    }
  }

  const unsigned count_;
  std::vector<std::uint32_t> left_;
};

/// A goroutine that starts others and waits for them, several times.
class spawns : public workload {
 public:
  spawns(unsigned procs, const costs& what, unsigned rounds, unsigned count)
      : workload(procs, what), rounds_(rounds), count_(count) {}

  outcome run() { return workload::run(std::uint64_t{rounds_} * count_); }

 private:
  void submit_all() override {
    begin(make([](goroutine& g) { mine<spawns>().round(g); }));
  }
  void round(goroutine& g) {
    if (rounds_-- == 0) {
      return;
    }
    parent_ = &g;
    alive_.store(count_ + 1, std::memory_order_relaxed);
    for (unsigned i = 0; i != count_; ++i) {
      begin(make([](goroutine& each) { mine<spawns>().work(each); }));
    }
    leave();
  }
  void work(goroutine& g) {
    begins(g);
    computes(20);
    ends();
    leave();
  }
  void leave() {
    if (alive_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      ready(*parent_, true);
    }
  }

  unsigned rounds_;
  const unsigned count_;
  goroutine* parent_ = nullptr;
  atomic<unsigned> alive_{0};
};

/// Goroutines that start others and wait for them: two each, or as fib, which starts one and calls the other.
class joined : public workload {
 public:
  enum class shape { tree, fib };

  joined(unsigned procs, const costs& what, unsigned n, shape form)
      : workload(procs, what), n_(n), form_(form) {}

  outcome run() { return workload::run(count(n_)); }

 private:
  struct alignas(64) node {  // a line of its own, wherever the allocator puts it
    node* parent;
    unsigned n;
    goroutine* g = nullptr;
    atomic<unsigned> waits_for{1};
  };

  std::uint64_t count(unsigned n) const {
    if (form_ == shape::tree) {
      return (std::uint64_t{2} << n) - 1;
    }
    std::uint64_t all = 1;
    for (; n >= 2; n -= 2) {
      all += count(n - 1);
    }
    return all;
  }
  void submit_all() override { start(nullptr, n_); }
  void start(node* parent, unsigned n) {
    nodes_.emplace_back(parent, n);
    node& own = nodes_.back();
    own.g = &make([](goroutine& g) { mine<joined>().turn(g); }, nodes_.size() - 1);
    begin(*own.g);
  }
  void turn(goroutine& g) {
    node& own = nodes_[g.number];
    if (own.waits_for.load(std::memory_order_acquire) == 0) {
      finish_node(own);
      return;
    }
    begins(g);
    unsigned started = 0;
    for (unsigned n = own.n; n >= (form_ == shape::tree ? 1U : 2U) && started != 64;) {
      own.waits_for.fetch_add(1, std::memory_order_relaxed);
      start(&own, n - 1);
      computes(10);
      ++started;
      if (form_ == shape::tree) {
        if (started == 2) {
          break;
        }
      } else {
        n -= 2;
      }
    }
    computes(10);
    if (own.waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      finish_node(own);
    }
  }
  void finish_node(node& own) {
    ends();
    node* const parent = own.parent;
    if (parent != nullptr && parent->waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      ready(*parent->g, true);
    }
  }

  const unsigned n_;
  const shape form_;
  std::deque<node> nodes_;
};

}  // namespace simulation

#endif
