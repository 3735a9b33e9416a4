// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A machine with more cores than this one: threads that each have a core of their own, and a clock.
//
// Purpose
//   Constants such as the number of searchers decide what happens on 64 cores, and can be chosen
//   neither by thought nor on two. So the scheduler's own code runs here: its threads are fibres on
//   one real thread, and each access to shared memory costs what it would cost on such a machine.
//
// How time passes
//   Each thread has a clock of its own. Whatever it does moves that clock, and the thread whose clock
//   is the earliest goes on: so all accesses happen in the order of the clocks, one after the other,
//   and two runs with the same seed are the same to the last access.
//
// What an access costs
//   A line of memory is owned by the core that wrote it last, or shared by those that have read it
//   since. Who has it pays a hit, who has not waits until the line is free and has travelled. A line
//   that is written by many is handed on one at a time: that is what contention is.
//
// How far apart cores are
//   Threads have their cores in the order in which they begin: `siblings` of them share one, `package` of
//   them a package. A line comes from the nearest core that has it, and a writer waits for the farthest.
//   Without these numbers all cores are equally far apart.
//
// What is left out: ordinary memory (stacks, Gs), caches that are full, more threads than cores, and the
// weakness of memory (the models are about that).
#ifndef THRUM_TESTS_SIMULATION_MACHINE_HPP
#define THRUM_TESTS_SIMULATION_MACHINE_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/sanitizer.hpp>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simulation {

/// In nanoseconds. Measured on a virtual machine with two cores (`thrum_simulation measure`); what a
/// line costs that another core has, between the cores of one large chip.
struct costs {
  double hit = 0.5;              // an access to a line that this core has
  double locked = 5;             // what a locked instruction costs beyond that
  double transfer = 80;          // a line from another core
  double sibling = 30;           // ... from a thread on the own core
  double far = 200;              // ... from another package
  double siblings = 1;           // threads on a core
  double package = 0;            // ... in a package; 0: all
  double pause = 11;             // the instruction of a loop that waits
  double yield = 300;            // a system call that lets others run
  double wake = 16'400;          // to wake a thread that sleeps
  double wake_latency = 40'600;  // from there until it runs
  double wake_nobody = 110;      // the same call when nobody sleeps
  double thread_start = 60'000;  // to make a thread
  double nap = 55'000;           // what a sleep of some microseconds lasts beyond them
  double run = 30;               // to switch to a goroutine and back
};

class machine {
 public:
  static constexpr unsigned most_threads = 1'024;

  explicit machine(const costs& what) : cost(what) {
    active_ = this;
    thrum::base::context_adopt(outside_context_);
  }
  ~machine() {
    for (auto& each : threads_) {
      thrum::base::context_destroy(each->context);
    }
    active_ = nullptr;
  }
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  static machine& active() { return *active_; }

  // ---- threads ----

  /// A thread that begins at that moment. Returns its number.
  unsigned start(std::function<void()> body, double when) {
    const auto number = static_cast<unsigned>(threads_.size());
    if (number == most_threads) {
      std::fputs("simulation: too many threads\n", stderr);
      std::abort();
    }
    threads_.push_back(std::make_unique<thread>());
    thread& t = *threads_.back();
    t.owner = this;
    t.number = number;
    t.body = std::move(body);
    t.clock = when;
    auto* const bottom = reinterpret_cast<char*>(t.stack.get());
    thrum::base::context_create(t.context, bottom, thread::stack_size);
    t.sp = thrum::arch::prepare_stack(bottom + thread::stack_size, {bottom, bottom}, &machine::main,
                                      &t);
    push(t, when);
    return number;
  }

  /// Until all threads have ended or sleep for ever.
  void run() { switch_out(outside_sp_, outside_context_); }

  bool inside() const { return self_ != nullptr; }
  unsigned self() const { return self_->number; }
  double now() const { return inside() ? self_->clock : 0; }

  /// The running thread computes for so long.
  void compute(double ns) {
    if (inside()) {
      self_->awake += ns;
      reach(self_->clock + ns);
    }
  }

  /// The running thread sleeps until wake(number, when).
  void sleep() {
    thread& t = *self_;
    switch_out(t.sp, t.context);
  }
  /// The same, for so long at the most.
  void sleep_for(double ns) {
    thread& t = *self_;
    push(t, t.clock + ns);
    sleep();
  }
  /// A thread that sleeps runs at that moment, or at once if its clock is later.
  void wake(unsigned number, double when) {
    thread& t = *threads_[number];
    push(t, when > t.clock ? when : t.clock);
  }
  /// The running thread sleeps for so long.
  void nap(double ns) { sleep_for(ns); }

  /// For how long all threads together were awake.
  double awake() const {
    double sum = 0;
    for (const auto& each : threads_) {
      sum += each->awake;
    }
    return sum;
  }

  // ---- memory ----

