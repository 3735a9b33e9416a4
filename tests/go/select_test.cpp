// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of select in its runtime package, re-created from their descriptions.

#include "support/test.hpp"

#include <cmath>

using thrum::on_recv;
using thrum::on_send;
using thrum::otherwise;

namespace {

/// A select with a default looks at two channels of which one is ready at every moment: the second
/// becomes ready, by a close or a send, before the first is emptied. It must never take the default.
void default_is_not_taken(bool by_close) {
  std::atomic<int> defaults{0};
  thrum::chan<bool> done(1);
  for (int i = scaled(100'000, 1'000); i > 0; --i) {
    thrum::chan<int> c1(1);
    thrum::chan<int> c2(1);
    c1.send(1);
    thrum::go([&defaults, c1, c2, done] {
      bool took_default = false;
      thrum::select(on_recv(c1), on_recv(c2), otherwise([&] { took_default = true; }));
      defaults += took_default ? 1 : 0;
      done.send(true);
    });
    by_close ? c2.close() : c2.send(1);
    int ignored = 0;
    static_cast<void>(c1.try_recv(ignored));
    done.recv();
    if (defaults != 0) {
      break;
    }
  }
  CHECK(defaults == 0);
}

}  // namespace

IN_RUNTIME("NonblockSelectRace: a select sees all its channels at one moment, also a close") {
  default_is_not_taken(false);
  default_is_not_taken(true);
}

