// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Runs a small concurrent program in every order that its threads can be interleaved in.
//
// Purpose
//   A test that runs real threads sees the interleavings that happen; a bug in the scheduler hides
//   in those that do not. Here the threads are fibres on one real thread, every access to shared
//   memory asks the explorer which thread goes on, and the explorer tries all answers, one
//   execution each.
//
// A model
//   struct model {
//     static constexpr unsigned threads = 2;
//     model();                      // the initial state
//     void run(unsigned thread);    // what each thread does
//     void at_end();                // what must hold when all are done
//     void at_rest();               // optional: may be asleep for ever, and what must hold then
//   };
//   explore<model>({...}) (search.hpp) constructs a fresh one for each execution. Shared state is
//   made of model::atomic, model::cell, model::mutex and model::note (objects.hpp).
//   require(condition, text) states what must hold. A model must be deterministic apart from what
//   the explorer decides, and no destructor may be needed on a thread's stack: a failing execution
//   is abandoned where it is.
//
// Search
//   Depth first over the decisions taken: an execution is a list of decisions; the next one repeats
//   the list up to the last decision that has an answer left, gives that, and then takes the first
//   answer each time. The first answer is always the tame one: the same thread goes on, the newest
//   value is read. Two bounds keep the number finite and small, as most bugs need few surprises:
//   `preemptions`, how often a thread that could go on is made to wait, and `stale_reads`, how
//   often a thread reads something else than the newest value (memory.hpp). A search that comes to
//   an end has tried everything within its bounds.
//
// What it finds
//   A violated require(), a data race on a cell, a deadlock, an execution without end. The failing
//   one is run again to write down each step.
//
// Sources: CHESS (Musuvathi and Qadeer, 2007) for the bound on preemptions; loom and Relacy for the
// treatment of weak memory.
#ifndef THRUM_TESTS_MODEL_EXPLORER_HPP
#define THRUM_TESTS_MODEL_EXPLORER_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/sanitizer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace model {

inline constexpr unsigned max_threads = 6;

/// What the memory of the modelled machine may do; see memory.hpp.
enum class machine { sequential, tso, weak };

struct options {
  model::machine machine = machine::weak;
  unsigned preemptions = 3;
  unsigned stale_reads = 2;
  std::uint64_t max_executions = 30'000'000;
  unsigned max_steps = 2'000;
};

struct result {
  bool complete = false;  // every execution within the bounds was tried
  std::uint64_t executions = 0;
  double seconds = 0;
  std::string failure;  // empty: none
  std::string trace;    // the steps of the failing execution

  bool passed() const { return complete && failure.empty(); }

  std::string report() const {
    std::string text = std::to_string(executions) + " executions, " + std::to_string(seconds) +
                       " s" + (complete ? ", complete" : "");
    if (!failure.empty()) {
      text += "\n" + failure + "\n" + trace;
    }
    return text;
  }
};

/// The threads of one model and the decisions of one search.
class explorer {
 public:
  using body = void (*)(void* model, unsigned thread);

  explorer(const options& bounds, unsigned threads, body run_thread)
      : bounds_(bounds),
        count_(threads),
        run_(run_thread),
        fibres_(std::make_unique<fibre[]>(threads)) {
    for (unsigned i = 0; i != count_; ++i) {
      fibres_[i].owner = this;
      fibres_[i].index = i;
      prepare(fibres_[i]);
    }
    active_ = this;
  }
  ~explorer() {
    for (unsigned i = 0; i != count_; ++i) {
      thrum::base::context_destroy(fibres_[i].context);
    }
    active_ = nullptr;
  }
  explorer(const explorer&) = delete;
  explorer& operator=(const explorer&) = delete;

  static explorer& active() {
    if (active_ == nullptr) {
      std::fputs("model: used outside of an exploration\n", stderr);
      std::abort();
    }
    return *active_;
  }

  // ---- for the memory and the models ----

  /// The running thread; `threads()` when it is the one that constructs and checks the model.
  unsigned self() const { return self_; }
  unsigned threads() const { return count_; }
  bool inside() const { return self_ != count_; }
  const options& bounds() const { return bounds_; }

  /// One of `count` answers, 0 first.
  unsigned choose(unsigned count);

  /// As choose(), for a read: every answer but 0 is a stale value, and uses up one stale read of
  /// the bounds.
  unsigned choose_stale(unsigned count) {
    if (count == 1 || stale_left_ == 0) {
      return 0;
    }
    const unsigned answer = choose(count);
    stale_left_ -= answer == 0 ? 0 : 1;
    return answer;
  }

  /// Called before each visible step: another thread may run first.
  void point();

