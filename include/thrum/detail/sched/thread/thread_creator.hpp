// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The thread that makes threads, ends those that are too many (thread_creator_work.hpp), and does whatever
// else may have to wait for a lock of the C library.
//
// Making a thread takes locks of the C library and of its loader, and a goroutine that lost its P may
// hold them. So neither an M inside the scheduler nor the monitor makes a thread: they leave the M
// here and continue. (Go has a template thread, for a cleaner reason: what a new thread inherits.)
//
// No M may wait for this thread while a goroutine that lost its P could use the P meant for the new
// thread: start_m prefers such a goroutine's thread to a new one. While a P is on its way to a new
// thread (`creating`), no goroutine that runs without a P is stopped.
//
// When the system refuses a thread (Go gives up the process then) the runtime goes on with those it
// has. The P that was meant for the thread is held: its goroutines are in the global queue, its
// timers are run by thieves, and here every 20 ms. It goes to an M that sleeps, or is the next to,
// to the thread of a goroutine that is bound to it, or to a thread that can be made later. Where
// options::max_threads allows no more, a P is held in the same way. A runtime without any thread asks for a
// while, and then ends the program: its goroutines would wait for ever in silence.
#ifndef THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_HPP
#define THRUM_DETAIL_SCHED_THREAD_THREAD_CREATOR_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

using namespace base::orders;

/// Used by the creator's thread only.
class reclaimer {
 public:
  static constexpr std::int64_t never = INT64_MAX;

  explicit reclaimer(runtime_scheduler& scheduler) noexcept : scheduler_(scheduler) {}

  /// When work() has something to do, unless something becomes idle before (GB1).
  std::int64_t next() const noexcept {
    const std::int64_t first = stacks_at_ < threads_at_ ? stacks_at_ : threads_at_;
    return joins_at_ < first ? joins_at_ : first;
  }

  /// The M's thread ends: when it has, the M is vacant.
  void join_later(machine& m) noexcept;

  /// Does a little of what is to be done now.
  void work(std::int64_t now) noexcept {
    work_on_stacks(now);
    work_on_threads(now);
    join_ended(now);
  }

 private:
  void work_on_stacks(std::int64_t now) noexcept;
  void collect_from_idle_ps() noexcept;
  void discard(const base::intrusive_queue<goroutine>& stacks) noexcept;
  void work_on_threads(std::int64_t now) noexcept;
  void join_ended(std::int64_t now) noexcept;

  /// Stacks and threads at a time: about a millisecond's work.
  static constexpr std::size_t stacks_at_once = 64;
  static constexpr std::uint32_t threads_at_once = 16;
  static constexpr std::int64_t pause_ns = 5'000'000;

  runtime_scheduler& scheduler_;
  std::int64_t stacks_at_ = never;
  std::int64_t next_age_ = never;
  std::int64_t threads_at_ = never;
  std::int64_t joins_at_ = never;
  std::int64_t join_pause_ns_ = pause_ns;
  machine* ending_ = nullptr;  // told to end, their threads may still be there
};

/// Something that cannot be started where it became due.
struct late_start {
  void (*start)(late_start&) noexcept;
  late_start* next = nullptr;
};

class thread_creator {
 public:
  using m_main_function = void* (*)(void*);
  /// Makes an M that is to wait in the idle list, or returns null.
  using spare_function = machine* (*)(runtime_scheduler&) noexcept;

  thread_creator(runtime_scheduler& scheduler, m_main_function m_main,
                 spare_function make_spare) noexcept
      : scheduler_(scheduler), m_main_(m_main), make_spare_(make_spare), give_back_(scheduler) {}

  /// Starts the thread; 0 or an error below zero.
  int open() noexcept { return -os::thread::start(thread_, &main, this); }

  /// Starts what was asked for, then ends the thread. Nothing is asked for any more.
  void close() noexcept {
    if (thread_.joinable()) {
      closing_.store(true, release);  // [cr.list >] release: what was asked for before
      note_.wake();
      thread_.join();
    }
  }

