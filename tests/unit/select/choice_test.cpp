// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which of its cases a select chooses: by readiness, by time, by chance.

#include <thrum/select.hpp>

#include "support/set_back_clock.hpp"
#include "support/stop_source.hpp"
#include "support/test.hpp"

#include <cmath>

using support::set_back_clock;
using thrum::on_deadline;
using thrum::on_done;
using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;

namespace {

thrum::chan<int> closed_channel() {
  thrum::chan<int> c(0);
  c.close();
  return c;
}

}  // namespace

// ---- time-outs and otherwise -------------------------------------------------------------------

IN_RUNTIME("otherwise is chosen exactly if no other case is ready") {
  const thrum::chan<int> c(1);
  int calls = 0;
  CHECK(thrum::select(on_recv(c), otherwise([&] { ++calls; })) == 1);
  CHECK(thrum::select(otherwise([&] { ++calls; })) == 0);
  CHECK(calls == 2);
  CHECK(thrum::select(on_send(c, 1), otherwise([&] { ++calls; })) == 0);
  CHECK(thrum::select(on_recv(c), otherwise([&] { ++calls; })) == 0);
  CHECK(thrum::select(on_recv(closed_channel()), otherwise([&] { ++calls; })) == 0);
  CHECK(calls == 2);
}

IN_RUNTIME("otherwise comes before a time-out, even one that has passed") {
  const thrum::chan<int> c(0);
  CHECK(thrum::select(on_timeout(1h), otherwise()) == 1);
  CHECK(thrum::select(on_recv(c), on_timeout(-1s), otherwise()) == 2);
}

IN_RUNTIME("a time-out is chosen after its time and not before") {
  const thrum::chan<int> c(0);
  bool called = false;
  auto begin = std::chrono::steady_clock::now();
  CHECK(thrum::select(on_recv(c), on_send(c, 1), on_timeout(3ms, [&] { called = true; })) == 2);
  CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
  CHECK(called);
  begin = std::chrono::steady_clock::now();
  CHECK(thrum::select(on_timeout(2ms)) == 0);  // nothing else to wait for
  CHECK(std::chrono::steady_clock::now() - begin >= 2ms);
  begin = std::chrono::steady_clock::now();
  CHECK(thrum::select(on_recv(thrum::chan<int>()), on_deadline(begin + 2ms)) == 1);
  CHECK(std::chrono::steady_clock::now() - begin >= 2ms);
  const auto wall = std::chrono::system_clock::now();
  CHECK(thrum::select(on_recv(c), on_deadline(wall + 2ms)) == 1);
}

IN_RUNTIME("a time that has passed is chosen at once, unless another case is ready") {
  const thrum::chan<int> c(0);
  CHECK(thrum::select(on_recv(c), on_timeout(0s)) == 1);
  CHECK(thrum::select(on_recv(c), on_timeout(-1h)) == 1);
  CHECK(thrum::select(on_recv(c), on_deadline(thrum::time_point::min())) == 1);
  for (int i = 0; i != 50; ++i) {
    REQUIRE(thrum::select(on_timeout(-1s), on_recv(closed_channel())) == 1);
  }
}

IN_RUNTIME("the earliest of several times is chosen") {
  const thrum::chan<int> c(0);
  const auto now = std::chrono::steady_clock::now();
  CHECK(thrum::select(on_timeout(1h), on_deadline(now + 1ms), on_recv(c), on_timeout(30min)) == 1);
  CHECK(thrum::select(on_timeout(std::chrono::hours::max()), on_deadline(thrum::time_point::max()),
                      on_timeout(1ms)) == 2);
}

IN_RUNTIME("a time-out counts from the call of select") {
  auto patience = on_timeout(3ms);
  thrum::sleep_for(4ms);
  for (int i = 0; i != 2; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(thrum::select(patience) == 0);
    CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
  }
}

TEST_CASE("a moment of a clock that is set back is chosen when that clock says so, in each form") {
  const auto select_until = [] {
    const thrum::chan<int> c(0);
    auto when = set_back_clock::soon();
    CHECK(thrum::select(on_recv(c), on_timeout(1h), on_deadline(when)) == 2);
    CHECK(set_back_clock::now() >= when);
    when = set_back_clock::soon();
    CHECK(thrum::select(on_deadline(when)) == 0);
    CHECK(set_back_clock::now() >= when);
    std::vector<thrum::select_case> cases;
    cases.emplace_back(on_recv(c));
    when = set_back_clock::soon();
    cases.emplace_back(on_deadline(when));
    CHECK(thrum::select(cases) == 1);
    CHECK(set_back_clock::now() >= when);
  };
  select_until();
  with_runtime(select_until);
}

