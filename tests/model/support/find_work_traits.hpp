// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The traits of a build in which the search for work runs in the explorer: atomics, fences, locks
// and a poller of a modelled machine; and the mutants of that search.
//
// Each access to an atomic knows the function that makes it, and is wrong where the mutant says so.
// An access to a figure, on which nothing depends, is no step of the explorer, which has enough to
// try without.

#ifndef THRUM_TESTS_MODEL_FIND_WORK_TRAITS_HPP
#define THRUM_TESTS_MODEL_FIND_WORK_TRAITS_HPP

#include <thrum/detail/netpoll/contract.hpp>

#include "model_traits.hpp"
#include "objects.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace model::finding {

// ---- what a mutant gets wrong ----

enum class mistake {
  nothing,
  no_fence,                // none at all
  no_fence_at_submit,      // wake_processor: S2
  no_fence_at_end,         // end_spinning: I5
  release_acquire,         // what is sequentially consistent merely releases and acquires
  no_order,                // all of these
  looks_not_again,         // I6 left out
  wanted_is_ignored,       // I3 left out
  wanted_while_spinning,   // I3 left out by an M that spins
  wanted_at_hand_off,      // the same when a P is handed on
  no_successor,            // a spinner that has found work wakes nobody
  other_heap_is_not_told,  // announce_timer, of a timer revived in another P's heap
  busy_p_is_not_told,      // announce_timer, when this M does not come to look for work
  sleeper_is_not_woken,    // wake_for_timer
  searcher_is_not_woken,   // the same, when nobody is in the poller
  no_timers_at_look_again,
  no_timers_at_hand_off,
  idle_is_not_offered,       // stop_m, where a P is held back
  refused_is_not_offered,    // take_back, where Ms idle already
  surplus_is_not_searched,   // a P ends to be searched when it is asked to retire
  surplus_p_idles,           // put_idle_locked, of a P that is one too many
  retires_in_silence,        // nobody is woken for what a P leaves that retires
  number_is_not_seen_again,  // retire_p, when it has risen again
  rise_is_not_fenced,        // set_procs, from one P to more
  refused_once_and_for_all,  // a thief leaves the runnext of a P that has ever switched
};

/// The mutant that is being searched.
inline mistake made = mistake::nothing;
inline bool has_timers = false;  // else there are none, and none is asked for
inline bool uses_runnext = false;
inline bool procs_change = false;     // else their number is a constant
inline bool uses_background = false;  // else nobody has that priority
inline bool uses_yields = false;      // else no goroutine yields
inline bool two_search = false;       // else one searcher is enough for a submitter

inline constexpr unsigned most_procs = 4;

/// What one of the model's threads is doing; for the mutants, which leave out one of two steps that
/// look the same from here.
struct thread_state {
  bool holds_lock = false;  // the idle lock
  bool has_turn = false;    // to sleep in the poller
  bool saw_nobody_sleep = false;
};
inline std::array<thread_state, max_threads + 1> states;
/// Atomics of a std::size_t in this execution. The first two are of the global queue, the others of the
/// background queue; the second of each is the size of the part for those that give way, of which there
/// are none here.
inline unsigned sizes_made = 0;
inline thread_state& here() { return states[explorer::active().self()]; }
bool has_p();  // its M
bool spins();  // its M
bool is_on_g0();
inline unsigned procs_wanted = 0;

// ---- which accesses are steps ----

/// Functions whose accesses to whole numbers are no steps: counts for reports, numbers that do not
/// change in these models, and those that only a lock's holder looks at.
inline constexpr std::string_view figures[] = {
    // constants here
    "open", "make", "made",
    // where forks are looked for, which there are none of
    "forking", "set_forking_locked",
    // the number of Ms, which only grows; under the idle lock
    "take_locked", "start_m", "first_goroutine", "wait_for_locked", "is_quiet_locked",
    "put_m_locked", "take_m_locked", "idle_ms", "forget_least_ms_locked",
    // how many searchers are enough: one or two, and either is right
    "allow_locked", "at_a_time",
    // what base/relaxed.hpp's types say
    "get", "set", "peek",
    // for the owner's goodbye, and the monitor, of which there is none
    "enter", "leave", "wake_for", "note_return",
    // under the heap's lock
    "insert", "grow", "erase", "size", "sift_down", "run_due"};