  /// The running thread cannot go on until ready(argument). False: everybody sleeps for ever.
  bool wait(bool (*ready)(const void*), const void* argument, bool may_rest);

  /// The running thread waits in a loop for something that another thread must write first.
  void yield();

  /// The running thread has written something: threads that wait in a loop look again.
  void progress();

  /// Ends the execution with a finding. Returns only outside of the model's threads.
  void fail(const char* finding);

  bool failed() const { return !finding_.empty(); }
  bool tracing() const { return tracing_; }
  void trace(const std::string& step) {
    trace_ += "  " + (inside() ? std::to_string(self_) : std::string("-")) + ": " + step + "\n";
  }

  // ---- for explore() ----

  /// Begins an execution.
  void begin(bool tracing);
  /// Runs the threads to their ends, or to a finding, or until all rest. True: some rest.
  bool run(void* model);
  /// After run() returned true and the model's at_rest(): the resting threads run to their ends.
  void finish_resting();
  /// True: there is another execution to try.
  bool advance();

  const std::string& finding() const { return finding_; }
  const std::string& trace_text() const { return trace_; }

 private:
  enum class state : std::uint8_t { runnable, waiting, yielded, done };

  struct fibre {
    static constexpr std::size_t stack_size = 128 * 1024;
    explorer* owner = nullptr;
    unsigned index = 0;
    state now = state::done;
    bool may_rest = false;
    bool (*ready)(const void*) = nullptr;
    const void* argument = nullptr;
    void* sp = nullptr;
    thrum::base::stack_context context;
    std::unique_ptr<std::max_align_t[]> stack =
        std::make_unique<std::max_align_t[]>(stack_size / sizeof(std::max_align_t));
  };

  struct decision {
    std::uint8_t taken;
    std::uint8_t count;
  };

  void prepare(fibre& f);
  static void main(void* pass, void* argument);
  bool enabled(const fibre& f) const;
  unsigned pick_successor();
  void switch_to(unsigned index);
  void switch_out(void*& save, thrum::base::stack_context& from, unsigned index);

  static inline explorer* active_ = nullptr;

  const options bounds_;
  const unsigned count_;
  const body run_;
  std::unique_ptr<fibre[]> fibres_;
  void* outside_sp_ = nullptr;
  thrum::base::stack_context outside_context_;

  void* model_ = nullptr;
  unsigned self_ = 0;
  unsigned steps_ = 0;
  unsigned preemptions_left_ = 0;
  unsigned stale_left_ = 0;
  bool resting_ = false;
  bool some_yielded_ = false;

  std::vector<decision> path_;
  std::size_t depth_ = 0;

  bool tracing_ = false;
  std::string finding_;
  std::string trace_;
};

/// States what must hold, in a model's thread, at_end or at_rest.
inline void require(bool condition, const char* text) {
  if (!condition) {
    explorer::active().fail(text);
  }
}

// ---- decisions ----

inline unsigned explorer::choose(unsigned count) {
  if (count == 1) {
    return 0;
  }
  if (depth_ == path_.size()) {
    path_.push_back({0, static_cast<std::uint8_t>(count)});
  } else if (path_[depth_].count != count) {
    std::fputs("model: not deterministic\n", stderr);
    std::abort();
  }
  return path_[depth_++].taken;
}

inline bool explorer::advance() {
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) {
    path_.pop_back();
  }
  if (path_.empty()) {
    return false;
  }
  ++path_.back().taken;
  return true;
}

// ---- threads ----

inline bool explorer::enabled(const fibre& f) const {
  return f.now == state::runnable || (f.now == state::waiting && f.ready(f.argument));
}

inline void explorer::point() {
  if (!inside()) {
    return;
  }
  if (++steps_ > bounds_.max_steps) {
    fail("an execution does not end");
  }
  if (preemptions_left_ == 0) {
    return;
  }
  unsigned others[max_threads];
  unsigned count = 0;
  for (unsigned i = 0; i != count_; ++i) {
    if (i != self_ && enabled(fibres_[i])) {
      others[count++] = i;
    }
  }
  const unsigned answer = choose(count + 1);
  if (answer != 0) {
    --preemptions_left_;
    switch_to(others[answer - 1]);
  }
}

inline void explorer::progress() {
  if (some_yielded_) {
    some_yielded_ = false;
    for (unsigned i = 0; i != count_; ++i) {
      if (i != self_ && fibres_[i].now == state::yielded) {
        fibres_[i].now = state::runnable;
      }
    }
  }
}