  void read(const void* at) {
    if (!inside()) {
      return;
    }
    line& l = line_of(at);
    if (l.has.test(self_->number)) {
      compute(cost.hit);
      return;
    }
    // Readers of a line that nobody writes do not wait for one another.
    const double begins = self_->clock > l.free_at ? self_->clock : l.free_at;
    const double ends = begins + nearest(l);
    if (l.is_written) {
      l.free_at = ends;
      l.is_written = false;
    }
    l.has.set(self_->number);
    compute(ends - self_->clock);
  }

  void write(const void* at, bool locked) {
    if (!inside()) {
      return;
    }
    line& l = line_of(at);
    double ends = self_->clock + cost.hit;
    if (!l.is_written || !l.has.test(self_->number)) {
      const double begins = self_->clock > l.free_at ? self_->clock : l.free_at;
      ends = begins + farthest(l);
      l.has.reset();
      l.has.set(self_->number);
      l.is_written = true;
    }
    ends += locked ? cost.locked : 0;
    l.free_at = ends;
    compute(ends - self_->clock);
  }

  const costs cost;

  // ---- what happened ----

  std::uint64_t wakes = 0;      // threads woken
  std::uint64_t contended = 0;  // locks that were found taken

 private:
  struct thread {
    static constexpr std::size_t stack_size = std::size_t{128} << 10;
    machine* owner = nullptr;
    unsigned number = 0;
    double clock = 0;
    double awake = 0;
    std::uint64_t turns = 0;
    std::function<void()> body;
    void* sp = nullptr;
    thrum::base::stack_context context;
    std::unique_ptr<std::max_align_t[]> stack =
        std::make_unique<std::max_align_t[]>(stack_size / sizeof(std::max_align_t));
  };
  struct turn {
    double when;
    unsigned number;
    std::uint64_t turn_of;                     // the thread's: after that one it is void
    bool operator<(const turn& other) const {  // the earliest is the greatest
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  struct line {
    double free_at = 0;
    bool is_written = false;
    std::bitset<most_threads> has;
  };

  enum class distance { own, core, package, machine };

  distance distance_to(unsigned other) const {
    const unsigned own = self_->number;
    if (other == own) {
      return distance::own;
    }
    if (other / siblings_ == own / siblings_) {
      return distance::core;
    }
    return other / package_ == own / package_ ? distance::package : distance::machine;
  }
  double takes(distance from) const {
    const double all[] = {cost.hit, cost.sibling, cost.transfer, cost.far};
    return all[static_cast<int>(from)];
  }
  /// What a line takes to come here. A line that no core has is one that no core has touched before.
  double nearest(const line& l) const {
    if (l.has.none() || is_flat_) {
      return cost.transfer;
    }
    distance least = distance::machine;
    for (std::size_t i = l.has._Find_first(); i != most_threads; i = l.has._Find_next(i)) {
      least = std::min(least, distance_to(static_cast<unsigned>(i)));
    }
    return takes(least);
  }
  /// What it takes until no other core has the line.
  double farthest(const line& l) const {
    if (l.has.none()) {
      return cost.hit;
    }
    if (is_flat_) {
      return cost.transfer;
    }
    distance most = distance::core;
    for (std::size_t i = l.has._Find_first(); i != most_threads; i = l.has._Find_next(i)) {
      most = std::max(most, distance_to(static_cast<unsigned>(i)));
    }
    return takes(most);
  }

  line& line_of(const void* at) { return lines_[reinterpret_cast<std::uintptr_t>(at) / 64]; }

  void push(thread& t, double when) { queue_.push({when, t.number, t.turns}); }

  // The thread whose turn is next, and when.
  thread* next(double& when) {
    while (!queue_.empty()) {
      const turn& first = queue_.top();
      thread& t = *threads_[first.number];
      if (first.turn_of == t.turns) {
        when = first.when;
        return &t;
      }
      queue_.pop();
    }
    return nullptr;
  }

  // Lets those go first whose clocks are behind.
  void reach(double when) {
    thread& t = *self_;
    double first = 0;
    if (next(first) == nullptr || first >= when) {
      t.clock = when;
      return;
    }
    push(t, when);
    switch_out(t.sp, t.context);
  }

  void switch_out(void*& save, thrum::base::stack_context& from) {
    double when = 0;
    thread* const to = next(when);
    if (to != nullptr) {
      queue_.pop();
      to->clock = when;
      ++to->turns;
    }
    if (to == self_) {
      return;
    }
    self_ = to;
    thrum::base::stack_context& context = to == nullptr ? outside_context_ : to->context;
    void* const load = to == nullptr ? outside_sp_ : to->sp;
    thrum::base::before_switch(from, context, false);
    thrum::arch::switch_stack(&save, load, nullptr);
    thrum::base::after_switch(from);
  }

  static void main(void*, void* argument) {
    thread& t = *static_cast<thread*>(argument);
    thrum::base::after_switch(t.context);
    t.body();
    t.owner->switch_out(t.sp, t.context);
  }

  static inline machine* active_ = nullptr;

  const unsigned siblings_ = static_cast<unsigned>(cost.siblings);
  const unsigned package_ = cost.package == 0 ? most_threads : static_cast<unsigned>(cost.package);
  const bool is_flat_ = siblings_ == 1 && package_ == most_threads;
  std::vector<std::unique_ptr<thread>> threads_;
  std::priority_queue<turn> queue_;
  std::unordered_map<std::uintptr_t, line> lines_;
  thread* self_ = nullptr;
  void* outside_sp_ = nullptr;
  thrum::base::stack_context outside_context_;
};

// ---- what the scheduler is made of ----

template <class T>
class atomic {
  using order = std::memory_order;