/// The same unless `procs_change`.
inline constexpr std::string_view figures_of_ps[] = {"wanted", "live", "want_locked",
                                                     "set_live_locked"};

inline bool is_figure(const char* caller) {
  // Each place has a text of its own: looked up once.
  struct known {
    const char* caller = nullptr;
    bool is = false;
    bool is_of_ps = false;
  };
  static std::array<known, 1024> cache;
  known& entry = cache[(reinterpret_cast<std::uintptr_t>(caller) >> 1) % cache.size()];
  if (entry.caller != caller) {
    const std::string_view full = caller;
    const std::string_view name = full.substr(0, full.find('<'));  // of a template
    const auto is_in = [&](const auto& all) {
      return std::find(std::begin(all), std::end(all), name) != std::end(all);
    };
    entry = {caller, is_in(figures), is_in(figures_of_ps)};
  }
  return entry.is || (entry.is_of_ps && !procs_change);
}

/// An atomic that has a place in the modelled memory from its first access on that is a step.
template <class T>
class step_atomic {
  using order = std::memory_order;
  using text = const char*;

 public:
  step_atomic() noexcept : step_atomic(T{}) {}
  step_atomic(T value) noexcept : plain_(value) {  // not explicit: as std::atomic
    if constexpr (std::is_same_v<T, std::size_t>) {
      const unsigned number = sizes_made++;
      is_unused_ = number == 1 || number == 3;
      is_of_background_ = number == 2;
    }
  }
  step_atomic(const step_atomic&) = delete;
  step_atomic& operator=(const step_atomic&) = delete;

  T load(order how, text caller = __builtin_FUNCTION()) const noexcept {
    if (is_figure_here(caller)) {
      return seen(plain_, caller);
    }
    // Only the holder of a lock changes it.
    if (how == order::relaxed && (is(caller, "count_ps_locked") || is(caller, "expect_locked"))) {
      return place(caller).own();
    }
    return seen(place(caller).load(weaker(how)), caller);
  }
  void store(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if (is_figure_here(caller)) {
      require((!is_unused_ && !is_of_background_) || value == T{},
              "nobody gives way, or has another priority, in this model");
      plain_ = value;
      return;
    }
    if constexpr (std::is_same_v<T, unsigned>) {
      if (is(caller, "want_locked")) {
        procs_wanted = value;
      }
    }
    const order weak = weaker(how);
    place(caller).store(value, weak == order::acq_rel ? order::release : weak);
    if (is(caller, "end_sleep")) {
      here().has_turn = false;
    }
  }
  T exchange(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if (is_figure_here(caller)) {
      return std::exchange(plain_, value);
    }
    const T old = place(caller).exchange(value, weaker(how));
    if (is(caller, "begin_sleep") && old != T{}) {
      here().has_turn = true;
    }
    return old;
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                               text caller = __builtin_FUNCTION()) noexcept {
    if (is_figure_here(caller)) {
      const bool equal = plain_ == expected;
      (equal ? plain_ : expected) = equal ? desired : plain_;
      return equal;
    }
    return place(caller).compare_exchange_strong(expected, desired, weaker(success), failure);
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                             text caller = __builtin_FUNCTION()) noexcept {
    return compare_exchange_strong(expected, desired, success, failure, caller);
  }
  T fetch_add(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if (is_figure_here(caller)) {
      return std::exchange(plain_, static_cast<T>(plain_ + value));
    }
    return place(caller).fetch_add(value, weaker(how));
  }
  T fetch_sub(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if (is_figure_here(caller)) {
      return std::exchange(plain_, static_cast<T>(plain_ - value));
    }
    return place(caller).fetch_sub(value, weaker(how));
  }
  T fetch_or(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    if (is_figure_here(caller)) {
      return std::exchange(plain_, static_cast<T>(plain_ | value));
    }
    return place(caller).fetch_or(value, weaker(how));
  }