// The thread that runs next when the running one cannot: any that can; count_ if none. Threads that
// wait in a loop come last, but they come: what they wait for may be there by now.
inline unsigned explorer::pick_successor() {
  unsigned able[max_threads];
  unsigned count = 0;
  for (int round = 0; round != 2 && count == 0; ++round) {
    for (unsigned i = 0; i != count_; ++i) {
      if (enabled(fibres_[i])) {
        able[count++] = i;
      }
    }
    if (count == 0) {
      progress();
    }
  }
  return count == 0 ? count_ : able[choose(count)];
}

inline bool explorer::wait(bool (*ready)(const void*), const void* argument, bool may_rest) {
  fibre& f = fibres_[self_];
  for (;;) {
    if (ready(argument)) {
      return true;
    }
    if (resting_) {
      return false;
    }
    f.now = state::waiting;
    f.may_rest = may_rest;
    f.ready = ready;
    f.argument = argument;
    switch_to(pick_successor());
    f.now = state::runnable;
  }
}

inline void explorer::yield() {
  if (!inside()) {
    return;
  }
  if (++steps_ > bounds_.max_steps) {
    fail("an execution does not end");
  }
  const unsigned self = self_;
  fibres_[self].now = state::yielded;
  some_yielded_ = true;
  const unsigned next = pick_successor();
  some_yielded_ = true;
  if (next != count_) {  // else no other thread can go on: look again
    switch_to(next);
  }
  fibres_[self].now = state::runnable;
}

inline void explorer::fail(const char* finding) {
  if (finding_.empty()) {
    finding_ = finding;
    if (tracing_) {
      trace(finding_);
    }
  }
  if (inside()) {
    switch_to(count_);
  }
}

// ---- executions ----

inline void explorer::begin(bool tracing) {
  for (unsigned i = 0; i != count_; ++i) {
    if (fibres_[i].now != state::done) {  // left where it was by a finding
      thrum::base::context_destroy(fibres_[i].context);
      prepare(fibres_[i]);
    }
  }
  self_ = count_;
  steps_ = 0;
  depth_ = 0;
  preemptions_left_ = bounds_.preemptions;
  stale_left_ = bounds_.stale_reads;
  resting_ = false;
  some_yielded_ = false;
  tracing_ = tracing;
  finding_.clear();
  trace_.clear();
}

inline bool explorer::run(void* model) {
  model_ = model;
  for (unsigned i = 0; i != count_; ++i) {
    fibres_[i].now = state::runnable;
  }
  thrum::base::context_adopt(outside_context_);
  switch_out(outside_sp_, outside_context_, pick_successor());
  bool rests = false;
  bool stuck = false;
  for (unsigned i = 0; i != count_; ++i) {
    rests = rests || fibres_[i].now != state::done;
    stuck = stuck || (fibres_[i].now != state::done && !fibres_[i].may_rest);
  }
  if (stuck && !failed()) {
    fail("deadlock");
  }
  return rests;
}

inline void explorer::finish_resting() {
  resting_ = true;
  preemptions_left_ = 0;
  for (unsigned i = 0; i != count_ && !failed(); ++i) {
    if (fibres_[i].now != state::done) {
      switch_out(outside_sp_, outside_context_, i);
    }
  }
}

inline void explorer::prepare(fibre& f) {
  auto* const bottom = reinterpret_cast<char*>(f.stack.get());
  f.now = state::done;
  thrum::base::context_create(f.context, bottom, fibre::stack_size);
  f.sp =
      thrum::arch::prepare_stack(bottom + fibre::stack_size, {bottom, bottom}, &explorer::main, &f);
}

// A fibre is used for all executions: its thread ends in the switch at the bottom of the loop.
inline void explorer::main(void*, void* argument) {
  auto& f = *static_cast<fibre*>(argument);
  thrum::base::after_switch(f.context);
  for (;;) {
    f.owner->run_(f.owner->model_, f.index);
    f.now = state::done;
    f.owner->switch_to(f.owner->resting_ ? f.owner->count_ : f.owner->pick_successor());
  }
}

inline void explorer::switch_to(unsigned index) {
  fibre& from = fibres_[self_];
  switch_out(from.sp, from.context, index);
}

// Leaves the running stack, of which `from` and `save` tell, for thread `index` or, if that is
// count_, for the caller of run(). Returns when another stack switches back.
inline void explorer::switch_out(void*& save, thrum::base::stack_context& from, unsigned index) {
  const bool outside = index == count_;
  self_ = index;
  thrum::base::stack_context& to = outside ? outside_context_ : fibres_[index].context;
  void* const load = outside ? outside_sp_ : fibres_[index].sp;
  thrum::base::before_switch(from, to, false);
  thrum::arch::switch_stack(&save, load, nullptr);
  thrum::base::after_switch(from);
}

}  // namespace model

#endif
