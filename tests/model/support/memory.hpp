// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The memory of a modelled machine: what each thread may read, and what is a race. Models reach it
// through objects.hpp.
//
// Purpose
//   The interleavings alone would find the faults of a machine whose memory is sequentially
//   consistent. No machine has such a memory, and C++ promises less than any machine.
//
// What a thread knows
//   Each atomic keeps all values that were stored to it, oldest first. `knowledge` is, for each
//   atomic, the oldest value that the thread may still read, and, for each other thread, the last
//   of its steps that happened before. An acquire that reads a release's value joins the knowledge
//   that the releasing thread had; fences, mutexes and notes join likewise. A data race is
//   an access to a cell by a thread that does not know of the last access by another thread.
//
// The three machines
//   sequential  a load reads the newest value. Finds data races, and what interleaving does.
//   weak        C++: a load reads any value that its thread may still read; each that is not the
//               newest is a decision and costs one of `stale_reads`. A sequentially consistent
//               fence exchanges knowledge with one common store, so that of two of them the later
//               knows what the earlier knew. A sequentially consistent access does so for its own
//               atomic alone; two such accesses are not a fence. Finds a missing release, acquire
//               or fence.
//   tso         x86: a plain store waits in its thread's buffer, where only that thread sees it,
//               until a locked instruction, a fence or anything that blocks; or until another
//               thread reads it, which is a decision. Finds a missing fence between a store and a
//               load with fewer executions than `weak`, and what it finds does happen.
//
// What it cannot find
//   A load that takes effect after a later store of its thread (load buffering), and two stores to
//   one atomic that settle in another order than they were executed in. For the first there is a
//   substitute: checked_atomic takes it as an error if a value is overwritten that another thread
//   has read and then relied upon, by a successful read-modify-write, without the writer knowing of
//   that read. It is what a slot of a ring needs.
//
// Sources: the view-based formulation of C++'s memory model (Kang and others, 2017; Dang and
// others, 2020), as in loom and Relacy; Sewell and others, 2010, for x86.

#ifndef THRUM_TESTS_MODEL_MEMORY_HPP
#define THRUM_TESTS_MODEL_MEMORY_HPP

#include "explorer.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace model {

inline constexpr unsigned max_locations = 32;

struct knowledge {
  std::array<std::uint16_t, max_locations> seen{};     // the oldest value that may be read
  std::array<std::uint16_t, max_threads + 2> clock{};  // the last step known of each thread

  void join(const knowledge& other) {
    for (std::size_t i = 0; i != seen.size(); ++i) {
      seen[i] = seen[i] < other.seen[i] ? other.seen[i] : seen[i];
    }
    for (std::size_t i = 0; i != clock.size(); ++i) {
      clock[i] = clock[i] < other.clock[i] ? other.clock[i] : clock[i];
    }
  }
};

/// What the threads of one execution know, and what the atomics hold.
class memory {
 public:
  using order = std::memory_order;

  explicit memory(explorer& owner) : explorer_(owner), kind_(owner.bounds().machine) {
    active_ = this;
  }
  ~memory() { active_ = nullptr; }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  static memory& active() { return *active_; }

  void begin();          // an execution: the model is about to be constructed
  void start_threads();  // it is; the threads know everything
  void join_threads();   // they are done, or rest; the checks at the end know everything

  unsigned add_location(std::uint64_t value, bool checked);
  void name_locations(const char* name) { name_ = {name, used_}; }

  std::uint64_t load(unsigned location, order how);
  /// The value of a location that the running thread has written last, or whose lock it holds: no
  /// step, as no other thread can change it meanwhile.
  std::uint64_t own(unsigned location) const;
  void store(unsigned location, std::uint64_t value, order how);

  /// One read-modify-write: change(old, new) returns whether there is a new value.
  template <class Change>
  std::uint64_t update(unsigned location, order success, order failure, const char* what,
                       Change change);

  void fence(order how);
  void light_fence() {}  // a compiler's fence: the model does not reorder what one thread does
  void heavy_fence();    // as if every thread passed a sequentially consistent fence

  // A read or write of a plain cell.
  struct access {
    std::uint16_t write_clock = 0;
    std::uint16_t writer = 0;
    std::array<std::uint16_t, max_threads + 2> read_clock{};
  };
  void read_plain(access& last);
  void write_plain(access& last);

