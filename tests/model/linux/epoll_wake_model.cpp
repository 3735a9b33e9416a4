// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// netpoll/epoll.hpp's own code on modelled atomics, over a small kernel, in every interleaving
// within the bounds: after wake() a poll that waits comes back and sees what the waker did, and
// each event reaches a poll. Then its mutants.
//
// The kernel keeps what the system promises and no more. The alarm is a level: every look at the
// epoll finds it until it is read. A descriptor's event is an edge: one look finds it. Neither the
// alarm nor the edge carries anything of what its maker has seen, so what a waker did is visible by
// the poller's own atomics or not at all. The note does, as os::note promises.
//
// Waking means that each waker sets a flag and then calls wake(), and that the poller looks at all
// flags after each poll, as the scheduler looks at its timers. Both are relaxed: a poller that
// comes back without knowing the waker may see an old flag, sleeps again, and fails at the end.

#include "model/support/assertions.hpp"

#include <thrum/detail/netpoll/epoll.hpp>
#include <thrum/detail/netpoll/netpoll.hpp>

#if THRUM_OS_LINUX

#include "model/support/checks.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <sys/epoll.h>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::require;

// ---- what a mutant gets wrong ----

enum class mistake {
  nothing,
  // An access is relaxed instead.
  weak_w1,
  weak_w2,
  weak_p1,
  weak_p2,         // the look at woken_
  weak_p2_take,    // and taking it
  weak_note_take,  // the same after sleeping on the note
  weak_silence,    // and after the alarm
  weak_a1,
  weak_activate,
  weak_lock,
  weak_unlock,
  // An access is release or acquire instead.
  light_w1,
  light_w2,
  light_p2,
  light_a1,
  // An exchange is a load and a store.
  torn_p2_take,
  torn_note_take,
  torn_silence,
  // Steps.
  no_w1,
  no_w2,
  only_alarm,        // W2 does not ask where the poller sleeps
  only_note,         // the same
  w2_first,          // W2's look, then W1
  no_p1,             // sleeps on the note for ever
  p2_first,          // P2's look, then P1
  no_p2,             // does not look at woken_
  keeps_p2,          // does not clear it
  keeps_note,        // the note stays set
  keeps_woken,       // and so does woken_
  no_silence,        // the alarm is not read
  anybody_silences,  // a poll that does not wait reads it as well
  no_a1,
  no_a2,
  a2_first,
  no_lock  // two threads that add make an epoll each
};

constexpr unsigned the_poller = 0;

// ---- the kernel ----

constexpr int the_epoll = 3;
constexpr int the_other_epoll = 4;
constexpr int the_alarm = 5;
constexpr int ready = 6;   // descriptors: an event when it is added
constexpr int silent = 7;  // and none
constexpr std::uint64_t the_tag = (std::uint64_t{7} << 32) | 1;

struct small_kernel {
  unsigned epolls = 0;
  unsigned count = 0;  // of the alarm
  unsigned edges = 0;  // events that nobody has found
  bool rests = false;  // nobody will ever wake the poller

  static bool has_event(const void* self) {
    const auto& own = *static_cast<const small_kernel*>(self);
    return own.count != 0 || own.edges != 0;
  }
};
inline small_kernel* kernel = nullptr;

// os::note as it promises to be.
template <mistake Made>
class small_note {
 public:
  void sleep() noexcept {
    model::explorer::active().point();
    if (!model::explorer::active().wait(&is_set, this, true)) {
      kernel->rests = true;
      return;
    }
    model::memory::active().acquire_from(carried_);
  }
  // The time may pass at any moment.
  bool sleep_for(std::int64_t) noexcept {
    if (model::explorer::active().choose(2) != 0) {
      model::explorer::active().point();
      if (!set_) {
        return false;
      }
      model::memory::active().acquire_from(carried_);
      return true;
    }
    sleep();
    return true;
  }
  void wake(std::string_view caller = __builtin_FUNCTION()) noexcept {
    if ((Made == mistake::no_w2 && caller == "wake") ||
        ((Made == mistake::no_a2 || Made == mistake::a2_first) && caller == "activate_slow")) {
      return;
    }
    model::explorer::active().point();
    model::memory::active().release_to(carried_, true);
    model::explorer::active().progress();
    set_ = true;
  }
  void clear_while_woken() noexcept {
    model::explorer::active().point();
    if (Made != mistake::keeps_note) {
      set_ = false;
    }
    model::memory::active().acquire_from(carried_);
  }

