// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Hosts: threads that the library does not own and that run its goroutines for as long as they
// like, from a main loop of theirs (runtime::poll and its like; how they search is in
// host/host_loop.hpp).
//
// A host brings an M and a P of its own, made when its thread attaches first. This P is one more
// than procs(). From an idle list a host would get no P just when every processor computes; then the
// goroutines that may run nowhere else would wait for a slice. Only the host's thread ever holds that
// P, so the P needs no retaking, and the thread gets no signal. If the P is stuck, thieves and the
// monitor take from it whatever may run elsewhere.
//
//   away      its thread does something else. The P is in no list, and empty: goroutines and timers
//             that were left on it went to the others
//   busy      its thread holds the P: searches, or runs a goroutine
//   waiting   its thread sleeps, without the P, until there is work or what it waits for comes
//
// One of the hosts is the first: slot 0, the thread that attached first. Goroutines may be bound to
// it before there is a thread at all. When that thread ends, the slot is free for the next that
// attaches.
//
// Invariants
//   HO1  the P of a host that is away or waits has an empty queue and no timer.
//   HO2  `busy` counts the hosts that are busy; it changes under the scheduler's lock.
//   HO3  a goroutine that is bound to a host stands in that host's inbox and in no other queue, but
//        for the moment in which an M that has found it elsewhere carries it there.
//   HO4  a note in which a host sleeps is nudged only under a lock under which the host takes the
//        note back: the inbox's, or the scheduler's. So it may lie on the host's stack.
//   HO5  if there is a bell, and goroutines are in an inbox that is not closed, then the host sleeps in
//        its note, or is in a call that looks into the inbox before it ends, or the bell has been rung
//        since its last call began.
//
// Tells the main loop of a host that there is something for its thread to do (options::on_host_work),
// for loops that would otherwise have to ask at a period.
//
// The bell calls a function of the user's, which takes the locks of a toolkit and allocates. A waker
// must not call it: it may be inside a section and so keep a processor. A goroutine that was
// interrupted while it held that very lock may wait for this processor. So the bell has a thread
// without a P, which does nothing else. The thread is made only if such a function was given.
//
//   ring   a waker that puts a goroutine into the inbox (host_inbox) of a host that was not rung for
//          yet, under the lock of the inbox; wakes the thread and never waits
//   call   the thread: takes the wake-up back first, so that a ring during the call is one more
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/core/memory_source.hpp>
#include <thrum/detail/sched/core/p.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

class host_bell {
 public:
  using callback = void (*)(void* user);

  host_bell(callback call, void* user) noexcept : call_(call), user_(user) {}
  /// Waits for a call that is under way. No waker rings any more.
  ~host_bell() {
    if (has_started_) {
      ends_.set(true);
      note_.wake();
      thread_.join();
    }
  }
  host_bell(const host_bell&) = delete;
  host_bell& operator=(const host_bell&) = delete;

  /// 0, or the error of the system.
  [[nodiscard]] int start() noexcept {
    const int error = os::thread::start(thread_, &host_bell::main, this);
    has_started_ = error == 0;
    return error;
  }

  /// Rings that come before a call begins are one. Any thread.
  void ring() noexcept { note_.wake(); }

 private:
  static void* main(void* own) noexcept {
    os::set_thread_name("thrum/bell");
    auto& bell = *static_cast<host_bell*>(own);
    for (;;) {
      bell.note_.sleep();
      bell.note_.clear_while_woken();
      if (bell.ends_.get()) {
        return nullptr;
      }
      bell.call_(bell.user_);
    }
  }

  const callback call_;
  void* const user_;
  os::note note_;
  base::one_writer<bool> ends_{false};
  bool has_started_ = false;
  os::thread thread_;
};

using namespace base::orders;

/// The goroutines that may run on one thread only, in the order in which they became runnable.
class host_inbox {
 public:
  host_inbox() noexcept = default;
  explicit host_inbox(host_bell* bell) noexcept : bell_(bell) {}

  /// False: it was closed, and the goroutine may run anywhere.
  [[nodiscard]] bool push(goroutine& g) noexcept {
    scoped guard(lock_);
    if (closed_) {
      return false;
    }
    queue_.push_back(&g);
    size_.set(queue_.size());
    if (sleeper_ != nullptr) {
      sleeper_->nudge();  // HO4
    } else {
      ring_locked();
    }
    return true;
  }