  // What a mutex or a note carries from one thread to another.
  void acquire_from(const knowledge& source);
  void release_to(knowledge& target, bool keep);

 private:
  struct stored {
    std::uint64_t value;
    knowledge sync;  // what an acquire joins
    std::uint16_t writer = 0;
    std::uint16_t stamp = 0;  // a thread that knows this step of the writer knows all of sync
  };
  struct location {
    std::vector<stored> values;
    const char* name = nullptr;
    unsigned index = 0;
    bool checked = false;  // while true, reads are followed up: see checked_atomic
    std::array<std::uint16_t, max_threads + 2> relied_on{};
  };
  struct pending_read {
    unsigned location;
    std::uint16_t clock;
    bool overwritten;
  };
  struct buffered {
    unsigned location;
    stored what;
  };
  struct thread {
    knowledge known;
    knowledge at_release_fence;
    knowledge for_acquire_fence;
    std::vector<pending_read> reads;
    std::vector<buffered> buffer;
  };

  thread& self() { return threads_[explorer_.self()]; }
  std::uint16_t tick() { return ++self().known.clock[explorer_.self()]; }
  stored by_self(std::uint64_t value, order how) {
    thread& t = self();
    const unsigned writer = explorer_.self();
    return {value, releases(how) ? t.known : t.at_release_fence, static_cast<std::uint16_t>(writer),
            t.known.clock[writer]};
  }
  void join_from(const stored& what, order how) {
    thread& t = self();
    if (t.known.clock[what.writer] < what.stamp) {
      (acquires(how) ? t.known : t.for_acquire_fence).join(what.sync);
    }
  }
  static bool acquires(order how) {
    return how == order::acquire || how == order::acq_rel || how == order::seq_cst;
  }
  static bool releases(order how) {
    return how == order::release || how == order::acq_rel || how == order::seq_cst;
  }
  static std::uint16_t last(const location& l) {
    return static_cast<std::uint16_t>(l.values.size() - 1);
  }

  void append(unsigned location, const stored& what);
  void drain_one(thread& t);
  void drain(thread& t);
  void settle(unsigned location);
  void note_read(unsigned location);
  void note_overwrite(unsigned location);
  void note_rely(bool success);
  void trace(unsigned location, const std::string& step);

  static inline memory* active_ = nullptr;

  explorer& explorer_;
  const machine kind_;
  std::array<location, max_locations> locations_;
  unsigned used_ = 0;
  struct {
    const char* text;
    unsigned first;
  } name_{nullptr, 0};
  std::array<thread, max_threads + 1> threads_;
  knowledge sequential_;
};

// ---- accesses ----

inline std::uint64_t memory::load(unsigned l, order how) {
  explorer_.point();
  thread& t = self();
  tick();
  location& at = locations_[l];
  if (how != order::relaxed) {
    at.checked = false;
  }
  if (kind_ == machine::tso) {
    for (std::size_t i = t.buffer.size(); i-- != 0;) {
      if (t.buffer[i].location == l) {
        trace(l, "reads its own " + std::to_string(t.buffer[i].what.value));
        return t.buffer[i].what.value;
      }
    }
    settle(l);
  }
  std::uint16_t index = last(at);
  if (kind_ == machine::weak && explorer_.inside()) {
    std::uint16_t oldest = t.known.seen[l];
    if (how == order::seq_cst && oldest < sequential_.seen[l]) {
      oldest = sequential_.seen[l];
    }
    index = static_cast<std::uint16_t>(index - explorer_.choose_stale(1u + index - oldest));
  }
  const stored& what = at.values[index];
  t.known.seen[l] = index;
  join_from(what, how);
  if (at.checked) {
    note_read(l);
  }
  if (explorer_.tracing()) {
    trace(l, "reads " + std::to_string(what.value) + (index == last(at) ? "" : " (old)"));
  }
  return what.value;
}

inline std::uint64_t memory::own(unsigned l) const {
  const thread& t = threads_[explorer_.self()];
  for (std::size_t i = t.buffer.size(); i-- != 0;) {
    if (t.buffer[i].location == l) {
      return t.buffer[i].what.value;
    }
  }
  return locations_[l].values.back().value;
}

