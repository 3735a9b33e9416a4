// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A select that has to wait: what wakes it, what it leaves behind, and how its runtime ends it. And select
// on threads that are not of a runtime.
#include <thrum/detail/chan/base.hpp>
#include <thrum/select.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;
using thrum::recv_status;

namespace {

/// Whether this many goroutines come to be parked.
bool are_parked(std::uint64_t n) {
  return eventually([=] { return thrum::stats().waiting == n; });
}

/// Whether nobody waits on it: neither a receiver nor a sender.
bool is_deserted(const thrum::chan<int>& c) {
  int out = 0;
  return !c.try_send(1) && c.try_recv(out) == recv_status::empty;
}

struct counts_at_end {
  std::atomic<int>& count;
  explicit counts_at_end(std::atomic<int>& c) : count(c) {}
  counts_at_end(const counts_at_end&) = delete;
  counts_at_end& operator=(const counts_at_end&) = delete;
  ~counts_at_end() { ++count; }
};

}  // namespace

// ---- what wakes it -----------------------------------------------------------------------------

IN_RUNTIME("a select that waits is woken by a sender, whichever of its channels it comes to") {
  for (std::size_t which = 0; which != 3; ++which) {
    const std::array<thrum::chan<int>, 3> c = {thrum::chan<int>(0), thrum::chan<int>(1),
                                               thrum::chan<int>(0)};
    int seen = 0;
    auto selector = thrum::spawn([&] {
      return thrum::select(on_recv(c[0], [&](std::optional<int> v) { seen = v.value(); }),
                           on_recv(c[1], [&](int&& v, bool) { seen = v; }),
                           on_recv(c[2], [&](std::optional<int> v) { seen = v.value(); }));
    });
    REQUIRE(are_parked(1));
    c.at(which).send(42);
    CHECK(selector.join() == which);
    CHECK(seen == 42);
  }
}

IN_RUNTIME("a select that waits to send is woken by a receiver") {
  const thrum::chan<std::string> unbuffered(0);
  const thrum::chan<std::string> full(1);
  full.send("first");
  for (const auto& c : {unbuffered, full}) {
    std::string value = "a string that does not fit into its own object";
    const std::string before = value;
    auto selector = thrum::spawn([&] {
      return thrum::select(on_send(unbuffered, std::move(value)), on_send(full, std::move(value)));
    });
    REQUIRE(are_parked(1));
    CHECK(value == before);  // still in its place
    const std::optional<std::string> received = c.recv();
    CHECK(selector.join() == (c == full ? 1U : 0U));
    CHECK(received == (c == full ? "first" : before));
    CHECK(value.empty());
  }
  CHECK(full.recv() == "a string that does not fit into its own object");
}

IN_RUNTIME("a select that waits is woken by a close: a receive ends, a send is an error of use") {
  const thrum::chan<int> open(0);
  const thrum::chan<int> received(0);
  auto receiver = thrum::spawn([&] {
    bool ended = false;
    const std::size_t chosen = thrum::select(
        on_send(open, 1), on_recv(received, [&](std::optional<int> v) { ended = !v; }));
    return ended ? chosen : 99;
  });
  REQUIRE(are_parked(1));
  received.close();
  CHECK(receiver.join() == 1);

  const thrum::chan<std::unique_ptr<int>> sent(0);
  auto value = std::make_unique<int>(7);
  auto sender = thrum::spawn([&] {
    return is_usage_error("select",
                          [&] { thrum::select(on_recv(open), on_send(sent, std::move(value))); });
  });
  REQUIRE(are_parked(1));
  sent.close();
  CHECK(sender.join());
  CHECK(value != nullptr);
  CHECK(is_deserted(open));
}

