// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What netpoll/io_uring.hpp's own code runs on in io_uring_model.cpp: a small kernel, atomics of the
// model, and a poller of others' descriptors. Each of them is wrong as the mutant is that it is
// compiled for.
//
// The kernel takes requests and puts answers on the thread that calls it, one thread at a time, under
// a lock of its own. It reads and writes the words of the two queues as a thread would. A request
// that it refuses at once ends the call, as the system's does; for answers that do not fit it keeps
// a list, and says so.

#ifndef THRUM_TESTS_MODEL_LINUX_SMALL_KERNEL_HPP
#define THRUM_TESTS_MODEL_LINUX_SMALL_KERNEL_HPP

#include <thrum/detail/netpoll/io_uring.hpp>
#include <thrum/detail/netpoll/netpoll.hpp>

#include "model/support/objects.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace model::ring {

using thrum::netpoll::readable;
using thrum::netpoll::uring::completion;
using thrum::netpoll::uring::submission;

// ---- what a mutant gets wrong ----

enum class mistake {
  nothing,
  // An access is relaxed instead.
  weak_wake,    // wake() on woken_
  weak_take,    // the look of a poll that waits
  weak_clear,   // after the alarm
  weak_lock,    // submitting_
  weak_unlock,  // and its release
  weak_reaping_lock,
  weak_reaping_unlock,
  weak_submission_tail,
  weak_submission_head,
  weak_completion_tail,
  weak_completion_head,
  // An exchange is a load and a store.
  torn_wake,
  torn_take,
  torn_clear,
  torn_lock,
  // Steps.
  no_mark,           // wake() does not set woken_
  no_request,        // nor does it hand a request over
  no_take,           // a poll that waits does not look at woken_
  keeps_woken,       // looks and does not clear it
  clears_unseen,     // clears it and sleeps all the same
  anybody_clears,    // an answer clears it also for a poll that does not wait
  no_sleeps,         // nobody is said to sleep
  sleeps_late,       // it is said after the look at the queue
  sleeps_too_short,  // it is taken back before the sleep
  submits_nothing,   // a poll does not hand over what stands in the queue
  hands_over_once,   // a call that ends early is not repeated
  gives_up,          // nor is one for which there was no memory
  never_full,        // a full queue is not looked for
  anybody_reaps,     // a poll that does not wait does not ask who reaps
  overflow_is_ignored
};

inline constexpr unsigned the_poller = 0;

// ---- the kernel ----

inline constexpr int ready = 6;    // descriptors: an answer at once
inline constexpr int later = 7;    // when somebody says so
inline constexpr int refused = 8;  // a request that the kernel does not take
inline constexpr int the_others = 9;
inline constexpr std::uint64_t the_tag = (std::uint64_t{7} << 32) | 1;

template <mistake Made>
void clear_woken() noexcept;

// The words of the two queues; the ring's accesses to them are wrong as the mutant is.
enum class place { submission_head, submission_tail, flags, completion_head, completion_tail };

template <mistake Made>
class shared_word : public model::basic_atomic<std::uint32_t> {
  using base = model::basic_atomic<std::uint32_t>;
  using order = std::memory_order;

 public:
  explicit shared_word(place which) noexcept : base(0), which_(which) {}

  std::uint32_t load(order how) const noexcept {
    if (which_ == place::flags && Made == mistake::overflow_is_ignored) {
      return 0;
    }
    if (which_ == place::submission_head && Made == mistake::never_full && tail != nullptr) {
      return tail->own();
    }
    return base::load(how == order::acquire &&
                              (is(place::submission_head, mistake::weak_submission_head) ||
                               is(place::completion_tail, mistake::weak_completion_tail))
                          ? order::relaxed
                          : how);
  }
  void store(std::uint32_t value, order how) noexcept {
    if (is(place::completion_head, mistake::anybody_clears) && value != base::own() &&
        model::explorer::active().self() != the_poller) {
      clear_woken<Made>();
    }
    base::store(value, is(place::submission_tail, mistake::weak_submission_tail) ||
                               is(place::completion_head, mistake::weak_completion_head)
                           ? order::relaxed
                           : how);
  }