inline void memory::store(unsigned l, std::uint64_t value, order how) {
  explorer_.point();
  explorer_.progress();
  thread& t = self();
  tick();
  locations_[l].checked = locations_[l].checked && how == order::relaxed;
  if (locations_[l].checked) {
    note_overwrite(l);
  }
  const stored what = by_self(value, how);
  if (explorer_.tracing()) {
    trace(l, "writes " + std::to_string(value));
  }
  if (kind_ == machine::tso && explorer_.inside()) {
    t.buffer.push_back({l, what});
    if (how == order::seq_cst) {
      drain(t);
    }
    return;
  }
  append(l, what);
  t.known.seen[l] = last(locations_[l]);
  if (how == order::seq_cst) {
    sequential_.seen[l] = last(locations_[l]);
  }
}

template <class Change>
std::uint64_t memory::update(unsigned l, order success, order failure, const char* what,
                             Change change) {
  explorer_.point();
  thread& t = self();
  tick();
  location& at = locations_[l];
  at.checked = false;
  if (kind_ == machine::tso) {
    drain(t);
    settle(l);
  }
  const std::uint64_t old = at.values.back().value;
  std::uint64_t value = old;
  const bool changed = change(old, value);
  const order how = changed ? success : failure;
  t.known.seen[l] = last(at);
  join_from(at.values.back(), how);
  if (changed) {
    explorer_.progress();
    stored next = by_self(value, how);
    if (!(acquires(how) && releases(how))) {
      // A release sequence goes on through read-modify-writes.
      next.sync.join(at.values.back().sync);
      next.stamp = std::numeric_limits<std::uint16_t>::max();
    }
    append(l, next);
    t.known.seen[l] = last(at);
    if (how == order::seq_cst) {
      sequential_.seen[l] = last(at);
    }
  }
  if (explorer_.tracing()) {
    trace(l, std::string(what) + " " + std::to_string(old) + " -> " +
                 (changed ? std::to_string(value) : std::string("(fails)")));
  }
  note_rely(changed);
  return old;
}

inline void memory::fence(order how) {
  explorer_.point();
  thread& t = self();
  tick();
  if (acquires(how)) {
    t.known.join(t.for_acquire_fence);
  }
  if (how == order::seq_cst) {
    drain(t);
    t.known.join(sequential_);
    sequential_.join(t.known);
  }
  if (releases(how)) {
    t.at_release_fence = t.known;
  }
  if (explorer_.tracing()) {
    explorer_.trace("fence");
  }
}

inline void memory::heavy_fence() {
  explorer_.point();
  tick();
  for (unsigned i = 0; i != explorer_.threads(); ++i) {
    drain(threads_[i]);
    threads_[i].known.join(threads_[i].for_acquire_fence);
    sequential_.join(threads_[i].known);
  }
  for (unsigned i = 0; i != explorer_.threads(); ++i) {
    threads_[i].known.join(sequential_);
    threads_[i].at_release_fence = threads_[i].known;
  }
  if (explorer_.tracing()) {
    explorer_.trace("heavy fence");
  }
}

// ---- store buffers ----

inline void memory::append(unsigned l, const stored& what) { locations_[l].values.push_back(what); }

inline void memory::drain_one(thread& t) {
  const buffered first = t.buffer.front();
  t.buffer.erase(t.buffer.begin());
  append(first.location, first.what);
}

inline void memory::drain(thread& t) {
  while (!t.buffer.empty()) {
    drain_one(t);
  }
}

// Decides how much of the others' buffered stores to `l` has reached the memory by now. A store
// that no thread looks at may as well wait.
inline void memory::settle(unsigned l) {
  for (;;) {
    unsigned holders[max_threads];
    unsigned count = 0;
    for (unsigned i = 0; i != explorer_.threads(); ++i) {
      for (const buffered& b : threads_[i].buffer) {
        if (i != explorer_.self() && b.location == l) {
          holders[count++] = i;
          break;
        }
      }
    }
    if (count == 0) {
      return;
    }
    // The first answers drain one of the holders; the last leaves everything where it is.
    const unsigned answer = explorer_.inside() ? explorer_.choose_stale(count + 1) : 0;
    if (answer == count) {
      return;
    }
    thread& holder = threads_[holders[answer]];
    bool reached = false;
    while (!reached) {
      reached = holder.buffer.front().location == l;
      drain_one(holder);
    }
  }
}