 private:
  // Most names differ in their first letter: strcmp alone took a fifth of the models' time.
  static bool is(text caller, text name) {
    return *name == *caller && std::strcmp(name, caller) == 0;
  }
  static order weaker(order how) {
    const bool wrong = made == mistake::release_acquire || made == mistake::no_order;
    return wrong && how == order::seq_cst ? order::acq_rel : how;
  }

  // An atomic is a figure for all functions or for none.
  bool is_figure_here(text caller) const {
    const bool is = is_unused_ || (is_of_background_ && !uses_background) || is_plain(caller);
    require(!is || !place_, "a figure is accessed where it is a step elsewhere");
    return is;
  }
  static bool is_plain(text caller) {
    if constexpr (std::is_same_v<T, bool>) {
      return true;  // whether the scheduler closes: not before all rest
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return !has_timers || is_figure(caller);
    } else if constexpr (std::is_integral_v<T>) {
      // A heap's size changes under its lock, and so does the time that is made public there.
      return is_figure(caller) || (std::is_same_v<T, std::size_t> &&
                                   (is(caller, "publish_earliest") || is(caller, "take_due")));
    } else {
      return false;
    }
  }

  basic_atomic<T>& place(text caller) const {
    if (!place_) {
      name_atomics(caller);
      place_.emplace(plain_);
    }
    return *place_;
  }

  // What the mutant takes for what is there.
  static T seen(T value, text caller) {
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      if (is(caller, "spinner_wanted_locked")) {
        const bool at_hand_off = !has_p();
        if ((made == mistake::wanted_is_ignored && !at_hand_off) ||
            (made == mistake::wanted_while_spinning && !at_hand_off && spins()) ||
            (made == mistake::wanted_at_hand_off && at_hand_off)) {
          return 0;
        }
      }
      if (is(caller, "claim_wake")) {
        if ((made == mistake::no_successor && has_p() && is_on_g0()) ||
            (made == mistake::searcher_is_not_woken && here().saw_nobody_sleep)) {
          here().saw_nobody_sleep = false;
          return 1;
        }
        here().saw_nobody_sleep = false;
        if (made == mistake::retires_in_silence && !has_p() && is_on_g0()) {
          return 1;
        }
      }
      if (is(caller, "live") && made == mistake::surplus_is_not_searched && !here().holds_lock) {
        return std::min<T>(value, procs_wanted);
      }
      if (is(caller, "wanted") && here().holds_lock && is_on_g0()) {
        if (made == mistake::number_is_not_seen_again && has_p()) {
          return 0;
        }
        if (made == mistake::surplus_p_idles && !has_p()) {
          return most_procs;
        }
      }
    }
    if constexpr (std::is_same_v<T, std::size_t> || std::is_same_v<T, std::uint32_t> ||
                  std::is_pointer_v<T>) {
      if (made == mistake::looks_not_again && (is(caller, "empty") || is(caller, "peek_runnext")) &&
          looks_again()) {
        return T{};
      }
    }
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (is(caller, "somebody_sleeps")) {
        here().saw_nobody_sleep = value != 0;
      }
      if (is(caller, "earliest") &&
          ((made == mistake::no_timers_at_look_again && looks_again()) ||
           (made == mistake::no_timers_at_hand_off && !has_p() && here().holds_lock))) {
        return std::numeric_limits<T>::max();
      }
    }
    return value;
  }

  // Whether the thread is at its second look: only there it reads without a P and without the lock.
  static bool looks_again() {
    return explorer::active().inside() && !has_p() && !here().holds_lock && !here().has_turn;
  }

  mutable std::optional<basic_atomic<T>> place_;
  T plain_;
  bool is_unused_ = false;
  bool is_of_background_ = false;
};