  /// The host looks into the inbox from now on. What comes later rings once more.
  void begin_call() noexcept {
    if (bell_ != nullptr) {
      scoped guard(lock_);
      has_rung_ = false;
    }
  }
  /// The host looks no more. What is left was there when it looked for the last time, or it had no
  /// time for it.
  void end_call() noexcept {
    if (bell_ != nullptr) {
      scoped guard(lock_);
      if (!queue_.empty()) {
        ring_locked();
      }
    }
  }

  [[nodiscard]] goroutine* pop() noexcept {
    if (size() == 0) {
      return nullptr;
    }
    scoped guard(lock_);
    goroutine* const g = queue_.pop_front();
    size_.set(queue_.size());
    return g;
  }

  /// At about this time.
  std::size_t size() const noexcept { return size_.peek(); }

  /// The host sleeps on that note from now on. False: there is something to run.
  [[nodiscard]] bool begin_sleep(os::note& note) noexcept {
    scoped guard(lock_);
    if (!queue_.empty()) {
      return false;
    }
    sleeper_ = &note;
    return true;
  }
  void end_sleep() noexcept {
    scoped guard(lock_);
    sleeper_ = nullptr;
  }

  /// No thread will ever come by: what is here may run anywhere, and what would come.
  [[nodiscard]] base::intrusive_queue<goroutine> close() noexcept {
    scoped guard(lock_);
    closed_ = true;
    base::intrusive_queue<goroutine> all;
    all.append(static_cast<base::intrusive_queue<goroutine>&&>(queue_));
    size_.set(0);
    return all;
  }

 private:
  /// HO5
  void ring_locked() noexcept {
    if (bell_ != nullptr && !has_rung_) {
      has_rung_ = true;
      bell_->ring();
    }
  }

  host_bell* const bell_ = nullptr;  // of a loop that waits for other things
  spin_lock lock_{lock_rank::inbox};
  base::intrusive_queue<goroutine> queue_;
  os::note* sleeper_ = nullptr;
  bool closed_ = false;
  bool has_rung_ = false;  // since the last call began
  under_lock<std::size_t> size_{0};
};

struct attachments;

struct host_thread {
  host_thread(runtime_scheduler& scheduler, const upcall_table& upcalls, std::uint32_t m_number,
              std::uint32_t p_number, std::uint64_t seed, host_bell* bell) noexcept
      : m(scheduler, upcalls, m_number, seed), p(p_number), inbox(bell) {
    m.as_host = this;
    // For ever: a goroutine that leaves goes to g0, which is
    // where the host decides whether it wants to continue.
    p.attention.set(attention_host);
  }

  machine m;
  processor p;
  host_inbox inbox;

  /// When the thread wants to be back: no slice lasts longer.
  hint<std::int64_t> until{no_deadline};

  // -- under the scheduler's lock --
  os::note* sleeps_on = nullptr;  // null: it does not wait, or a waker has ended the wait
  bool wants_work = false;        // that any M could do, too
  bool is_patient = false;        // it looks again soon, even without a nudge

  // -- its thread only, while it is in a call --
  bool executes = false;  // counted in host_table::executing
  bool rests = false;     // it sleeps in the note of what its thread waits for
  /// While it waits for something else it runs nothing but what is bound to it.
  bool only_bound = false;
  os::exception_state kept_exceptions{};

  // -- under the lock of host_threads --
  under_lock<attachments*> thread{nullptr};  // null: no thread is attached, or it has ended
  host_thread* next_of_thread = nullptr;
  std::uint32_t pins = 0;  // calls that its thread is in
};

/// The hosts of one scheduler. Functions named `_locked` want the caller to hold the scheduler's
/// lock.
class host_table {
 public:
  host_table() noexcept = default;
  host_table(const host_table&) = delete;
  host_table& operator=(const host_table&) = delete;

  /// Frees them all. No thread uses the table any more.
  void clear(memory_source memory) noexcept {
    for (unsigned i = 0; i < made(); ++i) {
      memory.destroy(hosts_[i]);
    }
    made_.store(0, relaxed);  // relaxed: no thread uses the table any more
  }

  unsigned made() const noexcept {
    return made_.load(acquire);  // [ho.made <] sees the host itself
  }
  host_thread& operator[](unsigned i) noexcept { return *hosts_[i]; }