namespace {

/// Counts its calls, and is set back by 20 ms after the second one.
struct counting_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<counting_clock>;
  static constexpr bool is_steady = false;

  static time_point now() noexcept {
    const duration behind = ++looks > 2 ? duration(20ms) : duration(0);
    return time_point(std::chrono::steady_clock::now().time_since_epoch() - behind);
  }
  static inline std::atomic<int> looks{0};
};

}  // namespace

IN_RUNTIME("a select that waits for a clock that was set back sleeps until that clock's moment") {
  const thrum::chan<int> c(0);
  counting_clock::looks = 0;
  const auto when = counting_clock::now() + 2ms;
  CHECK(thrum::select(on_recv(c), on_deadline(when)) == 1);
  CHECK(counting_clock::looks < 100);  // one that does not sleep looks thousands of times
  CHECK(counting_clock::now() >= when);
}

IN_RUNTIME("what comes after a clock was set back and before its moment is chosen") {
  const thrum::chan<int> c(0);
  const auto when = set_back_clock::soon();
  auto sender = thrum::spawn([&] {
    thrum::sleep_for(2ms);
    while (set_back_clock::now() < when) {
      if (c.try_send(1)) {
        return true;
      }
      thrum::this_goroutine::yield();
    }
    return false;
  });
  const bool received = thrum::select(on_recv(c), on_deadline(when)) == 0;
  CHECK(sender.join() == received);
}

// ---- which one ---------------------------------------------------------------------------------

namespace {

/// How often each of four cases that are always ready is chosen.
std::array<int, 4> choices(int rounds) {
  std::array<int, 4> chosen{};
  const thrum::chan<int> a(2);
  const thrum::chan<int> b(2);
  a.send(0);
  for (int i = 0; i != rounds; ++i) {
    const std::size_t which =
        thrum::select(on_recv(a, [&] { a.send(i); }), on_send(b, i, [&] { b.recv(); }),
                      on_recv(closed_channel()), on_recv(a, [&] { a.send(i); }));
    ++chosen.at(which);
  }
  return chosen;
}

/// The same for two cases, which select treats in a way of their own.
std::array<int, 2> choices_of_two(int rounds, bool with_default) {
  std::array<int, 2> chosen{};
  const thrum::chan<int> a(1);
  const thrum::chan<int> b(1);
  b.send(0);
  for (int i = 0; i != rounds; ++i) {
    const auto undo_send = [&] { a.recv(); };
    const auto undo_recv = [&] { b.send(i); };
    ++chosen.at(with_default ? thrum::select(on_send(a, i, undo_send), on_recv(b, undo_recv),
                                             otherwise([] { FAIL("both were ready"); }))
                             : thrum::select(on_send(a, i, undo_send), on_recv(b, undo_recv)));
  }
  return chosen;
}

/// The same for two channels and a token that is requested. Channel a is ready, or both are.
std::array<int, 3> choices_with_token(int rounds, bool both) {
  std::array<int, 3> chosen{};
  std::stop_source source = support::new_source();
  source.request_stop();
  const thrum::chan<int> a(1);
  const thrum::chan<int> b(1);
  a.send(0);
  if (both) {
    b.send(0);
  }
  for (int i = 0; i != rounds; ++i) {
    ++chosen.at(thrum::select(on_recv(a, [&] { a.send(i); }), on_recv(b, [&] { b.send(i); }),
                              on_done(source.get_token())));
  }
  return chosen;
}

/// How often a ready case is chosen beside `more`: select treats a token or a nil channel in a way
/// of its own.
template <class... More>
std::array<int, 2> choices_beside(int rounds, const More&... more) {
  std::array<int, 2> chosen{};
  const thrum::chan<int> a(1);
  a.send(0);
  for (int i = 0; i != rounds; ++i) {
    ++chosen.at(thrum::select(on_recv(a, [&] { a.send(i); }), more()...));
  }
  return chosen;
}

/// 10 standard deviations: wrong once in 10^22.
template <std::size_t N>
void check_uniform(const std::array<int, N>& chosen, int rounds) {
  const double p = 1.0 / N;
  const double tolerance = 10 * std::sqrt(rounds * p * (1 - p));
  for (const int n : chosen) {
    INFO("chosen " << n << " times of " << rounds);
    CHECK(std::abs(n - rounds * p) < tolerance);
  }
}

}  // namespace

TEST_CASE("each of the ready cases is as likely as the others") {
  constexpr int rounds = 8'000;
  with_runtime([] {
    check_uniform(choices(rounds), rounds);
    check_uniform(choices_of_two(rounds, false), rounds);
    check_uniform(choices_of_two(rounds, true), rounds);
  });
}