 private:
  static bool is_set(const void* self) { return static_cast<const small_note*>(self)->set_; }

  bool set_ = false;
  model::knowledge carried_;
};

// ---- the atomics ----

// A poller's, in its order, and all others.
enum class word { active, woken, opening, armed_once, none };
inline unsigned constructed = 0;

// An atomic that knows which thread accesses it, and in which step, and is wrong as the mutant is.
template <class T, mistake Made>
class protocol_atomic : public model::basic_atomic<T> {
  using base = model::basic_atomic<T>;
  using order = std::memory_order;
  using text = std::string_view;

 public:
  protocol_atomic(T value) noexcept  // not explicit: as std::atomic
      : base(value),
        which_(std::is_same_v<T, bool> ? static_cast<word>(constructed++) : word::none) {
    if (which_ == word::active) {
      active = this;
    } else if (which_ == word::woken) {
      woken = this;
    }
  }

  T load(order how, text caller = __builtin_FUNCTION()) const noexcept {
    if (which_ == word::active && caller == "wake") {
      if (Made == mistake::only_alarm || Made == mistake::only_note) {
        return Made == mistake::only_alarm;
      }
      if (Made == mistake::w2_first) {
        return seen_early[model::explorer::active().self()];
      }
      how = changed(how, mistake::weak_w2, mistake::light_w2);
    }
    if (which_ == word::active && caller == "poll") {
      if (Made == mistake::no_p1) {
        return false;
      }
      if (Made == mistake::p2_first) {
        seen_early[the_poller] = woken->base::load(order::seq_cst) != T{};
      }
      how = changed(how, mistake::weak_p1);
    }
    if (which_ == word::active && caller == "activate") {
      how = changed(how, mistake::weak_activate);
    }
    if (Made == mistake::no_lock && which_ == word::active && caller == "activate_slow") {
      return false;
    }
    if (which_ == word::woken && caller == "poll") {
      if (Made == mistake::no_p2) {
        return false;
      }
      if (Made == mistake::p2_first) {
        return seen_early[the_poller];
      }
      how = changed(how, mistake::weak_p2, mistake::light_p2);
    }
    return base::load(how);
  }

  void store(T value, order how) noexcept {
    if (which_ == word::opening) {
      how = changed(how, mistake::weak_unlock);
    }
    base::store(value, how);
  }

  T exchange(T value, order how, text caller = __builtin_FUNCTION()) noexcept {
    mistake torn = mistake::nothing;
    if (which_ == word::opening) {
      if (Made == mistake::no_lock) {
        return false;
      }
      how = changed(how, mistake::weak_lock);
    } else if (which_ == word::active && caller == "activate_slow") {
      if (Made == mistake::no_a1) {
        return false;
      }
      if (Made == mistake::a2_first) {
        note->wake("before");
      }
      how = changed(how, mistake::weak_a1, mistake::light_a1);
    } else if (which_ != word::woken) {
    } else if (caller == "wake") {
      if (Made == mistake::no_w1) {
        return false;
      }
      if (Made == mistake::w2_first) {
        seen_early[model::explorer::active().self()] = active->base::load(order::seq_cst) != T{};
      }
      how = changed(how, mistake::weak_w1, mistake::light_w1);
    } else if (caller == "poll") {
      if (Made == mistake::keeps_p2) {
        return base::load(how);
      }
      how = changed(how, mistake::weak_p2_take);
      torn = mistake::torn_p2_take;
    } else if (caller == "sleep_without_descriptors") {
      if (Made == mistake::keeps_woken) {
        return base::load(how);
      }
      how = changed(how, mistake::weak_note_take);
      torn = mistake::torn_note_take;
    } else if (caller == "silence_alarm") {
      how = changed(how, mistake::weak_silence);
      torn = mistake::torn_silence;
    }
    if (torn != mistake::nothing && Made == torn) {
      const T old = base::load(how);
      base::store(value, how);
      return old;
    }
    return base::exchange(value, how);
  }

