// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// netpoll/io_uring.hpp's own code on modelled atomics, over a small kernel (small_kernel.hpp), in
// every interleaving within the bounds: after wake() a poll that waits comes back and sees what the
// waker did, a request that was put beside a poll that is about to sleep reaches the kernel, and
// each answer is told once. Then its mutants.
//
// Waking means that each waker sets a flag and then calls wake(), and that the poller looks at all
// flags after each poll, as in epoll_wake_model.cpp.

#include "model/support/assertions.hpp"

#include <thrum/detail/netpoll/io_uring.hpp>
#include <thrum/detail/netpoll/netpoll.hpp>

#if THRUM_OS_LINUX

#include "model/linux/small_kernel.hpp"
#include "model/support/checks.hpp"
#include "model/support/objects.hpp"
#include "support/catch.hpp"

#include <cstdint>

namespace {

using model::every_machine;
using model::found_out;
using model::holds;
using model::machine;
using model::require;
using namespace model::ring;

// ---- a program ----

constexpr unsigned max_wakers = 2;

// Thread 0 polls until all rest.
template <mistake Made>
struct small_world {
  static constexpr unsigned threads = 3;
  using ring_type = thrum::netpoll::basic_io_uring<small_system<Made>>;

  struct setting {
    explicit setting(small_kernel<Made>& of) {
      kernel<Made> = &of;
      constructed = 0;
      sleeps_flag<Made>::end_sleep();
    }
    ~setting() { kernel<Made> = nullptr; }
  };
  struct sink : thrum::netpoll::sink {
    explicit sink(small_world& of) : thrum::netpoll::sink{&take, nullptr}, world(of) {}
    small_world& world;
    static void take(thrum::netpoll::sink& self, std::uint64_t tag, std::uint32_t) noexcept {
      require(tag == the_tag, "an answer of nobody's was told");
      ++static_cast<sink&>(self).world.told;
    }
  };
  // What a goroutine prepares and the kernel completes.
  struct operation : thrum::netpoll::operation {
    explicit operation(small_world& of) : world(of) {
      finish = [](thrum::netpoll::operation& self, thrum::netpoll::sink&, std::int64_t) noexcept {
        auto& own = static_cast<operation&>(self);
        require(own.prepared == 1, "an operation was completed that is not prepared");
        ++own.world.told;
      };
    }
    small_world& world;
    model::cell<int> prepared{0};
  };

  small_world() { require(ring.open() == 0, "open fails"); }

  void poll(std::int64_t delay_ns) {
    sink to(*this);
    ring.poll(delay_ns, to);
  }
  // The first poll for a time, if `timed`, the others for ever.
  void live(bool timed = false) {
    for (std::int64_t delay = timed ? 1'000 : -1; !system.rests; delay = -1) {
      poll(delay);
      if (!system.rests) {
        for (unsigned i = 0; i != max_wakers; ++i) {
          seen[i] = seen[i] || flags[i].load(std::memory_order_relaxed) != 0;
        }
      }
    }
  }
  void wake(unsigned waker) {
    flags[waker].store(1, std::memory_order_relaxed);
    ring.wake();
    woke[waker] = true;
  }
  void ask(int fd, bool now = false) {
    ++expected;
    ring.ask(fd, the_tag, readable, now);
  }
  void start(int fd) {
    operation& what = operations[used++];
    what.fd = fd;
    what.prepared = 1;
    ++expected;
    ring.start(what);
  }

  void at_rest() {
    for (unsigned i = 0; i != max_wakers; ++i) {
      require(seen[i] || !woke[i], "the poller sleeps and has not seen what a waker did");
    }
    require(system.taken == system.submission_tail.own(), "the poller sleeps beside a request");
    require(system.told == system.completion_head.own() && system.kept_count == 0,
            "the poller sleeps beside an answer");
    require(told == expected, "an answer was told twice or never");
  }
  void at_end() {}

  struct name {
    explicit name(const char* text) { model::name_atomics(text); }
  };
  name kernel_name{
      "queues"};  // .0 and .1 head and tail of requests, .2 flags, .3 and .4 of answers
  small_kernel<Made> system;
  setting own_setting{system};
  name ring_name{"ring"};  // .0 submitting_, .1 reaping_, .2 woken_, .3 watches_others_
  ring_type ring;
  name flags_name{"flags"};
  model::atomic<int> flags[max_wakers] = {0, 0};
  operation operations[2] = {operation(*this), operation(*this)};
  unsigned used = 0;