  // The kernel's own accesses.
  std::uint32_t read() const noexcept { return base::load(order::acquire); }
  void write(std::uint32_t value) noexcept { base::store(value, order::release); }

  static inline const shared_word* tail = nullptr;

 private:
  bool is(place which, mistake made) const { return which_ == which && Made == made; }

  const place which_;
};

template <mistake Made>
struct small_kernel {
  static constexpr std::uint32_t places = 2;  // in either queue
  static constexpr unsigned most_kept = 4;
  using word = shared_word<Made>;

  small_kernel() { word::tail = &submission_tail; }
  ~small_kernel() { word::tail = nullptr; }

  // ---- what the ring sees ----

  word submission_head{place::submission_head};
  word submission_tail{place::submission_tail};
  word flags{place::flags};
  word completion_head{place::completion_head};
  word completion_tail{place::completion_tail};
  model::cell<submission> submissions[places];
  model::cell<completion> completions[places];

  // ---- what only it knows ----

  std::uint32_t taken = 0;
  std::uint32_t told = 0;
  completion kept[most_kept];
  unsigned kept_count = 0;
  model::mutex lock;
  bool rests = false;         // nobody will ever wake the poller
  bool lacks_memory = false;  // for the next request
  bool is_later = false;      // the descriptor has its answer
  bool waits_for_later = false;
  std::uint64_t later_data = 0;
  bool others_are_ready = false;
  unsigned cancelled = 0;

  static bool has_answers(const void* self) {
    const auto& own = *static_cast<const small_kernel*>(self);
    return own.told != own.completion_head.own() || own.kept_count != 0;
  }

  // Under the lock.
  void tell(std::uint64_t data, std::int32_t result) {
    if (kept_count != 0 || !has_room()) {
      require(kept_count != most_kept, "the model keeps no more answers");
      kept[kept_count++] = {data, result, 0};
      flags.write(2);
      return;
    }
    put({data, result, 0});
  }
  bool has_room() { return told - completion_head.read() != places; }
  void put(const completion& what) {
    completions[told % places] = what;
    completion_tail.write(++told);
  }
  void tell_kept() {
    unsigned n = 0;
    while (n != kept_count && has_room()) {
      put(kept[n++]);
    }
    if (n != 0) {
      for (unsigned i = n; i != kept_count; ++i) {
        kept[i - n] = kept[i];
      }
      kept_count -= n;
      if (kept_count == 0) {
        flags.write(0);
      }
    }
  }
  std::uint32_t take(std::uint32_t most) {
    const std::uint32_t there = submission_tail.read() - taken;
    const std::uint32_t count = there < most ? there : most;
    std::uint32_t n = 0;
    for (bool goes_on = true; n != count && goes_on; ++n) {
      goes_on = begin(submissions[taken % places]);
      ++taken;
    }
    if (n != 0) {
      submission_head.write(taken);
    }
    return n;
  }
  bool begin(const submission& what) {
    using namespace thrum::netpoll::uring;
    if (what.fd == refused) {
      tell(what.user_data, -EFAULT);
      return false;
    }
    if (what.opcode == op_async_cancel) {
      ++cancelled;
    }
    if (what.fd == later && !is_later) {
      require(!waits_for_later, "the model answers one later");
      waits_for_later = true;
      later_data = what.user_data;
    } else if (what.fd != the_others || others_are_ready) {
      tell(what.user_data, 1);
    }
    return true;
  }
  // What somebody waits for comes true, at the hands of nobody who knows the ring.
  void come_true() {
    lock.lock();
    is_later = true;
    if (waits_for_later) {
      waits_for_later = false;
      tell(later_data, 1);
    }
    lock.unlock();
  }
};

// ---- the atomics ----

// A ring's, in its order, and all others.
enum class word { submitting, reaping, woken, watches_others, none };
inline unsigned constructed = 0;