  // For those mutants that do something else first.
  static inline protocol_atomic* active = nullptr;
  static inline protocol_atomic* woken = nullptr;
  static inline small_note<Made>* note = nullptr;
  static inline bool seen_early[model::max_threads];

 private:
  static order changed(order how, mistake weak, mistake light = mistake::nothing) {
    if (Made == mistake::nothing) {
      return how;
    }
    return Made == weak ? order::relaxed : Made == light ? order::acq_rel : how;
  }

  const word which_;
};

// ---- the system ----

// The note that a poller constructs tells where it is.
template <mistake Made>
struct known_note : small_note<Made> {
  known_note() { protocol_atomic<bool, Made>::note = this; }
};

template <mistake Made>
struct small_system {
  template <class T>
  using atomic = protocol_atomic<T, Made>;
  using descriptor = model::cell<int>;
  using note = known_note<Made>;

  static int make_poller() noexcept {
    ++kernel->epolls;
    require(kernel->epolls <= 2, "an epoll is made that nobody knows");
    return kernel->epolls == 1 ? the_epoll : the_other_epoll;
  }
  static int make_alarm() noexcept { return the_alarm; }
  static int control(int poller, int, int fd, const ::epoll_event& event) noexcept {
    model::explorer::active().point();
    if (poller == the_epoll && fd == ready) {
      require(event.data.u64 == the_tag, "the model knows one tag");
      ++kernel->edges;
      model::explorer::active().progress();
    }
    return 0;
  }
  static void close(int) noexcept {}
  static void yield() noexcept { model::explorer::active().yield(); }

  static void sound_alarm(int fd) noexcept {
    if (Made == mistake::no_w2 || fd != the_alarm) {
      return;
    }
    model::explorer::active().point();
    ++kernel->count;
    model::explorer::active().progress();
  }
  static void silence_alarm(int) noexcept {
    model::explorer::active().point();
    if (Made != mistake::no_silence) {
      kernel->count = 0;
    }
  }
  static int wait(int fd, ::epoll_event* found, int, std::int64_t delay_ns) noexcept {
    require(fd == the_epoll, "nobody waits in the other epoll");
    model::explorer& threads = model::explorer::active();
    threads.point();
    const bool times_out = delay_ns > 0 && threads.choose(2) != 0;
    if (delay_ns != 0 && !times_out && !threads.wait(&small_kernel::has_event, kernel, true)) {
      kernel->rests = true;
      return 0;
    }
    int n = 0;
    if (kernel->count != 0) {
      found[n].events = EPOLLIN;
      found[n++].data.u64 = 0;
    }
    if (kernel->edges != 0) {
      kernel->edges = 0;
      found[n].events = EPOLLIN;
      found[n++].data.u64 = the_tag;
    }
    if (Made == mistake::anybody_silences && kernel->count != 0 && threads.self() != the_poller) {
      silence_alarm(the_alarm);
      protocol_atomic<bool, Made>::woken->model::template basic_atomic<bool>::exchange(
          false, std::memory_order_seq_cst);
    }
    return n;
  }
};

// ---- a program ----

constexpr unsigned max_wakers = 2;

// Thread 0 polls until all rest; thread 1 and perhaps 2 wake it.
template <mistake Made>
struct small_world {
  using poller_type = thrum::netpoll::basic_epoll<small_system<Made>>;

  small_world() {
    kernel = &system;
    constructed = 0;
  }
  ~small_world() { kernel = nullptr; }

  struct sink : thrum::netpoll::sink {
    explicit sink(small_world& of) : thrum::netpoll::sink{&take, nullptr}, world(of) {}
    small_world& world;
    static void take(thrum::netpoll::sink& self, std::uint64_t tag, std::uint32_t) noexcept {
      require(tag == the_tag, "an event of nobody's was delivered");
      ++static_cast<sink&>(self).world.delivered;
    }
  };

