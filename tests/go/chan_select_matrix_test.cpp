// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tables of what a channel operation or a select does: blocks, fails, goes through, or does
// not compile. Re-created from the descriptions of select3, select5 and perm in test/chan.

#include "support/test.hpp"

using thrum::on_recv;
using thrum::on_send;
using thrum::otherwise;

using int_chan = thrum::chan<int>;

namespace {

enum class outcome { passes, blocks, fails };

int_chan nil_channel() { return {}; }
int_chan empty_channel() { return int_chan(0); }
int_chan full_channel() {
  int_chan c(1);
  c.send(1);
  return c;
}
int_chan with_room() {
  int_chan c(2);
  c.send(1);
  return c;
}
int_chan closed_channel() {
  int_chan c(0);
  c.close();
  return c;
}
int_chan closed_with_data() {
  int_chan c = with_room();
  c.close();
  return c;
}

/// A state of a channel, and what comes of a receive and of a send on it.
struct state {
  const char* name;
  int_chan (*make)();
  outcome receive;
  outcome send;
};

constexpr std::array<state, 6> states = {{
    {"nil", &nil_channel, outcome::blocks, outcome::blocks},
    {"empty", &empty_channel, outcome::blocks, outcome::blocks},
    {"full", &full_channel, outcome::passes, outcome::blocks},
    {"with room", &with_room, outcome::passes, outcome::passes},
    {"closed", &closed_channel, outcome::passes, outcome::fails},
    {"closed with data", &closed_with_data, outcome::passes, outcome::fails},
}};

/// Checks what comes of an operation. Goroutines that block are left to the end of the runtime.
class table {
 public:
  template <class Operation>
  void check(const std::string& what, outcome expected, Operation operation) {
    INFO(what);
    auto at_work = thrum::spawn([operation] { return !usage_message(operation).empty(); });
    if (expected == outcome::blocks) {
      ++blocked_;
      CHECK(eventually([&] { return thrum::stats().waiting == blocked_; }));
      CHECK_FALSE(at_work.done());
      at_work.detach();
    } else {
      REQUIRE(at_work.wait_for(support::long_time));
      CHECK(at_work.join() == (expected == outcome::fails));
    }
  }

 private:
  std::uint64_t blocked_ = 0;
};

/// The outcome of a select without a default, from the outcomes of its cases alone; not for a
/// passing case beside a failing one, either of which may be chosen.
outcome of_both(outcome a, outcome b) { return a == outcome::blocks ? b : a; }
bool is_certain(outcome a, outcome b) {
  return a == b || a == outcome::blocks || b == outcome::blocks;
}
outcome with_default(outcome o) { return o == outcome::blocks ? outcome::passes : o; }

}  // namespace

IN_RUNTIME("chan/select3: plain operations block, fail or pass by the state of their channel") {
  table t;
  for (const state& s : states) {
    const std::string name = s.name;
    t.check("receive, " + name, s.receive, [c = s.make()] { c.recv(); });
    t.check("send, " + name, s.send, [c = s.make()] { c.send(7); });
    t.check("try_recv, " + name, outcome::passes, [c = s.make()] {
      int out = 0;
      static_cast<void>(c.try_recv(out));
    });
    t.check("try_send, " + name, with_default(s.send),
            [c = s.make()] { static_cast<void>(c.try_send(7)); });
    const bool can_close = !s.make().is_closed() && s.make();
    t.check("close, " + name, can_close ? outcome::passes : outcome::fails,
            [c = s.make()] { c.close(); });
  }
}

IN_RUNTIME(
    "chan/select3: selects of one case, with and without a default, do as plain operations") {
  table t;
  for (const state& s : states) {
    const std::string name = s.name;
    t.check("receive, " + name, s.receive, [c = s.make()] { thrum::select(on_recv(c)); });
    t.check("send, " + name, s.send, [c = s.make()] { thrum::select(on_send(c, 7)); });
    t.check("receive or default, " + name, outcome::passes,
            [c = s.make()] { thrum::select(on_recv(c), otherwise()); });
    t.check("send or default, " + name, with_default(s.send),
            [c = s.make()] { thrum::select(on_send(c, 7), otherwise()); });
  }
}