/// The idle lock.
class known_lock {
 public:
  template <class Rank>
  explicit known_lock(Rank) noexcept {}

  void lock() noexcept {
    mutex_.lock();
    here().holds_lock = true;
  }
  void unlock() noexcept {
    here().holds_lock = false;
    mutex_.unlock();
  }

 private:
  model::mutex mutex_;
};

/// A poller in which one thread sleeps until it is woken: no time passes, and no descriptor is
/// ready.
class poller {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  int open() noexcept { return 0; }
  void close() noexcept {}
  std::uint32_t descriptors() const noexcept { return 0; }
  void poll(std::int64_t delay, thrum::netpoll::sink&) noexcept;
  void wake() noexcept {
    if (made != mistake::sleeper_is_not_woken) {
      note_.wake();
    }
  }
  /// Until when the thread in it sleeps.
  std::int64_t sleeps_until() const { return sleeps_until_; }

 private:
  model::note note_;
  std::int64_t sleeps_until_ = never;
};

struct search_traits : model::traits {
  static constexpr bool is_process_wide = false;
  static constexpr std::uint32_t run_queue_capacity = 4;
  static constexpr std::uint32_t global_check_interval = 61;
  static constexpr std::uint32_t timer_check_interval = 1;
  static constexpr unsigned max_procs = most_procs;
  static constexpr unsigned max_hosts = 0;
  static constexpr std::uint32_t wake_credit = 16;
  static constexpr std::uint32_t most_inheritances = 64;
  static constexpr std::int64_t poll_interval_ns = 1'000'000;
  static constexpr std::int64_t least_run_ns = 1'000'000;
  static constexpr int steal_rounds = 1;  // the last, which sees what the others do
  static constexpr std::uint32_t busy_per_spinner = 2;
  static constexpr std::int64_t the_time = 1;

  static std::int64_t now() noexcept { return the_time; }
  static std::uint32_t searchers_at_a_time(std::uint32_t) noexcept { return two_search ? 2 : 1; }
  static void pause_search() noexcept { explorer::active().yield(); }
  static constexpr std::int64_t worth_a_move_ns = 5'000;
  static void pause_before_runnext() noexcept { explorer::active().point(); }

  using poller = finding::poller;
  template <class T>
  using atomic = step_atomic<T>;

  static void fence(std::memory_order order, const char* caller = __builtin_FUNCTION()) noexcept {
    const std::string_view by = caller;
    if (made == mistake::no_fence || made == mistake::no_order ||
        (made == mistake::no_fence_at_submit && by == "wake_processor") ||
        (made == mistake::no_fence_at_end && by == "end_spinning")) {
      return;
    }
    // Between single steps of a machine without buffers a fence does nothing.
    if (explorer::active().bounds().machine != machine::sequential) {
      model::traits::fence(order);
    }
  }
  static void heavy_fence(const char* caller = __builtin_FUNCTION()) noexcept {
    if (made != mistake::rise_is_not_fenced || caller != std::string_view("set_procs")) {
      model::traits::heavy_fence();
    }
  }
};

inline void poller::poll(std::int64_t delay, thrum::netpoll::sink&) noexcept {
  if (delay == 0) {
    return;
  }
  sleeps_until_ = delay < 0 ? never : search_traits::the_time + delay;
  if (note_.sleep()) {
    note_.clear();
  }
  sleeps_until_ = never;
}

}  // namespace model::finding

namespace thrum { inline namespace THRUM_ABI { namespace sched {
using traits = model::finding::search_traits;
}}}  // namespace thrum::THRUM_ABI::sched

#endif