  void poll(std::int64_t delay_ns) {
    sink to(*this);
    poller.poll(delay_ns, to);
  }
  void look() {
    for (unsigned i = 0; i != max_wakers; ++i) {
      seen[i] = seen[i] || flags[i].load(std::memory_order_relaxed) != 0;
    }
  }
  // The first poll for a time, if `timed`, the others for ever.
  void live(bool timed) {
    for (std::int64_t delay = timed ? 1'000 : -1; !system.rests; delay = -1) {
      poll(delay);
      if (!system.rests) {
        look();
      }
    }
  }
  void wake(unsigned waker) {
    flags[waker].store(1, std::memory_order_relaxed);
    poller.wake();
    woke[waker] = true;
  }
  void add(int fd) {
    require(poller.add(fd, the_tag) == 0, "add fails");
    expected += fd == ready ? 1 : 0;
  }

  void at_rest() {
    for (unsigned i = 0; i != max_wakers; ++i) {
      require(seen[i] || !woke[i], "the poller sleeps and has not seen what a waker did");
    }
    require(expected == 0 || delivered != 0, "the poller sleeps beside an event");
    require(system.edges == 0 && delivered <= expected, "an edge was seen twice or never");
  }
  void at_end() {}

  struct name {
    explicit name(const char* text) { model::name_atomics(text); }
  };
  small_kernel system;
  name poller_name{
      "poller"};  // .0 active_, .1 woken_, .2 opening_, .3 armed_once_, .4 descriptors_
  poller_type poller;
  name flags_name{"flags"};
  model::atomic<int> flags[max_wakers] = {0, 0};

  bool seen[max_wakers] = {};
  bool woke[max_wakers] = {};
  unsigned expected = 0;
  unsigned delivered = 0;
};

// No descriptor is ever added.
template <mistake Made, bool Timed = false>
struct without_descriptors : small_world<Made> {
  static constexpr unsigned threads = 3;
  void run(unsigned thread) { thread == the_poller ? this->live(Timed) : this->wake(thread - 1); }
};

// One descriptor is there already.
template <mistake Made, bool Timed = false>
struct with_descriptor : small_world<Made> {
  static constexpr unsigned threads = 3;
  with_descriptor() { this->add(silent); }
  void run(unsigned thread) { thread == the_poller ? this->live(Timed) : this->wake(thread - 1); }
};

// The first descriptor is added while one thread polls and another wakes it.
template <mistake Made, int Descriptor = silent, bool Timed = false>
struct first_descriptor : small_world<Made> {
  static constexpr unsigned threads = 3;
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live(Timed);
    } else if (thread == 1) {
      this->wake(0);
    } else {
      this->add(Descriptor);
    }
  }
};

// Two descriptors are added at the same time.
template <mistake Made>
struct two_descriptors : small_world<Made> {
  static constexpr unsigned threads = 3;
  void run(unsigned thread) { thread == the_poller ? this->live(false) : this->add(ready); }
};

// Beside the poll that waits, another thread polls without waiting.
template <mistake Made, bool Early>
struct beside_a_glance : small_world<Made> {
  static constexpr unsigned threads = 3;
  beside_a_glance() {
    if (Early) {
      this->add(silent);
    }
  }
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live(false);
    } else if (thread == 1) {
      this->wake(0);
      if (!Early) {
        this->add(ready);
      }
    } else {
      this->poll(0);
      this->poll(0);
    }
  }
};

// Two threads wake while the first descriptor is added.
template <mistake Made>
struct two_wakers : small_world<Made> {
  static constexpr unsigned threads = 4;
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live(false);
    } else if (thread == 3) {
      this->add(silent);
    } else {
      this->wake(thread - 1);
    }
  }
};

}  // namespace