IN_RUNTIME("two selects meet, and each carries out its own side of one hand-over") {
  const thrum::chan<int> a(0);
  const thrum::chan<int> b(0);
  const int rounds = scaled(2'000, 100);
  std::atomic<int> mistakes{0};
  auto sender = thrum::spawn([&] {
    for (int i = 0; i != rounds; ++i) {
      thrum::select(on_send(a, i), on_send(b, -i));
    }
  });
  for (int i = 0; i != rounds; ++i) {
    thrum::select(on_recv(a, [&](std::optional<int> v) { mistakes += v == i ? 0 : 1; }),
                  on_recv(b, [&](std::optional<int> v) { mistakes += v == -i ? 0 : 1; }));
  }
  sender.join();
  CHECK(mistakes == 0);
}

IN_RUNTIME("selects and plain receivers of a channel are served in the order in which they came") {
  const thrum::chan<int> c(0);
  const thrum::chan<int> other(0);
  constexpr int n = 20;
  std::vector<thrum::join_handle<int>> receivers;
  for (int i = 0; i != n; ++i) {
    receivers.push_back(thrum::spawn([=] {
      int received = -1;
      if (i % 2 == 0) {
        received = c.recv().value();
      } else {
        thrum::select(on_recv(other),
                      on_recv(c, [&](std::optional<int> v) { received = v.value(); }));
      }
      return received;
    }));
    REQUIRE(are_parked(static_cast<std::uint64_t>(i) + 1));
  }
  for (int i = 0; i != n; ++i) {
    c.send(i);
  }
  for (int i = 0; i != n; ++i) {
    CHECK(receivers[static_cast<std::size_t>(i)].join() == i);
  }
}

IN_RUNTIME("a channel may be given twice, in both directions, beside others") {
  const thrum::chan<int> c(0);
  const thrum::chan<int> d(0);
  for (int i = 0; i != 50; ++i) {
    int seen = 0;
    auto selector = thrum::spawn([&] {
      const auto keep = [&](std::optional<int> v) { seen = v.value(); };
      return thrum::select(on_recv(c, keep), on_send(c, 7), on_recv(d), on_recv(c, keep),
                           on_send(c, 8));
    });
    REQUIRE(are_parked(1));
    if (i % 2 == 0) {
      c.send(42);
      CHECK(selector.join() % 3 == 0);
      CHECK(seen == 42);
    } else {
      const int received = c.recv().value();
      CHECK(selector.join() == (received == 7 ? 1U : 4U));
    }
    REQUIRE(is_deserted(c));
    REQUIRE(is_deserted(d));
  }
}

// ---- what it leaves behind ---------------------------------------------------------------------

IN_RUNTIME("the cases that lose are out of their channels' queues when select returns") {
  const thrum::chan<int> a(0);
  const thrum::chan<int> b(0);
  const thrum::chan<int> wins(0);
  CHECK(thrum::select(on_recv(a), on_send(b, 1), on_timeout(1ms)) == 2);
  CHECK(is_deserted(a));
  CHECK(is_deserted(b));
  auto selector = thrum::spawn(
      [&] { return thrum::select(on_recv(a), on_recv(wins), on_send(b, 1), on_timeout(1h)); });
  REQUIRE(are_parked(1));
  wins.send(1);
  CHECK(selector.join() == 1);
  CHECK(is_deserted(a));
  CHECK(is_deserted(b));
  CHECK(is_deserted(wins));
}

IN_RUNTIME("selects whose time-outs race with their partner agree with it on what came of it") {
  const thrum::chan<int> a(0);
  const thrum::chan<int> b(0);
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  std::atomic<int> next{0};
  const int rounds = scaled(500, 50);
  support::on_goroutines_and_threads(6, [&] {
    const int g = next++;
    for (int i = 0; i != rounds; ++i) {
      const std::chrono::microseconds time((g * 13 + i) % 60);
      if (g % 2 == 0) {
        thrum::select(on_send(a, 1, [&] { ++sent; }), on_timeout(time),
                      on_send(b, 1, [&] { ++sent; }));
      } else {
        thrum::select(on_recv(b, [&] { ++received; }), on_timeout(time),
                      on_recv(a, [&] { ++received; }));
      }
    }
  });
  CHECK(sent == received);
  CHECK(is_deserted(a));
  CHECK(is_deserted(b));
}

IN_RUNTIME("what is written before a send is seen by the select that receives, and the reverse") {
  const thrum::chan<int*> c(0);
  const thrum::chan<int*> back(0);
  const thrum::chan<void> never(0);
  const int rounds = scaled(5'000, 100);
  int mistakes = 0;
  auto sender = thrum::spawn([&] {
    for (int i = 0; i != rounds; ++i) {
      auto owned = std::make_unique<int>(i);  // not atomic: ThreadSanitizer looks
      thrum::select(on_send(c, owned.get()), on_recv(never));
      thrum::select(on_recv(back), on_recv(never));
      mistakes += *owned == -i ? 0 : 1;
    }
    c.close();
  });
  int expected = 0;
  bool open = true;
  while (open) {
    thrum::select(on_recv(never), on_recv(c, [&](std::optional<int*> v) {
                    open = v.has_value();
                    if (open) {
                      REQUIRE(**v == expected);
                      **v = -expected++;
                      back.send(*v);
                    }
                  }));
  }
  sender.join();
  CHECK(expected == rounds);
  CHECK(mistakes == 0);
}

// ---- the end of the runtime --------------------------------------------------------------------

TEST_CASE("a runtime that stops ends the selects that wait, and runs their destructors") {
  std::atomic<int> unwound{0};
  std::atomic<int> went_on{0};
  auto value = std::make_unique<int>(7);
  const thrum::chan<int> c(0);
  const thrum::chan<int> d(0);
  const thrum::chan<std::unique_ptr<int>> values(0);
  const auto waits = [&](auto select) {
    thrum::go([&, select] {
      const counts_at_end guard(unwound);
      select();
      ++went_on;
    });
  };
  with_runtime([&] {
    waits([] { thrum::select(); });
    waits([&] { thrum::select(on_recv(c), on_send(c, 1)); });
    waits([] { thrum::select(on_recv(thrum::chan<int>()), on_send(thrum::chan<int>(), 1)); });
    waits([] { thrum::select(on_timeout(1h)); });
    waits([&] { thrum::select(on_recv(d), on_timeout(1h), on_send(values, std::move(value))); });
    REQUIRE(are_parked(5));
    CHECK(unwound == 0);
  });
  CHECK(unwound == 5);
  CHECK(went_on == 0);
  CHECK(value != nullptr);
  CHECK(is_deserted(c));
  CHECK(is_deserted(d));
}

TEST_CASE("a handler that waits when the runtime stops is unwound through its select") {
  std::atomic<int> unwound{0};
  with_runtime([&] {
    const thrum::chan<int> c(1);
    c.send(1);
    thrum::go([&, c] {
      const counts_at_end outside(unwound);
      thrum::select(on_recv(c, [&, local = std::make_unique<int>(1)] {
        const counts_at_end inside(unwound);
        thrum::select(on_recv(c, [] {}), on_timeout(1h));
      }));
    });
    REQUIRE(are_parked(1));
  });
  CHECK(unwound == 2);
}

TEST_CASE("selects that are ended while others serve them lose nothing") {
  for (int round = 0; round != scaled(50, 5); ++round) {
    const thrum::chan<int> c(0);
    const thrum::chan<int> d(0);
    std::atomic<int> sent{0};
    std::atomic<int> received{0};
    with_runtime([&] {
      std::atomic<int> begun{0};
      for (int g = 0; g != 8; ++g) {
        thrum::go([&, g] {
          for (++begun;;) {
            if (g % 2 == 0) {
              thrum::select(on_send(c, 1, [&] { ++sent; }), on_send(d, 1, [&] { ++sent; }));
            } else {
              thrum::select(on_recv(c, [&] { ++received; }), on_recv(d, [&] { ++received; }));
            }
          }
        });
      }
      REQUIRE(eventually([&] { return begun == 8 && sent > 20; }));
    });
    REQUIRE(sent == received);
  }
}

IN_RUNTIME("foreign threads and goroutines select against each other") {
  const int n = scaled(4'000, 100);
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> next{0};
  std::atomic<int> left{4 * n};
  const thrum::chan<int> a(0);
  const thrum::chan<int> b(2);
  const thrum::chan<int> nil;
  const auto add = [&](std::optional<int> v) { sum += v.value_or(0); };
  support::on_goroutines_and_threads(4, [&] {
    if (next++ % 2 == 0) {
      for (int i = 1; i <= n; ++i) {
        thrum::select(on_send(a, i), on_recv(nil), on_send(b, i));
      }
    } else {
      while (left.fetch_sub(1) > 0) {
        thrum::select(on_recv(a, add), on_timeout(1h), on_recv(b, add));
      }
    }
  });
  CHECK(sum == std::int64_t{4} * n * (n + 1) / 2);
}

TEST_CASE("select works between foreign threads without any runtime") {
  const thrum::chan<int> a(0);
  const thrum::chan<void> end(0);
  constexpr int n = 200;
  std::thread sender([&] {
    for (int i = 0; i != n; ++i) {
      thrum::select(on_send(a, i), on_recv(end));
    }
    end.close();
  });
  int received = 0;
  for (bool open = true; open;) {
    thrum::select(on_recv(a, [&](std::optional<int> v) { received += v.value() >= 0 ? 1 : 0; }),
                  on_recv(end, [&] { open = false; }));
  }
  sender.join();
  CHECK(received == n);
  CHECK(thrum::select(on_recv(a), otherwise()) == 1);
  CHECK(thrum::select(on_recv(a), on_send(a, 1), on_timeout(1ms)) == 2);
  CHECK(thrum::select(on_timeout(1ms)) == 0);
}

namespace {

/// A channel of which there is only what all channels have.
struct bare_channel : thrum::chan_detail::chan_base {
  bare_channel() noexcept : chan_base(0, nullptr, nullptr) {}
};

}  // namespace

TEST_CASE("a channel whose last handle has gone gets no other") {
  bare_channel channel;
  CHECK(channel.add_reference_if_alive());
  CHECK_FALSE(channel.drop_reference_only());
  CHECK(channel.drop_reference_only());
  CHECK_FALSE(channel.add_reference_if_alive());
}

IN_RUNTIME("a select that has been served elsewhere and has not run yet is no receiver any more",
           support::with_procs(1)) {
  const thrum::chan<int> served(0);
  const thrum::chan<int> other(0);
  auto receiver =
      thrum::spawn([&] { return thrum::select(thrum::on_recv(served), thrum::on_recv(other)); });
  REQUIRE(support::eventually_yielding([] { return thrum::stats().waiting == 1; }));
  served.send(1);  // the receiver runs when this goroutine lets it
  CHECK(thrum::select(thrum::on_send(other, 2), thrum::otherwise()) == 1);
  CHECK_FALSE(other.try_send(3));
  CHECK(receiver.join() == 0);
}

IN_RUNTIME("behind a select that has been served elsewhere the next receiver is served",
           support::with_procs(1)) {
  const thrum::chan<int> served(0);
  const thrum::chan<int> other(0);
  auto selecting =
      thrum::spawn([&] { return thrum::select(thrum::on_recv(served), thrum::on_recv(other)); });
  REQUIRE(support::eventually_yielding([] { return thrum::stats().waiting == 1; }));
  auto next = thrum::spawn([&] { return other.recv(); });
  REQUIRE(support::eventually_yielding([] { return thrum::stats().waiting == 2; }));
  served.send(1);
  CHECK(thrum::select(thrum::on_send(other, 2), thrum::otherwise()) == 0);
  CHECK(next.join() == 2);
  CHECK(selecting.join() == 0);
}