IN_RUNTIME(
    "chan/select3: selects of two cases pass or fail if one of them can, and block otherwise") {
  table t;
  for (const state& s : states) {
    for (const state& u : states) {
      const std::string name = std::string(s.name) + " and " + u.name;
      t.check("two receives, " + name, of_both(s.receive, u.receive),
              [a = s.make(), b = u.make()] { thrum::select(on_recv(a), on_recv(b)); });
      if (is_certain(s.send, u.send)) {
        t.check("two sends, " + name, of_both(s.send, u.send),
                [a = s.make(), b = u.make()] { thrum::select(on_send(a, 7), on_send(b, 8)); });
      }
      if (is_certain(s.receive, u.send)) {
        t.check("receive and send, " + name, of_both(s.receive, u.send),
                [a = s.make(), b = u.make()] { thrum::select(on_recv(a), on_send(b, 8)); });
        t.check("receive, default and send, " + name, with_default(of_both(s.receive, u.send)),
                [a = s.make(), b = u.make()] {
                  thrum::select(on_recv(a), otherwise(), on_send(b, 8));
                });
      }
    }
  }
}

IN_RUNTIME("chan/select3: an empty select blocks, and one with only a default does not") {
  table t;
  t.check("empty", outcome::blocks, [] { thrum::select(); });
  t.check("default", outcome::passes, [] { thrum::select(otherwise()); });
  t.check("empty at run time", outcome::blocks, [] {
    std::vector<thrum::select_case> none;
    thrum::select(none);
  });
  t.check("only nil channels", outcome::blocks, [] {
    const int_chan nil;
    thrum::select(on_recv(nil), on_send(nil, 1), on_recv(nil));
  });
}

IN_RUNTIME("chan/select3: a select that could only pair with itself blocks") {
  table t;
  t.check("unbuffered", outcome::blocks,
          [c = int_chan(0)] { thrum::select(on_send(c, 7), on_recv(c)); });
  t.check("unbuffered, the other order", outcome::blocks,
          [c = int_chan(0)] { thrum::select(on_recv(c), on_send(c, 7)); });
  t.check("unbuffered, or a default", outcome::passes,
          [c = int_chan(0)] { thrum::select(on_recv(c), on_send(c, 7), otherwise()); });
  t.check("buffered", outcome::passes,
          [c = int_chan(1)] { thrum::select(on_send(c, 7), on_recv(c)); });
}

namespace {

/// A select of four cases in some order, of which one is ready: which one that is, and whether a
/// default stands among them, are the test's.
struct arrangement {
  std::array<int_chan, 3> sources;
  int_chan sink{1};
  const int value = 103;
  std::array<int, 4> received{};
  bool took_default = false;

  explicit arrangement(std::size_t ready) {
    for (int_chan& c : sources) {
      c = int_chan(1);
    }
    if (ready < 3) {
      sources.at(ready).send(100 + static_cast<int>(ready));
    }
    if (ready != 3) {
      sink.send(0);  // full
    }
  }
  auto source(std::size_t i) {
    return on_recv(sources.at(i), [this, i](std::optional<int> v) { received.at(i) = v.value(); });
  }
  auto send() {
    return on_send(sink, value, [this] { received[3] = value; });
  }
  auto fallback() {
    return otherwise([this] { took_default = true; });
  }
};

/// The four cases and perhaps a default, by the digits of `order`.
std::size_t select_in_order(arrangement& a, const std::vector<std::size_t>& order) {
  std::vector<thrum::select_case> cases;
  for (const std::size_t digit : order) {
    if (digit < 3) {
      cases.push_back(a.source(digit));
    } else if (digit == 3) {
      cases.push_back(a.send());
    } else {
      cases.push_back(a.fallback());
    }
  }
  return thrum::select(cases);
}

void check_effect(const arrangement& a, std::size_t ready) {
  for (std::size_t i = 0; i != 4; ++i) {
    REQUIRE(a.received.at(i) == (i == ready ? 100 + static_cast<int>(i) : 0));
  }
  for (std::size_t i = 0; i != 3; ++i) {
    REQUIRE(a.sources.at(i).size() == 0);
  }
  REQUIRE(a.sink.size() == 1);
  REQUIRE(a.took_default == (ready == 4));
}

}  // namespace