  /// Makes the creator start the M's thread, or join it as it ends. From anywhere, also from a signal
  /// handler.
  void request(machine& m) noexcept {
    machine* first = first_.load(relaxed);
    do {
      m.idle_next = first;
      // [cr.list >] release: the M, to the creator
    } while (!first_.compare_exchange_weak(first, &m, release, relaxed));
    note_.wake();
  }

  /// Makes the creator dump all goroutines. From anywhere, also from a signal handler.
  void request_dump() noexcept {
    dump_wanted_.store(true, relaxed);  // relaxed: published by the note
    note_.wake();
  }

  /// In a real-time class, where it is less than the creator's; see real_time.hpp. Before open().
  void priority_of_ms(int priority) noexcept { priority_of_ms_ = priority; }

  /// For a thread that has started, before it runs goroutines: until then it has the creator's
  /// priority, which it has inherited. A loop that is to be stopped waits for a thread that can
  /// take its P, and may keep the CPU that this thread needs to start.
  void lower_own_priority() const noexcept {
    if (priority_of_ms_ != 0) {
      os::set_real_time_priority(priority_of_ms_);
    }
  }

  /// An M sleeps, or is about to, that could have a P which waits for a thread; or something has
  /// become idle. Called under a lock.
  void offer_idle() noexcept { note_.wake(); }

  /// A goroutine is to run what others have forked and there is no stack for it but from a hook, which may
  /// not be called inside.
  void request_stack(std::uint8_t size_class) noexcept {
    // relaxed: published by the note
    if (stack_wanted_.exchange(size_class, relaxed) != size_class) {
      note_.wake();
    }
  }

  /// Calls start(), later. It is asked for again only after that has begun. From anywhere.
  void request_start(late_start& what) noexcept {
    late_starts_.fetch_add(1, relaxed);  // relaxed: published as the M goes to sleep that has asked
    late_start* first = first_late_.load(relaxed);
    do {
      what.next = first;
      // [cr.list >] release: the object, to the creator
    } while (!first_late_.compare_exchange_weak(first, &what, release, relaxed));
    note_.wake();
  }
  /// Whether something will be made runnable by that.
  bool has_late_starts() const noexcept {
    return late_starts_.load(acquire) != 0;  // [cr.late <] acquire: what has been made runnable
  }

  /// Asks for one thread more than needed.
  void request_spare() noexcept {
    // relaxed: one of several wakes the creator, and the note publishes it
    if (!spare_wanted_.exchange(true, relaxed)) {
      note_.wake();
    }
  }

 private:
  static void* main(void* self) noexcept {
    static_cast<thread_creator*>(self)->run();
    return nullptr;
  }

  void run() noexcept;

  /// Sleeps until there is something to do; does what is to be done at its time.
  void wait() noexcept;

  void start(machine& m) noexcept;

  void make_stack(std::uint8_t size_class) noexcept;

  void start_late() noexcept;

  int priority_of_ms_ = 0;  // 0: not in a real-time class
  static constexpr std::int64_t retry_ns = 20'000'000;
  /// Refusals in a row to a runtime that has no thread for goroutines: after about two seconds.
  static constexpr std::uint32_t most_refusals = 100;
  static constexpr std::int64_t never = INT64_MAX;

  runtime_scheduler& scheduler_;
  const m_main_function m_main_;
  const spare_function make_spare_;
  atomic<machine*> first_{nullptr};
  atomic<late_start*> first_late_{nullptr};
  atomic<std::uint32_t> late_starts_{0};
  atomic<bool> spare_wanted_{false};
  atomic<std::uint8_t> stack_wanted_{0};  // of which class; 0: none
  atomic<bool> dump_wanted_{false};
  atomic<bool> closing_{false};
  reclaimer give_back_;
  std::int64_t retry_at_ = never;
  std::int64_t check_at_ = never;
  std::uint32_t refusals_ = 0;  // in a row, while there was no thread
  bool has_warned_ = false;
  os::note note_;
  os::thread thread_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