TEST_CASE("model: a poll that waits comes back after a wake and sees what the waker did") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<without_descriptors<nothing>>({on, 3, 2});
    holds<without_descriptors<nothing, true>>({on, 3, 2});
    holds<with_descriptor<nothing>>({on, 3, 2});
    holds<with_descriptor<nothing, true>>({on, 3, 2});
  }
}

TEST_CASE("model: no wake and no event is lost when the first descriptor comes") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<first_descriptor<nothing>>({on, 3, 2});
    holds<first_descriptor<nothing, silent, true>>({on, 3, 2});
    holds<first_descriptor<nothing, ready>>({on, 3, 2});
    holds<first_descriptor<nothing, ready, true>>({on, 3, 2});
    holds<two_descriptors<nothing>>({on, 3, 2});
    holds<two_wakers<nothing>>({on, 2, 2});
  }
}

TEST_CASE("model: a poll that does not wait takes no wake away from one that does") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<beside_a_glance<nothing, true>>({on, 3, 2});
    holds<beside_a_glance<nothing, false>>({on, 3, 2});
  }
}

// Two accesses need less than they have, and are no mutants: P1 may be an acquire, because a poll
// that reads an old false is ended by A2; and P2 on the note only saves a sleep.
TEST_CASE("model: each mutant of waking the poller is found out") {
  constexpr model::options on_weak{machine::weak, 3, 2};
  constexpr model::options on_any{machine::sequential, 3, 0};
  // Orders.
  CHECK(found_out<without_descriptors<mistake::weak_w1>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::weak_w2>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::weak_p1>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::weak_p2>>(on_weak));
  CHECK(found_out<two_wakers<mistake::weak_p2_take>>(on_weak));
  CHECK(found_out<without_descriptors<mistake::weak_note_take>>(on_weak));
  CHECK(found_out<with_descriptor<mistake::weak_silence>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::weak_a1>>(on_weak));
  CHECK(found_out<two_descriptors<mistake::weak_activate>>(on_weak));
  CHECK(found_out<two_descriptors<mistake::weak_lock>>(on_weak));
  CHECK(found_out<two_descriptors<mistake::weak_unlock>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::light_w1>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::light_w2>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::light_p2>>(on_weak));
  CHECK(found_out<first_descriptor<mistake::light_a1>>(on_weak));
  CHECK(found_out<with_descriptor<mistake::torn_p2_take>>(on_weak));
  CHECK(found_out<without_descriptors<mistake::torn_note_take>>(on_weak));
  CHECK(found_out<with_descriptor<mistake::torn_silence>>(on_weak));
  // Steps.
  CHECK(found_out<first_descriptor<mistake::no_w1>>(on_any));
  CHECK(found_out<without_descriptors<mistake::no_w2>>(on_any));
  CHECK(found_out<with_descriptor<mistake::no_w2>>(on_any));
  CHECK(found_out<without_descriptors<mistake::only_alarm>>(on_any));
  CHECK(found_out<with_descriptor<mistake::only_note>>(on_any));
  CHECK(found_out<first_descriptor<mistake::w2_first>>(on_any));
  CHECK(found_out<with_descriptor<mistake::no_p1>>(on_any));
  CHECK(found_out<first_descriptor<mistake::p2_first>>(on_any));
  CHECK(found_out<first_descriptor<mistake::no_p2>>(on_any));
  CHECK(found_out<with_descriptor<mistake::keeps_p2>>(on_any));
  CHECK(found_out<without_descriptors<mistake::keeps_note>>(on_any));
  CHECK(found_out<without_descriptors<mistake::keeps_woken>>(on_any));
  CHECK(found_out<with_descriptor<mistake::no_silence>>(on_any));
  CHECK(found_out<beside_a_glance<mistake::anybody_silences, true>>(on_any));
  CHECK(found_out<first_descriptor<mistake::no_a1, ready>>(on_any));
  CHECK(found_out<first_descriptor<mistake::no_a2>>(on_any));
  CHECK(found_out<first_descriptor<mistake::a2_first>>(on_any));
  CHECK(found_out<two_descriptors<mistake::no_lock>>(on_any));
}

#endif