IN_RUNTIME(
    "chan/select5: in every order of the cases, with and without a default, the ready one runs") {
  for (const bool with_fallback : {false, true}) {
    std::vector<std::size_t> order = {0, 1, 2, 3};
    if (with_fallback) {
      order.push_back(4);
    }
    do {
      for (std::size_t ready = 0; ready != order.size(); ++ready) {
        arrangement a(ready);
        const std::size_t chosen = select_in_order(a, order);
        REQUIRE(order.at(chosen) == ready);
        check_effect(a, ready);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

IN_RUNTIME("chan/select5: in every order of the cases, the one that becomes ready later runs") {
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    for (std::size_t ready = 0; ready != order.size(); ++ready) {
      arrangement a(4);  // none
      auto selector = thrum::spawn([&] { return select_in_order(a, order); });
      REQUIRE(eventually([] { return thrum::stats().waiting == 1; }));
      if (ready == 3) {
        a.sink.recv();
      } else {
        a.sources.at(ready).send(100 + static_cast<int>(ready));
      }
      REQUIRE(order.at(selector.join()) == ready);
      check_effect(a, ready);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

IN_RUNTIME("chan/select5: the operands of every case are evaluated once, chosen or not") {
  const int_chan c(1);
  const int_chan d(1);
  int channels = 0;
  int values = 0;
  const auto counted = [&](const int_chan& of) -> const int_chan& {
    ++channels;
    return of;
  };
  const auto value = [&] { return ++values; };
  for (int i = 1; i <= 10; ++i) {
    thrum::select(on_send(counted(c), value()), on_recv(counted(d)),
                  on_send(counted(nil_channel()), value()), otherwise());
    CHECK(channels == 3 * i);
    CHECK(values == 2 * i);
  }
  CHECK(c.size() == 1);
}

// ---- perm: what a direction forbids does not compile -------------------------------------------

namespace {

template <class C>
concept can_be_received_from = requires(C& c) {
  on_recv(c);
  on_recv(c, [] {});
};
template <class C>
concept may_be_received_from = requires(C& c) {
  on_recv(c);
};
template <class C>
concept can_be_sent_to = requires(C& c) {
  on_send(c, 1);
  on_send(c, 1, [] {});
};
template <class C>
concept may_be_sent_to = requires(C& c) {
  on_send(c, 1);
};

static_assert(can_be_received_from<thrum::chan<int>> && can_be_sent_to<thrum::chan<int>>);
static_assert(can_be_received_from<const thrum::chan<int>> &&
              can_be_sent_to<const thrum::chan<int>>);
static_assert(can_be_received_from<thrum::recv_chan<int>>);
static_assert(!may_be_sent_to<thrum::recv_chan<int>>);
static_assert(can_be_sent_to<thrum::send_chan<int>>);
static_assert(!may_be_received_from<thrum::send_chan<int>>);
static_assert(can_be_received_from<thrum::chan<void>> &&
              can_be_received_from<thrum::recv_chan<void>>);
static_assert(!may_be_received_from<thrum::send_chan<void>>);
static_assert(!may_be_received_from<int> && !may_be_sent_to<int>);

template <class C>
concept a_signal_can_be_sent_to = requires(C& c) {
  on_send(c);
  on_send(c, [] {});
};
static_assert(a_signal_can_be_sent_to<thrum::chan<void>> &&
              a_signal_can_be_sent_to<thrum::send_chan<void>>);
static_assert(!a_signal_can_be_sent_to<thrum::recv_chan<void>>);

template <class... Cases>
concept can_be_selected = requires(Cases&&... cases) {
  thrum::select(std::forward<Cases>(cases)...);
};
static_assert(can_be_selected<>);
static_assert(can_be_selected<decltype(otherwise())>);
static_assert(can_be_selected<decltype(on_recv(std::declval<int_chan&>()))&>);
static_assert(!can_be_selected<int> && !can_be_selected<int_chan>);

}  // namespace