  /// Room is left: made() < traits::max_hosts.
  void add_locked(host_thread& fresh) noexcept {
    const unsigned n = made_.get();
    hosts_[n] = &fresh;
    made_.store(n + 1, release);  // [ho.made >] release: the host, to each walk over all of them
  }

  // ---- busy or not ----

  void begin_locked() noexcept { ++busy_; }
  void end_locked() noexcept { --busy_; }
  /// Whether no host runs or has something to run. What is bound to one without a thread runs only if
  /// another thread of the process comes.
  bool are_quiet_locked() noexcept {
    bool quiet = busy_ == 0;
    for (unsigned i = 0; i < made(); ++i) {
      quiet = quiet && (hosts_[i]->inbox.size() == 0 || hosts_[i]->thread.get() == nullptr);
    }
    return quiet;
  }

  /// Hosts that run goroutines at this moment.
  std::uint32_t executing() const noexcept {
    return executing_.load(
        seq_cst);  // [ho.exec =] by the monitor, after it has said that it sleeps
  }
  void begin_executing() noexcept {
    // [ho.exec =] seq_cst: before the look whether the monitor sleeps
    executing_.fetch_add(1, seq_cst);
  }
  void end_executing() noexcept {
    executing_.fetch_sub(1, seq_cst);  // [ho.exec =] seq_cst: as in begin_executing
  }

  // ---- waiting ----

  void begin_wait_locked(host_thread& h, os::note& note, bool wants_work,
                         bool is_patient) noexcept {
    h.sleeps_on = &note;
    h.wants_work = wants_work;
    h.is_patient = is_patient;
    waiting_ += wants_work ? 1 : 0;
  }
  void end_wait_locked(host_thread& h) noexcept {
    waiting_ -= h.sleeps_on != nullptr && h.wants_work ? 1 : 0;
    h.sleeps_on = nullptr;
  }
  /// Wakes a host that waits for work. It comes back as a searcher: the caller gives it its unit of
  /// idle_set::spinning. False: none waits.
  bool wake_one_locked() noexcept {
    for (unsigned i = 0; waiting_ != 0; ++i) {
      host_thread& h = *hosts_[i];
      os::note* const note = h.sleeps_on;
      if (note != nullptr && h.wants_work) {
        end_wait_locked(h);
        h.m.spinning = true;
        note->nudge();  // HO4
        return true;
      }
    }
    return false;
  }

  /// Called when a request for a search stands for which no host was woken. Hosts that would wait without
  /// limit come back to find it, and are patient from then on.
  void nudge_impatient_locked() noexcept {
    for (unsigned i = 0; i < made(); ++i) {
      host_thread& h = *hosts_[i];
      if (h.sleeps_on != nullptr && h.wants_work && !h.is_patient) {
        h.sleeps_on->nudge();  // HO4
      }
    }
  }

  // ---- the end ----

  bool has_stopped() const noexcept {
    return stopped_.load(acquire);  // [ho.stop <] acquire: the end of all goroutines
  }
  /// Makes each host come back from its call: all goroutines have ended.
  void stop_locked() noexcept {
    stopped_.store(true, release);  // [ho.stop >] release: the end of all goroutines
    for (unsigned i = 0; i < made(); ++i) {
      if (os::note* const note = hosts_[i]->sleeps_on) {
        note->nudge();
      }
    }
  }

 private:
  host_thread* hosts_[traits::max_hosts] = {};
  under_lock<unsigned> made_{0};
  unsigned busy_ = 0;
  unsigned waiting_ = 0;
  atomic<std::uint32_t> executing_{0};
  atomic<bool> stopped_{false};
};

/// How help_while_waiting has ended.
enum class help_end : std::uint8_t {
  none,      // the thread is no host, or not of a runtime that still runs: it waits by itself
  event,     // what it waits for has happened
  timed_out  // the deadline came first
};

/// Which threads of the process are hosts. All shared objects know it: a thread may wait in another one
/// than that which has attached it.
struct host_threads {
  static constexpr std::string_view process_name = "sched::host_threads";
  /// The calling thread's `attachments`; null: it is no host.
  os::thread_key key;
  blocking_lock lock{lock_rank::registry};
  /// Runs goroutines until the note's event has happened. Null: no thread has ever been a host. In
  /// host/host_loop.hpp.
  std::atomic<help_end (*)(os::note&, std::int64_t deadline) noexcept> help{nullptr};
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif  // THRUM_DETAIL_SCHED_HOST_HOST_HPP