// An atomic that knows in which step it is accessed, and is wrong as the mutant is.
template <class T, mistake Made>
class protocol_atomic : public model::basic_atomic<T> {
  using base = model::basic_atomic<T>;
  using order = std::memory_order;
  using text = std::string_view;

 public:
  protocol_atomic(T value) noexcept  // not explicit: as std::atomic
      : base(value),
        which_(std::is_same_v<T, bool> ? static_cast<word>(constructed++) : word::none) {
    if (which_ == word::woken) {
      woken = this;
    }
  }

  void store(T value, order how) noexcept {
    if ((which_ == word::submitting && Made == mistake::weak_unlock) ||
        (which_ == word::reaping && Made == mistake::weak_reaping_unlock)) {
      how = order::relaxed;
    }
    base::store(value, how);
  }

  T exchange(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      if (which_ == word::submitting || which_ == word::reaping) {
        return try_lock(how);
      }
      if (which_ == word::woken) {
        return caller == "wake"   ? mark(how)
               : caller == "poll" ? access(value, how, mistake::weak_take, mistake::torn_take,
                                           mistake::no_take, mistake::keeps_woken)
                                  : access(value, how, mistake::weak_clear, mistake::torn_clear);
      }
    }
    return base::exchange(value, how);
  }

  // For those mutants that clear it elsewhere.
  static inline protocol_atomic* woken = nullptr;

 private:
  // One that fails changes nothing: who waits in a loop need not look again.
  T try_lock(order how) {
    if (Made == mistake::anybody_reaps && which_ == word::reaping &&
        model::explorer::active().self() != the_poller) {
      return false;
    }
    if ((which_ == word::submitting && Made == mistake::weak_lock) ||
        (which_ == word::reaping && Made == mistake::weak_reaping_lock)) {
      how = order::relaxed;
    }
    if (Made == mistake::torn_lock) {
      const T old = base::load(how);
      if (!old) {
        base::store(true, order::relaxed);
      }
      return old;
    }
    T is_free = false;
    return !base::compare_exchange_strong(is_free, true, how, order::relaxed);
  }
  T mark(order how) {
    return Made == mistake::no_mark ? T{}
                                    : access(true, how, mistake::weak_wake, mistake::torn_wake);
  }
  T access(T value, order how, mistake weak, mistake torn, mistake none = mistake::nothing,
           mistake only_look = mistake::nothing) {
    if (Made == mistake::nothing) {
      return base::exchange(value, how);
    }
    if (Made == none) {
      return T{};
    }
    if (Made == mistake::clears_unseen && none != mistake::nothing) {
      base::exchange(value, how);
      return T{};
    }
    if (Made == torn) {
      const T old = base::load(how);
      base::store(value, how);
      return old;
    }
    return Made == only_look ? base::load(how)
                             : base::exchange(value, Made == weak ? order::relaxed : how);
  }

  const word which_;
};

template <mistake Made>
void clear_woken() noexcept {
  protocol_atomic<bool, Made>::woken->store(false, std::memory_order_seq_cst);
}

// Whether somebody sleeps: a plain variable under a lock.
template <mistake Made>
class sleeps_flag {
 public:
  sleeps_flag(bool value) : value_(value) {}  // not explicit: as a bool

  sleeps_flag& operator=(bool sleeps) {
    if (sleeps && Made == mistake::no_sleeps) {
      return *this;
    }
    if (sleeps && Made == mistake::sleeps_late) {
      is_to_be_said = true;
      return *this;
    }
    value_ = sleeps;
    return *this;
  }
  operator bool() const {
    return (value_ || is_said) && !is_taken_back;
  }  // not explicit: as a bool

  // The poller is about to sleep, and has slept.
  static void begin_sleep() {
    is_said = is_to_be_said;
    is_taken_back = Made == mistake::sleeps_too_short;
  }
  static void end_sleep() { is_to_be_said = is_said = is_taken_back = false; }