// ---- plain cells ----

inline void memory::read_plain(access& last_access) {
  if (!explorer_.inside() && explorer_.failed()) {
    return;
  }
  const std::uint16_t now = tick();
  const knowledge& known = self().known;
  last_access.read_clock[explorer_.self()] = now;
  if (known.clock[last_access.writer] < last_access.write_clock) {
    explorer_.fail("data race: a read and a write");
  }
}

inline void memory::write_plain(access& last_access) {
  if (!explorer_.inside() && explorer_.failed()) {
    return;
  }
  const std::uint16_t now = tick();
  const knowledge& known = self().known;
  if (known.clock[last_access.writer] < last_access.write_clock) {
    explorer_.fail("data race: two writes");
  }
  for (std::size_t i = 0; i != last_access.read_clock.size(); ++i) {
    if (i != explorer_.self() && known.clock[i] < last_access.read_clock[i]) {
      explorer_.fail("data race: a write and a read");
    }
  }
  last_access.write_clock = now;
  last_access.writer = static_cast<std::uint16_t>(explorer_.self());
  last_access.read_clock = {};
}

// ---- checked atomics ----

inline void memory::note_read(unsigned l) {
  thread& t = self();
  t.reads.push_back({l, t.known.clock[explorer_.self()], false});
}

inline void memory::note_overwrite(unsigned l) {
  location& at = locations_[l];
  const knowledge& known = self().known;
  for (unsigned i = 0; i != explorer_.threads(); ++i) {
    if (i == explorer_.self()) {
      continue;
    }
    if (known.clock[i] < at.relied_on[i]) {
      explorer_.fail("a value was overwritten that another thread may still be reading");
    }
    for (pending_read& read : threads_[i].reads) {
      read.overwritten = read.overwritten || (read.location == l && known.clock[i] < read.clock);
    }
  }
}

inline void memory::note_rely(bool success) {
  thread& t = self();
  if (success) {
    for (const pending_read& read : t.reads) {
      location& at = locations_[read.location];
      if (!at.checked) {
        continue;
      }
      if (read.overwritten) {
        explorer_.fail("a value was relied on that had been overwritten");
      }
      at.relied_on[explorer_.self()] = read.clock;
    }
  }
  t.reads.clear();
}

// ---- mutexes and notes ----

inline void memory::acquire_from(const knowledge& source) {
  drain(self());
  tick();
  self().known.join(source);
}

inline void memory::release_to(knowledge& target, bool keep) {
  drain(self());
  tick();
  if (keep) {
    target.join(self().known);
  } else {
    target = self().known;
  }
}

// ---- executions ----

inline void memory::begin() {
  used_ = 0;
  name_ = {nullptr, 0};
  sequential_ = {};
  for (thread& t : threads_) {
    t.known = {};
    t.at_release_fence = {};
    t.for_acquire_fence = {};
    t.reads.clear();
    t.buffer.clear();
  }
}

inline void memory::start_threads() {
  for (unsigned i = 0; i != explorer_.threads(); ++i) {
    threads_[i].known = self().known;
  }
}

inline void memory::join_threads() {
  for (unsigned i = 0; i != explorer_.threads(); ++i) {
    drain(threads_[i]);
    self().known.join(threads_[i].known);
  }
}

inline unsigned memory::add_location(std::uint64_t value, bool checked) {
  if (used_ == max_locations) {
    std::fputs("model: too many atomics; raise max_locations\n", stderr);
    std::abort();
  }
  location& at = locations_[used_];
  at.values.clear();
  at.values.push_back({value, {}, 0, 0});
  at.name = name_.text;
  at.index = used_ - name_.first;
  at.checked = checked;
  at.relied_on = {};
  return used_++;
}

inline void memory::trace(unsigned l, const std::string& step) {
  if (explorer_.tracing()) {
    const location& at = locations_[l];
    explorer_.trace((at.name != nullptr ? at.name : "atomic") + ("." + std::to_string(at.index)) +
                    " " + step);
  }
}

}  // namespace model

#endif