TEST_CASE("a stop that was requested is as likely as each channel that is ready") {
  constexpr int rounds = 8'000;
  with_runtime([] {
    check_uniform(choices_with_token(rounds, true), rounds);
    const auto [a, b, token] = choices_with_token(rounds, false);
    CHECK(b == 0);
    check_uniform(std::array{a, token}, rounds);
    std::stop_source source = support::new_source();
    source.request_stop();
    check_uniform(choices_beside(rounds, [&] { return on_done(source.get_token()); }), rounds);
  });
}

TEST_CASE("whatever makes a case ready, it is as likely as a filled channel") {
  constexpr int rounds = 2'000;
  with_runtime([] {
    const thrum::chan<int> drained(3);
    drained.close();
    check_uniform(choices_beside(rounds, [&] { return on_recv(drained); }), rounds);

    // An element in a box, for which there is always room.
    struct may_throw {
      may_throw() = default;
      may_throw(may_throw&&) noexcept(false) {}
      may_throw& operator=(may_throw&&) noexcept(false) { return *this; }
    };
    const thrum::chan<may_throw> boxes(1);
    may_throw value;
    check_uniform(
        choices_beside(rounds,
                       [&] { return on_send(boxes, std::move(value), [&] { boxes.recv(); }); }),
        rounds);

    // A clock whose time has come: one of these is not made again until it was chosen.
    auto due = thrum::after(0ns);
    check_uniform(
        choices_beside(rounds, [&] { return on_recv(due, [&] { due = thrum::after(0ns); }); }),
        rounds);

    // What only the system knows.
    thrum::io::pipe bytes;
    bytes.writer().write("x");
    check_uniform(choices_beside(rounds, [&] { return thrum::io::on_readable(bytes.reader()); }),
                  rounds);
  });
  // A sender that waits, on one P: another one might be off its CPU for all rounds.
  with_runtime(support::with_procs(1), [] {
    const thrum::chan<int> unbuffered(0);
    auto sender = thrum::spawn([unbuffered] {
      while (true) {
        unbuffered.send(1);
      }
    });
    check_uniform(choices_beside(rounds,
                                 [&] {
                                   thrum::this_goroutine::yield();  // it comes back to wait
                                   return on_recv(unbuffered);
                                 }),
                  rounds);
    sender.detach();
  });
}

TEST_CASE("a nil channel among the cases changes nothing for the others") {
  constexpr int rounds = 8'000;
  with_runtime([] {
    const auto closed = closed_channel();
    check_uniform(
        choices_beside(
            rounds, [&] { return on_recv(closed); }, [] { return on_recv(thrum::chan<int>()); }),
        rounds);
  });
}

IN_RUNTIME("a send on a nil channel is never chosen, wherever the choice begins") {
  thrum::chan<int> ready(64);
  const thrum::chan<int> nil;
  for (int i = 0; i != 64; ++i) {
    CHECK(thrum::select(on_send(nil, i), on_send(ready, i)) == 1);
  }
}

TEST_CASE(
    "a channel whose time came before the deadline is chosen, however late the goroutine runs") {
  thrum::options options;
  options.procs = 1;
  options.preempt = thrum::preemption::none;
  with_runtime(options, [] {
    const auto is_late = [](auto wait) {
      for (auto unit = 5ms;; unit *= 2) {
        auto waiter = thrum::spawn([=] { return wait(unit); });
        thrum::this_goroutine::yield();
        // One that was late before it began to wait has taken what was ready: again, with more time.
        const bool waits = !waiter.done();
        const auto end = std::chrono::steady_clock::now() + 6 * unit;
        while (std::chrono::steady_clock::now() < end) {
          // keeps the one processor
        }
        const auto chosen = waiter.join();
        if (waits || unit > 1s) {
          return chosen;
        }
      }
    };
    CHECK(is_late([](auto unit) {
            return thrum::select(on_recv(thrum::after(unit)), on_timeout(4 * unit));
          }) == 0);
    CHECK(is_late([](auto unit) {
            const auto now = std::chrono::steady_clock::now();
            return thrum::select(on_recv(thrum::after(4 * unit)), on_deadline(now + unit));
          }) == 1);
    CHECK(is_late([](auto unit) {
            const auto c = thrum::context::background().with_timeout(unit);
            return thrum::select(on_done(c), on_timeout(4 * unit));
          }) == 0);
    CHECK(is_late([](auto unit) {
            thrum::time_point at;
            return thrum::after(unit).recv_for(at, 4 * unit);
          }) == thrum::recv_status::ok);
  });
}