 private:
  model::cell<bool> value_;
  static inline bool is_to_be_said = false;
  static inline bool is_said = false;
  static inline bool is_taken_back = false;
};

// ---- the system ----

template <mistake Made>
inline small_kernel<Made>* kernel = nullptr;

template <mistake Made>
struct small_queues {
  using kernel_type = small_kernel<Made>;

  shared_word<Made>* submission_head = nullptr;
  shared_word<Made>* submission_tail = nullptr;
  shared_word<Made>* submission_flags = nullptr;
  shared_word<Made>* completion_head = nullptr;
  shared_word<Made>* completion_tail = nullptr;
  model::cell<submission>* submissions = nullptr;
  const model::cell<completion>* completions = nullptr;
  std::uint32_t submission_mask = kernel_type::places - 1;
  std::uint32_t completion_mask = kernel_type::places - 1;
  static constexpr std::uint32_t flags_of_more = 2;
  static constexpr bool can_wait_first = false;

  int open(std::uint32_t, std::uint32_t) noexcept {
    kernel_type& own = *kernel<Made>;
    submission_head = &own.submission_head;
    submission_tail = &own.submission_tail;
    submission_flags = &own.flags;
    completion_head = &own.completion_head;
    completion_tail = &own.completion_tail;
    submissions = own.submissions;
    completions = own.completions;
    return 0;
  }
  void close() noexcept {}

  int enter(std::uint32_t to_submit, bool wait, std::int64_t delay_ns,
            std::string_view caller = __builtin_FUNCTION()) const noexcept {
    model::explorer& threads = model::explorer::active();
    kernel_type& own = *kernel<Made>;
    if (Made == mistake::no_request && caller == "hand_over") {
      return -EBUSY;
    }
    if (Made == mistake::submits_nothing && caller == "poll") {
      to_submit = 0;
    }
    own.lock.lock();
    own.tell_kept();
    if (own.lacks_memory && to_submit != 0) {
      own.lacks_memory = false;
      own.lock.unlock();
      return Made == mistake::gives_up ? -EBUSY : thrum::netpoll::uring::no_memory_now;
    }
    const std::uint32_t n = to_submit != 0 ? own.take(to_submit) : 0;
    own.lock.unlock();
    if (Made == mistake::hands_over_once && caller == "hand_over") {
      return -EBUSY;
    }
    if (!wait || n != to_submit) {
      return 0;
    }
    sleeps_flag<Made>::begin_sleep();
    if (threads.bounds().machine == machine::tso) {
      model::memory::active().fence(std::memory_order_seq_cst);
    }
    threads.point();
    const bool times_out = delay_ns > 0 && threads.choose(2) != 0;
    if (!times_out && !threads.wait(&kernel_type::has_answers, &own, true)) {
      own.rests = true;
      return 0;
    }
    own.lock.lock();
    own.tell_kept();
    own.lock.unlock();
    sleeps_flag<Made>::end_sleep();
    return 0;
  }
};

// The poller of others' descriptors: one event, once.
template <mistake Made>
struct small_others {
  int open_descriptors() noexcept { return 0; }
  void close() noexcept {}
  int native_handle() const noexcept { return the_others; }
  std::uint32_t descriptors() const noexcept { return 0; }
  int arm(int, std::uint64_t, std::uint32_t) noexcept { return 0; }
  int arm_first(int, std::uint64_t, std::uint32_t) noexcept { return 0; }
  void poll(std::int64_t, thrum::netpoll::sink& to) noexcept {
    kernel<Made>->others_are_ready = false;
    to.deliver(to, the_tag, readable);
  }
};

template <mistake Made>
struct small_system {
  template <class T>
  using atomic = protocol_atomic<T, Made>;
  template <class T>
  using plain = sleeps_flag<Made>;
  using queues = small_queues<Made>;
  using others = small_others<Made>;

  static void yield() noexcept { model::explorer::active().yield(); }
};

}  // namespace model::ring

#endif