 public:
  atomic() noexcept = default;
  atomic(T value) noexcept : value_(value) {}  // not explicit: as std::atomic
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(order) const noexcept {
    machine::active().read(this);
    return value_;
  }
  void store(T value, order how) noexcept {
    machine::active().write(this, how == order::seq_cst);
    value_ = value;
  }
  T exchange(T value, order) noexcept {
    machine::active().write(this, true);
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T desired, order, order) noexcept {
    machine::active().write(this, true);
    const bool equal = value_ == expected;
    (equal ? value_ : expected) = equal ? desired : value_;
    return equal;
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T value, order how) noexcept {
    return change(how, [=](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, order how) noexcept {
    return change(how, [=](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, order how) noexcept {
    return change(how, [=](T old) { return static_cast<T>(old | value); });
  }
  T fetch_and(T value, order how) noexcept {
    return change(how, [=](T old) { return static_cast<T>(old & value); });
  }

 private:
  template <class F>
  T change(order, F f) noexcept {
    machine::active().write(this, true);
    return std::exchange(value_, f(value_));
  }

  T value_{};
};

/// As spin_lock: pauses of growing length, some turns for others, then sleep, of 200 us at the most.
class spin_lock {
 public:
  template <class Rank>
  explicit spin_lock(Rank) noexcept {}

  void lock() noexcept {
    machine& on = machine::active();
    if (!taken_.exchange(true, std::memory_order_acquire)) {
      return;
    }
    ++on.contended;
    for (unsigned round = 0;; ++round) {
      if (round < 4) {
        on.compute(on.cost.pause * static_cast<double>(100U << round));
      } else if (round < 8) {
        on.compute(on.cost.yield);
      } else {
        sleepers_.push_back(on.self());
        on.sleep_for(200'000 + on.cost.nap);
        std::erase(sleepers_, on.self());
      }
      if (!taken_.load(std::memory_order_relaxed) &&
          !taken_.exchange(true, std::memory_order_acquire)) {
        return;
      }
    }
  }
  void unlock() noexcept {
    machine& on = machine::active();
    const bool somebody_sleeps = !sleepers_.empty();
    taken_.store(false, std::memory_order_release);
    if (somebody_sleeps && !sleepers_.empty()) {
      const unsigned first = sleepers_.front();
      sleepers_.erase(sleepers_.begin());
      on.wake(first, on.now() + on.cost.wake_latency);
      on.compute(on.cost.wake);
    }
  }

 private:
  atomic<bool> taken_{false};
  std::vector<unsigned> sleepers_;
};

/// As blocking_lock: some turns of a loop, then the thread sleeps.
class blocking_lock {
 public:
  template <class Rank>
  explicit blocking_lock(Rank) noexcept {}

  void lock() noexcept {
    machine& on = machine::active();
    if (!taken_.exchange(true, std::memory_order_acquire)) {
      return;
    }
    ++on.contended;
    for (int i = 0; i != 100; ++i) {
      if (!taken_.load(std::memory_order_relaxed) &&
          !taken_.exchange(true, std::memory_order_acquire)) {
        return;
      }
      on.compute(on.cost.pause);
    }
    while (taken_.exchange(true, std::memory_order_acquire)) {
      sleepers_.push_back(on.self());
      on.sleep();
    }
  }
  void unlock() noexcept {
    machine& on = machine::active();
    taken_.exchange(false, std::memory_order_release);
    if (!sleepers_.empty()) {
      const unsigned first = sleepers_.front();
      sleepers_.pop_front();
      on.wake(first, on.now() + on.cost.wake_latency);
      on.compute(on.cost.wake);
    }
  }

 private:
  atomic<bool> taken_{false};
  std::deque<unsigned> sleepers_;
};

/// As os::note.
class note {
 public:
  void sleep() noexcept {
    machine& on = machine::active();
    if (!set_.load(std::memory_order_acquire)) {
      sleeper_ = static_cast<int>(on.self());
      on.sleep();
    }
  }
  void clear() noexcept { set_.store(false, std::memory_order_relaxed); }
  void wake() noexcept {
    machine& on = machine::active();
    if (set_.exchange(true, std::memory_order_release)) {
      return;
    }
    if (sleeper_ == nobody) {
      on.compute(on.cost.wake_nobody);
      return;
    }
    ++on.wakes;
    on.wake(static_cast<unsigned>(std::exchange(sleeper_, nobody)),
            on.now() + on.cost.wake_latency);
    on.compute(on.cost.wake);
  }

 private:
  static constexpr int nobody = -1;
  atomic<bool> set_{false};
  int sleeper_ = nobody;
};

}  // namespace simulation

#endif