  bool seen[max_wakers] = {};
  bool woke[max_wakers] = {};
  unsigned expected = 0;
  unsigned told = 0;
};

// Two threads wake the poller.
template <mistake Made, bool Timed = false>
struct two_wakers : small_world<Made> {
  void run(unsigned thread) { thread == the_poller ? this->live(Timed) : this->wake(thread - 1); }
};

// The same while there is no memory for the first request.
template <mistake Made>
struct wakers_without_memory : two_wakers<Made> {
  wakers_without_memory() { this->system.lacks_memory = true; }
};

// One thread wakes, another polls without waiting.
template <mistake Made>
struct beside_a_glance : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live();
    } else if (thread == 1) {
      this->wake(0);
    } else {
      this->poll(0);
      this->poll(0);
    }
  }
};

// One thread asks, another wakes.
template <mistake Made, int Descriptor = ready, bool Timed = false>
struct asker_and_waker : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live(Timed);
    } else if (thread == 1) {
      this->ask(Descriptor);
    } else {
      this->wake(0);
    }
  }
};

// One thread asks and starts an operation, another polls without waiting.
template <mistake Made>
struct asker_and_glance : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live();
    } else if (thread == 1) {
      this->ask(ready);
      this->start(ready);
    } else {
      this->poll(0);
    }
  }
};

// What is asked for comes true later.
template <mistake Made>
struct answered_later : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live();
    } else if (thread == 1) {
      this->ask(later);
    } else {
      this->system.come_true();
    }
  }
};

// More is asked and started than there are places, by two threads.
template <mistake Made>
struct full_queue : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live();
    } else if (thread == 1) {
      this->ask(ready);
      this->start(ready);
    } else {
      this->start(ready);
      this->ask(ready);
    }
  }
};

// The first descriptor of others comes.
template <mistake Made>
struct others_come : small_world<Made> {
  others_come() { this->system.others_are_ready = true; }
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live();
    } else if (thread == 1) {
      ++this->expected;
      this->ring.arm_first(ready, the_tag, readable);
    } else {
      this->wake(0);
    }
  }
};

// Nobody waits. Before a descriptor is removed there stands a request that is refused.
template <mistake Made>
struct removed_behind_refused : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->start(refused);
    } else if (thread == 1) {
      this->ring.remove(ready, the_tag, readable);
      require(this->system.cancelled != 0, "the kernel has not heard of the end");
    } else {
      this->poll(0);
    }
  }
  void at_end() { require(this->system.cancelled == 1, "the kernel has heard of it twice"); }
};

// More is answered than there are places for answers, and nobody waits.
template <mistake Made>
struct answers_without_room : small_world<Made> {
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->ask(ready, true);
      this->ask(ready, true);
    } else if (thread == 1) {
      this->ask(ready, true);
    } else {
      this->poll(0);
    }
  }
  void at_end() {
    for (int i = 0; i != 3; ++i) {
      this->poll(0);
    }
    require(this->told == this->expected, "an answer was told twice or never");
  }
};

// Two threads wake, one polls without waiting.
template <mistake Made>
struct wakers_and_glance : small_world<Made> {
  static constexpr unsigned threads = 4;
  void run(unsigned thread) {
    if (thread == the_poller) {
      this->live();
    } else if (thread == 3) {
      this->poll(0);
    } else {
      this->wake(thread - 1);
    }
  }
};

}  // namespace

TEST_CASE("model: a ring that is woken comes back and sees what the wakers did") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<two_wakers<nothing>>({on, 2, 2});
    holds<two_wakers<nothing, true>>({on, 2, 1});
    holds<wakers_without_memory<nothing>>({on, 2, 1});
  }
}

TEST_CASE("model: a poll of a ring that does not wait takes no wake away from one that does") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<beside_a_glance<nothing>>({on, 2, 2});
    holds<wakers_and_glance<nothing>>({on, 1, 1});
  }
}