IN_RUNTIME("SelfSelect: selects that send and receive on one channel never serve themselves",
           with_procs(2)) {
  for (const std::size_t capacity : {0U, 10U}) {
    const thrum::chan<int> c(capacity);
    const int rounds = scaled(1'000, 100);
    std::atomic<int> self_received{0};
    in_goroutines(2, [&](int p) {
      for (int i = 0; i != rounds; ++i) {
        const auto check = [&](std::optional<int> v) {
          // From a buffer a goroutine may receive its own value, from a partner it may not.
          self_received += c.capacity() == 0 && v == p ? 1 : 0;
        };
        if (p == 0 || i % 2 == 0) {
          thrum::select(on_send(c, p), on_recv(c, check));
        } else {
          thrum::select(on_recv(c, check), on_send(c, p));
        }
      }
    });
    CHECK(self_received == 0);
  }
}

IN_RUNTIME("SelectStress: ten goroutines over four channels lose and double nothing",
           with_procs(10)) {
  std::array<thrum::chan<int>, 4> c = {thrum::chan<int>(0), thrum::chan<int>(0),
                                       thrum::chan<int>(2), thrum::chan<int>(3)};
  const int n = scaled(10'000, 500);
  std::array<std::vector<int>, 4> received;
  for (auto& values : received) {
    values.assign(static_cast<std::size_t>(n), 0);
  }
  thrum::wait_group group;

  // Four that send and four that receive, each on one channel.
  for (std::size_t k = 0; k != 4; ++k) {
    group.go([&, k] {
      for (int i = 0; i != n; ++i) {
        c.at(k).send(i);
      }
    });
  }
  // A goroutine that sends all values on all four channels, whichever is ready; a channel that
  // has had its share becomes nil.
  group.go([&] {
    std::array<int, 4> sent{};
    std::array<thrum::chan<int>, 4> open = c;
    for (int i = 0; i != 4 * n; ++i) {
      const std::size_t k = thrum::select(on_send(open[3], sent[3]), on_send(open[2], sent[2]),
                                          on_send(open[0], sent[0]), on_send(open[1], sent[1]));
      const std::size_t channel = std::array<std::size_t, 4>{3, 2, 0, 1}.at(k);
      if (++sent.at(channel) == n) {
        open.at(channel) = thrum::chan<int>();
      }
    }
  });
  std::array<std::vector<int>, 4> by_one;
  for (std::size_t k = 0; k != 4; ++k) {
    group.go([&, k] {
      for (int i = 0; i != n; ++i) {
        by_one.at(k).push_back(c.at(k).recv().value());
      }
    });
  }
  group.go([&] {
    std::array<int, 4> count{};
    std::array<thrum::chan<int>, 4> open = c;
    for (int i = 0; i != 4 * n; ++i) {
      const auto keep = [&](std::size_t k) {
        return [&, k](std::optional<int> v) {
          ++received.at(k).at(static_cast<std::size_t>(v.value()));
          if (++count.at(k) == n) {
            open.at(k) = thrum::chan<int>();
          }
        };
      };
      thrum::select(on_recv(open[0], keep(0)), on_recv(open[1], keep(1)), on_recv(open[2], keep(2)),
                    on_recv(open[3], keep(3)));
    }
  });
  group.wait();

  // Each channel carried every value twice.
  for (std::size_t k = 0; k != 4; ++k) {
    for (const int value : by_one.at(k)) {
      ++received.at(k).at(static_cast<std::size_t>(value));
    }
    CHECK(received.at(k) == std::vector<int>(static_cast<std::size_t>(n), 2));
    CHECK(c.at(k).size() == 0);
  }
}

IN_RUNTIME("SelectDuplicateChannel: a channel given twice leaves its queue in order") {
  const thrum::chan<int> c(0);
  const thrum::chan<int> d(0);
  const thrum::chan<int> e(0);
  std::atomic<int> served{0};
  thrum::wait_group group;
  // Waits for c twice.
  group.go([&] {
    thrum::select(on_recv(c), on_recv(c), on_recv(d));
    e.send(9);
  });
  REQUIRE(are_waiting(1));
  // Waits for c behind it.
  group.go([&] {
    c.recv();
    ++served;
  });
  REQUIRE(are_waiting(2));
  d.send(7);  // wakes the first, which leaves c's queue
  e.recv();
  c.send(8);  // and now the second
  group.wait();
  CHECK(served == 1);
  CHECK_FALSE(c.try_send(1));
}

IN_RUNTIME("ChanSendSelect: what is sent by a select lives on when the sender forgets it") {
  const thrum::chan<std::vector<int>> c(0);
  const thrum::chan<void> never(0);
  const int rounds = scaled(1'000, 100);
  thrum::wait_group group;
  for (int g = 0; g != 4; ++g) {
    group.go([=] {
      for (int i = 0; i != rounds; ++i) {
        thrum::select(on_send(c, std::vector<int>(100, i)), on_recv(never));
      }
    });
  }
  int mistakes = 0;
  for (int i = 0; i != 4 * rounds; ++i) {
    const std::vector<int> v = c.recv().value();
    mistakes += v == std::vector<int>(100, v.at(0)) ? 0 : 1;
  }
  group.wait();
  CHECK(mistakes == 0);
}

TEST_CASE("SelectStackAdjust: a select that waits while its stack is deep gets its value") {
  // Go moves the stacks of blocked goroutines; ours stay, so the depth is what is left to try.
  with_runtime([] {
    const thrum::chan<int*> c(0);
    const thrum::chan<int*> d(0);
    struct deep {
      // Not inlined, or each level of the recursion would have the select's frame.
      [[gnu::noinline]] static int* wait_here(const thrum::chan<int*>& a,
                                              const thrum::chan<int*>& b) {
        int* received = nullptr;
        const auto keep = [&](std::optional<int*> v) { received = v.value(); };
        thrum::select(on_recv(a, keep), on_recv(b, keep));
        return received;
      }
      static int* wait(const thrum::chan<int*>& a, const thrum::chan<int*>& b, int depth) {
        const volatile int kept = depth;
        int* const result = depth != 0 ? wait(a, b, depth - 1) : wait_here(a, b);
        return kept == depth ? result : nullptr;
      }
    };
    int target = 0;
    std::vector<thrum::join_handle<int*>> waiters;
    for (int i = 0; i != 10; ++i) {
      waiters.push_back(thrum::spawn([=] { return deep::wait(c, d, 100 * (i % 3)); }));
    }
    REQUIRE(are_waiting(10));
    for (int i = 0; i != 10; ++i) {
      (i % 2 == 0 ? c : d).send(&target);
    }
    for (auto& waiter : waiters) {
      CHECK(waiter.join() == &target);
    }
  });
}