TEST_CASE("each of the ready cases is as likely as the others on a foreign thread") {
  constexpr int rounds = 8'000;
  std::array<int, 4> chosen{};
  std::array<int, 2> of_two{};
  std::thread([&] {
    chosen = choices(rounds);
    of_two = choices_of_two(rounds, false);
  }).join();
  check_uniform(chosen, rounds);
  check_uniform(of_two, rounds);
}

TEST_CASE("of several cases that wait for the same, each is as likely to get it") {
  constexpr int rounds = 1'200;
  with_runtime(support::with_procs(1), [] {
    const thrum::chan<int> c(0);
    const thrum::chan<int> other(0);
    std::array<int, 3> received{};
    std::array<int, 2> sent{};
    auto receiver = thrum::spawn([&] {
      for (int i = 0; i != rounds; ++i) {
        // The index among those on c: 0, 2, 3.
        const std::size_t which = thrum::select(on_recv(c), on_recv(other), on_recv(c), on_recv(c));
        ++received.at(which == 0 ? 0 : which - 1);
      }
      for (int i = 0; i != rounds; ++i) {
        ++sent.at(thrum::select(on_send(c, i), on_send(c, i)));
      }
    });
    for (int i = 0; i != rounds; ++i) {
      REQUIRE(support::eventually_yielding([&] { return c.try_send(i); }));
    }
    for (int i = 0; i != rounds; ++i) {
      REQUIRE(support::eventually_yielding([&] { return c.try_recv().has_value(); }));
    }
    receiver.join();
    check_uniform(received, rounds);
    check_uniform(sent, rounds);
  });
}

IN_RUNTIME("an element that was received dies with its handler, though the case is kept") {
  using element = std::shared_ptr<int>;
  const thrum::chan<element> c(1);
  const auto kept = std::make_shared<int>(1);
  long inside = 0;
  // NOLINTNEXTLINE(performance-unnecessary-value-param): as users write it
  auto by_value = on_recv(c, [](std::optional<element>) {});
  auto by_move = on_recv(c, [](element&&, bool) {});
  auto by_nothing = on_recv(c, [&] { inside = kept.use_count(); });
  auto throws = on_recv(c, [](element&&, bool) { throw std::runtime_error("handler"); });
  const auto count_after = [&](auto& of) {
    c.send(kept);
    thrum::select(of);
    return kept.use_count();
  };
  CHECK(count_after(by_value) == 1);
  CHECK(count_after(by_move) == 1);
  CHECK(count_after(by_nothing) == 1);
  CHECK(inside == 1);
  CHECK_THROWS_AS(count_after(throws), std::runtime_error);
  CHECK(kept.use_count() == 1);
  std::vector<thrum::select_case> cases;
  cases.emplace_back(on_recv(c));
  c.send(kept);
  thrum::select(cases);
  CHECK(kept.use_count() == 1);
}

IN_RUNTIME("the destructor of an element that a kept case has received may block") {
  struct yields_at_end {
    bool live;
    explicit yields_at_end(bool is_live) : live(is_live) {}
    yields_at_end(yields_at_end&& other) noexcept : live(std::exchange(other.live, false)) {}
    yields_at_end& operator=(yields_at_end&&) = delete;
    ~yields_at_end() {
      if (live) {
        thrum::this_goroutine::yield();
      }
    }
  };
  const thrum::chan<yields_at_end> a(2);
  const thrum::chan<yields_at_end> b(2);
  auto from_a = on_recv(a);
  auto from_b = on_recv(b);
  std::size_t received = 0;
  for (int round = 0; round != 200; ++round) {
    a.send(yields_at_end(true));
    b.send(yields_at_end(true));
    received += thrum::select(from_a, from_b) < 2;
    received += thrum::select(from_a, from_b) < 2;
  }
  CHECK(received == 400);
  CHECK(a.size() + b.size() == 0);
}

TEST_CASE("a goroutine that selects again and again with no time left ends with its runtime") {
  std::atomic<int> rounds{0};
  std::atomic<bool> was_unwound{false};
  with_runtime([&] {
    const thrum::chan<int> c(0);
    thrum::go([&, c] {
      struct at_end {
        std::atomic<bool>& flag;
        ~at_end() { flag = true; }
      } const scope{was_unwound};
      for (;; ++rounds) {
        thrum::select(on_recv(c), on_timeout(0s));
      }
    });
    REQUIRE(support::eventually([&] { return rounds > 0; }));
    CHECK_FALSE(was_unwound);
  });
  CHECK(was_unwound);
}
