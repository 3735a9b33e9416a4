// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Many cases: the run-time form of select, and long lists of both forms. And elements whose move
// may throw, which are boxed while a select has them.

#include <thrum/select.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"

#include <ctime>
#include <numeric>
#include <tuple>

using thrum::on_done;
using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;
using thrum::select_case;

namespace {

// NOLINTBEGIN(bugprone-use-after-move, performance-noexcept-move-constructor): what is left of a value
// that was moved, and moves that throw, are what is tested

/// Throws when it is moved while that is asked for.
struct throws_on_move {
  static inline std::atomic<bool> armed{false};
  static inline std::atomic<int> alive{0};
  std::string text;
  explicit throws_on_move(std::string t) : text(std::move(t)) { ++alive; }
  throws_on_move(throws_on_move&& other) : text((check(), std::move(other.text))) { ++alive; }
  throws_on_move& operator=(throws_on_move&& other) {
    check();
    text = std::move(other.text);
    return *this;
  }
  ~throws_on_move() { --alive; }
  static void check() {
    if (armed) {
      throw std::runtime_error("moved");
    }
  }
};

/// Goes into its box by construction, and back by assignment.
struct throws_on_return {
  throws_on_return() = default;
  throws_on_return(throws_on_return&&) noexcept(false) {}
  throws_on_return& operator=(throws_on_return&&) { throw std::runtime_error("moved back"); }
  ~throws_on_return() = default;
};

using support::new_source;

/// What the calling thread has used of a processor.
std::int64_t thread_time() {
  ::timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

#if defined(_WIN32)
constexpr std::int64_t tick_of_thread_time = 16'000'000;
#else
constexpr std::int64_t tick_of_thread_time = 0;
#endif

/// select(on_recv(c[0], f), on_recv(c[1], f), ...).
template <std::size_t... I, class F>
std::size_t select_among(const std::array<thrum::chan<int>, sizeof...(I)>& c,
                         std::index_sequence<I...>, F f) {
  return thrum::select(on_recv(c[I], f)...);
}

}  // namespace

// ---- the run-time form -------------------------------------------------------------------------

IN_RUNTIME("a range of cases is selected from as the cases of a call") {
  const thrum::chan<int> ints(1);
  const thrum::chan<std::string> strings(1);
  const thrum::chan<void> signals(1);
  std::string seen;
  std::vector<select_case> cases;
  cases.push_back(on_recv(thrum::chan<int>(), [&] { seen += "nil "; }));
  cases.push_back(on_recv(ints, [&](std::optional<int> v) { seen += std::to_string(v.value()); }));
  cases.push_back(on_recv(strings, [&](std::string&& v, bool) { seen += v; }));
  cases.push_back(on_recv(signals, [&](bool ok) { seen += ok ? "signal" : "end"; }));
  cases.push_back(on_timeout(1ms, [&] { seen += "late"; }));
  ints.send(5);
  CHECK(thrum::select(std::span<select_case>(cases)) == 1);
  strings.send(" text ");
  CHECK(thrum::select(cases) == 2);  // a vector is a span
  signals.close();
  CHECK(thrum::select(cases) == 3);
  CHECK(thrum::select(std::span(cases).subspan(3)) == 0);  // counted from where the span begins
  CHECK(seen == "5 text endend");
  cases.erase(cases.begin() + 3);
  CHECK(thrum::select(cases) == 3);
  CHECK(thrum::select(std::span(cases).last(1)) == 0);
  CHECK(seen == "5 text endendlatelate");
}

IN_RUNTIME("select_case holds a case of every kind") {
  const thrum::chan<int> c(0);
  std::stop_source source = new_source();
  std::vector<select_case> cases;
  cases.emplace_back(on_recv(c));
  cases.emplace_back(on_send(c, 1));
  cases.emplace_back(on_recv(c.receiver()));
  cases.emplace_back(on_send(c.sender(), 1));
  cases.emplace_back(on_done(source.get_token()));
  cases.emplace_back(on_timeout(1h));
  cases.emplace_back(thrum::on_deadline(std::chrono::steady_clock::now() + 1h));
  cases.emplace_back(otherwise());
  CHECK(thrum::select(cases) == 7);
  source.request_stop();
  CHECK(thrum::select(cases) == 4);
  CHECK(thrum::select(cases) == 4);  // and again
}

IN_RUNTIME("the run-time form refuses a second otherwise, and does nothing then") {
  const thrum::chan<int> c(1);
  c.send(1);
  std::vector<select_case> cases;
  cases.push_back(otherwise());
  cases.push_back(on_recv(c));
  cases.push_back(otherwise());
  CHECK(is_usage_error("select", [&] { thrum::select(cases); }));
  CHECK(c.size() == 1);
}

TEST_CASE("no cases at run time: the select waits until its runtime stops") {
  std::atomic<bool> went_on{false};
  with_runtime([&] {
    thrum::go([&] {
      thrum::select(std::span<select_case>());
      went_on = true;
    });
    REQUIRE(are_waiting(1));
  });
  CHECK_FALSE(went_on);
}

IN_RUNTIME("a select_case owns its channel and its value") {
  std::vector<select_case> cases;
  thrum::recv_chan<std::string> out;
  {
    const thrum::chan<std::string> c(1);
    out = c;
    std::string value = "a string that does not fit into its own object";
    cases.push_back(on_send(c, std::move(value)));
    value = "something else";
  }
  cases.push_back(on_send(thrum::chan<std::unique_ptr<int>>(0), std::make_unique<int>(7)));
  CHECK(thrum::select(cases) == 0);
  CHECK(out.recv() == "a string that does not fit into its own object");
}

IN_RUNTIME("cases can be used again: a receive any number of times, a value while it is not sent") {
  const thrum::chan<int> in(0);
  const thrum::chan<std::unique_ptr<int>> out(1);
  int sum = 0;
  std::vector<select_case> cases;
  cases.push_back(on_recv(in, [&](std::optional<int> v) { sum += v.value_or(0); }));
  cases.push_back(on_send(out, std::make_unique<int>(7)));
  out.send(nullptr);  // full
  auto sender = thrum::spawn([=] {
    for (int i = 1; i <= 100; ++i) {
      in.send(i);
    }
  });
  for (int i = 0; i != 100; ++i) {
    REQUIRE(thrum::select(cases) == 0);
  }
  sender.join();
  CHECK(sum == 5'050);
  CHECK(*out.recv() == nullptr);
  CHECK(thrum::select(cases) == 1);
  const std::unique_ptr<int> sent = *out.recv();
  REQUIRE(sent != nullptr);
  CHECK(*sent == 7);
}

IN_RUNTIME("a fan-in over channels that end one by one, each struck out when it ends") {
  constexpr std::size_t n = 30;
  const int each = scaled(100, 10);
  std::vector<thrum::chan<int>> sources;
  for (std::size_t i = 0; i != n; ++i) {
    sources.emplace_back(i % 3);
    thrum::go([c = sources.back(), i, each] {
      for (int k = 1; k <= each + static_cast<int>(i); ++k) {
        c.send(k);
      }
      c.close();
    });
  }
  std::int64_t received = 0;
  std::size_t ended = 0;
  while (ended != n) {
    std::vector<select_case> cases;
    cases.reserve(sources.size());
    for (thrum::chan<int>& c : sources) {
      cases.push_back(on_recv(c, [&](std::optional<int> v) {
        if (v) {
          ++received;
        } else {
          ++ended;
          c = thrum::chan<int>();
        }
      }));
    }
    thrum::select(cases);
  }
  CHECK(received ==
        static_cast<std::int64_t>(n) * each + static_cast<std::int64_t>(n * (n - 1) / 2));
}

IN_RUNTIME("a select over a thousand channels finds the one that is ready, now or later") {
  constexpr std::size_t n = 1'000;
  std::vector<thrum::chan<int>> channels;
  std::vector<select_case> cases;
  std::size_t seen = n;
  for (std::size_t i = 0; i != n; ++i) {
    channels.emplace_back(1);
    cases.push_back(on_recv(channels.back(), [&seen, i] { seen = i; }));
  }
  for (std::size_t i = 0; i < n; i += 37) {
    channels[i].send(1);
    REQUIRE(thrum::select(cases) == i);
    REQUIRE(seen == i);
    auto later = thrum::spawn([&] { return thrum::select(cases); });
    REQUIRE(are_waiting(1));
    channels[n - 1 - i].send(1);
    REQUIRE(later.join() == n - 1 - i);
  }
}

// ---- long lists in the form of a call ----------------------------------------------------------

// By the thread's time.
TEST_CASE("a select that waits with many cases does not search among those on the same channel",
          "[.soak]") {
  // The least of the thread's time that it takes to wait with so many cases on so many channels.
  const auto cost = [](std::size_t n, std::size_t channels) {
    std::vector<select_case> cases;
    cases.reserve(n + 1);
    std::vector<thrum::chan<int>> all;
    for (std::size_t i = 0; i != channels; ++i) {
      all.push_back(thrum::make_chan<int>());
    }
    for (std::size_t i = 0; i != n; ++i) {
      cases.emplace_back(on_recv(all[i % channels]));
    }
    cases.emplace_back(on_timeout(10ms));
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round != 3; ++round) {
      const std::int64_t before = thread_time();
      CHECK(thrum::select(cases) == n);
      least = std::min(least, thread_time() - before);
    }
    return least;
  };
  // With a search in each case it is some 50 times as much, with none it is less: there are fewer
  // locks.
  constexpr std::size_t n = 16'000;
  CHECK(cost(n, n / 2) < 10 * (cost(n, n) + tick_of_thread_time));
}

IN_RUNTIME("a select with 20 cases chooses each of them when it is ready") {
  constexpr std::size_t n = 20;
  std::array<thrum::chan<int>, n> c;
  for (auto& channel : c) {
    channel = thrum::chan<int>(1);
  }
  int seen = 0;
  const auto keep = [&](std::optional<int> v) { seen = v.value(); };
  for (std::size_t i = 0; i != n; ++i) {
    c[i].send(static_cast<int>(i));
    REQUIRE(select_among(c, std::make_index_sequence<n>(), keep) == i);
    REQUIRE(seen == static_cast<int>(i));
  }
  for (std::size_t i = 0; i != n; ++i) {
    auto later = thrum::spawn([&] { return select_among(c, std::make_index_sequence<n>(), keep); });
    REQUIRE(are_waiting(1));
    c[i].send(-1);
    REQUIRE(later.join() == i);
    REQUIRE(seen == -1);
  }
}

// ---- elements whose move may throw -------------------------------------------------------------

TEST_CASE("elements whose move may throw are sent, received, and given back if they were not") {
  with_runtime([] {
    const thrum::chan<throws_on_move> c(0);
    throws_on_move value("value");
    CHECK(thrum::select(on_send(c, std::move(value)), otherwise()) == 1);
    CHECK(value.text == "value");
    CHECK(thrum::select(on_send(thrum::chan<throws_on_move>(), value), on_timeout(1ms)) == 1);
    CHECK(value.text == "value");
    CHECK(thrum::select(on_send(c, value), on_timeout(1ms)) == 1);
    CHECK(value.text == "value");
    auto receiver = thrum::spawn([&] {
      std::string text;
      thrum::select(on_recv(c, [&](std::optional<throws_on_move> v) { text = v.value().text; }),
                    on_timeout(1h));
      return text;
    });
    CHECK(thrum::select(on_timeout(1h), on_send(c, std::move(value))) == 1);
    CHECK(receiver.join() == "value");
    c.close();
    throws_on_move kept("kept");
    CHECK(is_usage_error("select", [&] { thrum::select(on_send(c, std::move(kept))); }));
    CHECK(kept.text == "kept");
  });
  CHECK(throws_on_move::alive == 0);
}

TEST_CASE("one value offered to several channels goes to one of them, whole") {
  with_runtime([] {
    const thrum::chan<throws_on_move> full(0);
    const thrum::chan<throws_on_move> open(1);
    const thrum::chan<throws_on_move> nil;
    throws_on_move value("value");
    CHECK(thrum::select(on_send(nil, std::move(value)), on_send(full, std::move(value)),
                        on_send(full, std::move(value)), otherwise()) == 3);
    CHECK(value.text == "value");
    CHECK(thrum::select(on_send(full, std::move(value)), on_send(open, std::move(value)),
                        on_send(full, std::move(value))) == 1);
    CHECK(open.recv().value().text == "value");
    throws_on_move other("other");
    auto receiver = thrum::spawn([&] { return full.recv().value().text; });
    CHECK(thrum::select(on_send(nil, std::move(other)), on_send(full, std::move(other)),
                        on_send(nil, std::move(other))) == 1);
    CHECK(receiver.join() == "other");
  });
  CHECK(throws_on_move::alive == 0);
}

TEST_CASE(
    "one value offered to several channels goes to one of them, whatever their handlers are") {
  with_runtime([] {
    const thrum::chan<throws_on_move> full(0);
    const thrum::chan<throws_on_move> open(1);
    throws_on_move value("value");
    int called = 0;
    CHECK(thrum::select(on_send(full, std::move(value), [&] { ++called; }),
                        on_send(full, std::move(value), [&] { --called; }), otherwise()) == 2);
    CHECK(value.text == "value");
    CHECK(thrum::select(on_send(full, std::move(value), [&] { --called; }),
                        on_send(open, std::move(value), [&] { ++called; })) == 1);
    CHECK(open.recv().value().text == "value");
    CHECK(called == 1);
  });
  CHECK(throws_on_move::alive == 0);
}

TEST_CASE("a move that throws before select has begun leaves everything as it was") {
  with_runtime([] {
    const thrum::chan<throws_on_move> c(1);
    throws_on_move value("value");
    throws_on_move::armed = true;
    CHECK_THROWS_AS(thrum::select(on_send(c, std::move(value)), otherwise()), std::runtime_error);
    throws_on_move::armed = false;
    CHECK(value.text == "value");
    CHECK(c.size() == 0);
    CHECK(thrum::select(on_send(c, std::move(value)), otherwise()) == 0);
    CHECK(c.recv()->text == "value");
  });
  CHECK(throws_on_move::alive == 0);
}

TEST_CASE("a move that throws on the way to the handler leaves select as an exception") {
  with_runtime([] {
    const thrum::chan<throws_on_move> c(1);
    thrum::select(on_send(c, throws_on_move("value")));
    bool called = false;
    throws_on_move::armed = true;
    CHECK_THROWS_AS(
        thrum::select(on_recv(c, [&](std::optional<throws_on_move>) { called = true; })),
        std::runtime_error);
    throws_on_move::armed = false;
    CHECK_FALSE(called);
    CHECK(c.size() == 0);  // it was received
  });
  CHECK(throws_on_move::alive == 0);
}

TEST_CASE("a value that cannot be moved back, because that throws, leaves select as an exception") {
  with_runtime([] {
    const thrum::chan<throws_on_move> c(0);
    const thrum::chan<void> end(0);
    throws_on_move value("value");
    auto armer = thrum::spawn([&] {
      const bool waits = are_waiting(1);
      throws_on_move::armed = true;
      end.close();
      return waits;
    });
    CHECK_THROWS_AS(thrum::select(on_send(c, std::move(value)), on_recv(end)), std::runtime_error);
    CHECK(armer.join());
    throws_on_move::armed = false;
  });
  CHECK(throws_on_move::alive == 0);
}

IN_RUNTIME("the chosen case gets its element though another case's value cannot be moved back") {
  const thrum::chan<throws_on_return> nobody(0);
  const thrum::chan<int> full(1);
  throws_on_return value;
  throws_on_return other;
  int received = 0;
  const auto keep = [&](std::optional<int> v) { received = v.value(); };
  const auto gets_its_element = [&](auto select) {
    received = 0;
    full.send(7);
    try {
      select();  // of two channels, one that is ready may be taken before anything has moved
    } catch (const std::runtime_error&) {
    }
    CHECK(full.size() == 0);
    return received == 7;
  };
  CHECK(gets_its_element(
      [&] { thrum::select(on_send(nobody, std::move(value)), on_recv(full, keep)); }));
  CHECK(gets_its_element(
      [&] { thrum::select(on_recv(full, keep), on_send(nobody, std::move(value))); }));
  CHECK(gets_its_element([&] {
    thrum::select(on_send(nobody, std::move(value)), on_recv(full, keep),
                  on_send(nobody, std::move(other)));
  }));
  CHECK(gets_its_element([&] {
    std::vector<thrum::select_case> cases;
    cases.emplace_back(on_send(nobody, std::move(value)));
    cases.emplace_back(on_recv(full, keep));
    thrum::select(cases);
  }));

  full.send(7);
  CHECK_THROWS_AS(thrum::select(on_send(nobody, std::move(value)), on_recv(full, keep),
                                on_send(nobody, std::move(other))),
                  std::runtime_error);

  // Handed over by a sender that comes later.
  auto sender = thrum::spawn([&] { full.send(8); });
  CHECK_THROWS_AS(thrum::select(on_send(nobody, std::move(value)), on_recv(full, keep),
                                on_send(nobody, std::move(other))),
                  std::runtime_error);
  sender.join();
  CHECK(received == 8);

  // A handler that throws comes first.
  full.send(9);
  CHECK_THROWS_AS(thrum::select(on_send(nobody, std::move(value)),
                                on_recv(full, [] { throw std::logic_error("handler"); }),
                                on_send(nobody, std::move(other))),
                  std::logic_error);
}

TEST_CASE("if one value cannot be moved back, the others that were not sent are") {
  with_runtime([] {
    const thrum::chan<throws_on_move> c(0);
    const thrum::chan<throws_on_return> d(0);
    throws_on_return first;
    throws_on_move second("second");
    CHECK_THROWS_AS(
        thrum::select(on_send(d, std::move(first)), on_send(c, std::move(second)), otherwise()),
        std::runtime_error);
    CHECK(second.text == "second");
    std::vector<select_case> cases;
    cases.push_back(on_send(d, throws_on_return()));
    cases.push_back(on_send(c, std::move(second)));
    cases.push_back(otherwise());
    CHECK_THROWS_AS(thrum::select(std::span(cases)), std::runtime_error);
    auto receiver = thrum::spawn([&] { return c.recv().value().text; });
    CHECK(thrum::select(std::span(cases).subspan(1, 1)) == 0);
    CHECK(receiver.join() == "second");
  });
  CHECK(throws_on_move::alive == 0);
}

// NOLINTEND(bugprone-use-after-move, performance-noexcept-move-constructor)