TEST_CASE("model: a request beside a poll that is about to sleep reaches the kernel") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<asker_and_waker<nothing>>({on, 2, 1});
    holds<asker_and_waker<nothing, ready, true>>({on, 2, 1});
    holds<asker_and_waker<nothing, refused>>({on, 2, 1});
    holds<asker_and_glance<nothing>>({on, 2, 1});
    holds<answered_later<nothing>>({on, 3, 2});
    holds<others_come<nothing>>({on, 2, 1});
  }
}

TEST_CASE(
    "model: more requests than a ring has places all reach the kernel, and are reported once") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<full_queue<nothing>>({on, 2, 1});
    holds<answers_without_room<nothing>>({on, 2, 1});
  }
}

TEST_CASE("model: the kernel has heard of the end of a descriptor when it is removed") {
  constexpr auto nothing = mistake::nothing;
  for (const machine on : every_machine) {
    holds<removed_behind_refused<nothing>>({on, 2, 1});
  }
}

// Not run by default: some minutes.
TEST_CASE("model: a ring of io_uring within wider bounds", "[.long]") {
  constexpr auto nothing = mistake::nothing;
  holds<two_wakers<nothing>>({machine::weak, 3, 2});
  holds<wakers_and_glance<nothing>>({machine::weak, 2, 1});
  holds<asker_and_waker<nothing>>({machine::weak, 3, 1});
  holds<asker_and_glance<nothing>>({machine::weak, 3, 1});
  holds<full_queue<nothing>>({machine::weak, 3, 1});
}

// Clearing woken_ after the alarm saves a poll that comes back for nothing, and is no mutant when
// it is left out.
TEST_CASE("model: each mutant of the ring of io_uring is found out") {
  constexpr model::options on_weak{machine::weak, 2, 2};
  constexpr model::options on_any{machine::sequential, 2, 0};
  // Orders.
  CHECK(found_out<two_wakers<mistake::weak_wake>>(on_weak));
  CHECK(found_out<beside_a_glance<mistake::weak_take>>(on_weak));
  CHECK(found_out<two_wakers<mistake::weak_clear>>(on_weak));
  CHECK(found_out<full_queue<mistake::weak_lock>>(on_weak));
  CHECK(found_out<full_queue<mistake::weak_unlock>>(on_weak));
  CHECK(found_out<asker_and_glance<mistake::weak_reaping_lock>>(on_weak));
  CHECK(found_out<asker_and_glance<mistake::weak_reaping_unlock>>(on_weak));
  CHECK(found_out<two_wakers<mistake::weak_submission_tail>>(on_weak));
  CHECK(found_out<full_queue<mistake::weak_submission_head>>(on_weak));
  CHECK(found_out<two_wakers<mistake::weak_completion_tail>>(on_weak));
  CHECK(found_out<full_queue<mistake::weak_completion_head>>(on_weak));
  CHECK(found_out<two_wakers<mistake::torn_wake>>(on_weak));
  CHECK(found_out<two_wakers<mistake::torn_take>>(on_weak));
  CHECK(found_out<two_wakers<mistake::torn_clear>>(on_weak));
  CHECK(found_out<full_queue<mistake::torn_lock>>(on_any));
  // Steps.
  CHECK(found_out<beside_a_glance<mistake::no_mark>>(on_any));
  CHECK(found_out<two_wakers<mistake::no_request>>(on_any));
  CHECK(found_out<beside_a_glance<mistake::no_take>>(on_any));
  CHECK(found_out<beside_a_glance<mistake::keeps_woken>>(on_any));
  CHECK(found_out<beside_a_glance<mistake::anybody_clears>>(on_any));
  CHECK(found_out<beside_a_glance<mistake::clears_unseen>>(on_any));
  CHECK(found_out<asker_and_waker<mistake::no_sleeps>>(on_any));
  CHECK(found_out<asker_and_waker<mistake::sleeps_late>>(on_any));
  CHECK(found_out<asker_and_waker<mistake::sleeps_too_short>>(on_any));
  CHECK(found_out<asker_and_waker<mistake::submits_nothing>>(on_any));
  CHECK(found_out<removed_behind_refused<mistake::hands_over_once>>(on_any));
  CHECK(found_out<wakers_without_memory<mistake::gives_up>>(on_any));
  CHECK(found_out<full_queue<mistake::never_full>>(on_any));
  CHECK(found_out<asker_and_glance<mistake::anybody_reaps>>(on_any));
  CHECK(found_out<answers_without_room<mistake::overflow_is_ignored>>(on_any));
}

#endif
