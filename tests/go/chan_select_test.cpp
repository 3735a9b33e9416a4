// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's programs in test/chan that are about select, re-created from their descriptions. What blocks and
// what fails is in unit/select.

#include "support/process.hpp"
#include "support/test.hpp"

#include <deque>
#include <queue>

using thrum::on_recv;
using thrum::on_send;
using thrum::otherwise;

IN_RUNTIME("chan/doubleselect: one select never completes two of its cases", with_procs(2)) {
  const int n = scaled(100'000, 1'000);
  const std::array<thrum::chan<int>, 4> c = {thrum::chan<int>(0), thrum::chan<int>(0),
                                             thrum::chan<int>(0), thrum::chan<int>(0)};
  const thrum::chan<void> done(0);
  const thrum::chan<int> merged(0);
  thrum::go([=] {
    for (int i = 0; i != n; ++i) {
      thrum::select(on_send(c[0], i), on_send(c[1], i), on_send(c[2], i), on_send(c[3], i));
    }
    done.close();
  });
  thrum::wait_group movers;
  for (const thrum::chan<int>& from : c) {
    movers.go([=] {
      for (bool going = true; going;) {
        thrum::select(on_recv(from, [&](std::optional<int> v) { merged.send(v.value()); }),
                      on_recv(done, [&] { going = false; }));
      }
    });
  }
  thrum::go([&movers, merged] {
    movers.wait();
    merged.close();
  });
  std::vector<int> seen(static_cast<std::size_t>(n), 0);
  for (const int value : merged) {
    ++seen[static_cast<std::size_t>(value)];
  }
  CHECK(seen == std::vector<int>(static_cast<std::size_t>(n), 1));
}

IN_RUNTIME("chan/select: a channel set to nil after its send is left alone from then on") {
  const thrum::chan<unsigned> c1(1);
  const thrum::chan<unsigned> c2(1);
  unsigned evaluations = 0;
  unsigned shift = 0;
  const auto next_value = [&] {
    ++evaluations;
    return 1U << shift;
  };
  const auto send_to_both = [&](thrum::chan<unsigned> a, thrum::chan<unsigned> b) {
    int sent = 0;
    bool going = true;
    while (going) {
      thrum::select(on_send(a, next_value(),
                            [&] {
                              ++sent;
                              a = thrum::chan<unsigned>();
                            }),
                    on_send(b, next_value(),
                            [&] {
                              ++sent;
                              b = thrum::chan<unsigned>();
                            }),
                    otherwise([&] { going = false; }));
      ++shift;
    }
    return sent;
  };
  CHECK(send_to_both(c1, c2) == 2);
  CHECK(evaluations == 6);  // two each: for the two sends, and for the look that finds nothing
  const unsigned first = c1.recv().value();
  const unsigned second = c2.recv().value();
  CHECK((first | second) == 3);
  CHECK(send_to_both(c1, thrum::chan<unsigned>()) == 1);
  CHECK(evaluations == 10);
  CHECK(c1.recv() == 8U);
  CHECK(c2.size() == 0);
}

IN_RUNTIME("chan/select2: 100,000 selects that wait leave no memory behind") {
  const thrum::chan<int> c(0);
  const thrum::chan<int> never(0);
  const auto exchange = [&](int n) {
    auto sender = thrum::spawn([=] {
      for (int i = 0; i != n; ++i) {
        thrum::select(on_send(c, i), on_recv(never), on_send(never, 0));
      }
    });
    int mistakes = 0;
    for (int i = 0; i != n; ++i) {
      thrum::select(on_recv(never),
                    on_recv(c, [&](std::optional<int> v) { mistakes += v == i ? 0 : 1; }));
    }
    sender.join();
    CHECK(mistakes == 0);
  };
  exchange(scaled(10'000, 100));  // fills the caches
  const std::size_t before = support::heap_bytes();
  exchange(scaled(100'000, 1'000));
  const std::size_t after = support::heap_bytes();
  if (support::memory_is_exact()) {
    INFO(before << " bytes before, " << after << " after");
    CHECK(after < before + 110'000);
  }
}

namespace {

/// A select that loses is the last in a queue, or alone in it, or in its middle, when it leaves.
/// The queue must serve the others and later ones. `wait` waits on the channel, `select`
/// on the channel or the signal, `serve` serves one.
template <class Wait, class Select, class Serve>
void leaving_keeps_the_queue(int before, int behind, Wait wait, Select select, Serve serve) {
  const thrum::chan<void> signal(0);
  const thrum::chan<void> left(0);
  std::atomic<int> served{0};
  std::uint64_t parked = 0;
  thrum::wait_group group;
  const auto start_waiters = [&](int n) {
    for (int i = 0; i != n; ++i) {
      group.go([&, wait] {
        wait();
        ++served;
      });
      ++parked;
      REQUIRE(eventually([&] { return thrum::stats().waiting == parked; }));
    }
  };
  start_waiters(before);
  group.go([&, select] {
    select(signal);  // loses
    left.send();
  });
  ++parked;
  REQUIRE(eventually([&] { return thrum::stats().waiting == parked; }));
  start_waiters(behind);
  signal.send();
  left.recv();
  --parked;
  start_waiters(1);
  for (int i = 0; i != before + behind + 1; ++i) {
    serve();
  }
  group.wait();
  CHECK(served == before + behind + 1);
}

}  // namespace

IN_RUNTIME(
    "chan/select6: a select that leaves a queue, from any place in it, does not corrupt it") {
  for (const int before : {0, 1, 2}) {
    for (const int behind : {0, 1, 2}) {
      const thrum::chan<bool> c(0);
      leaving_keeps_the_queue(
          before, behind, [c] { c.recv(); },
          [c](const thrum::chan<void>& signal) { thrum::select(on_recv(c), on_recv(signal)); },
          [c] { c.send(true); });
      leaving_keeps_the_queue(
          before, behind, [c] { c.send(true); },
          [c](const thrum::chan<void>& signal) {
            thrum::select(on_send(c, false), on_recv(signal));
          },
          [c] { CHECK(c.recv() == true); });
      bool out = false;
      CHECK_FALSE(c.try_send(true));
      CHECK(c.try_recv(out) == thrum::recv_status::empty);
    }
  }
}

IN_RUNTIME("chan/select7: every form of receive pairs with every form of send, values discarded") {
  using channel = thrum::chan<int>;
  const channel never(0);
  const std::vector<std::function<void(const channel&)>> receives = {
      [](const channel& c) { c.recv(); },
      [](const channel& c) { thrum::select(on_recv(c)); },
      [=](const channel& c) { thrum::select(on_recv(c), on_recv(never)); },
      [=](const channel& c) {
        std::vector<thrum::select_case> cases;
        cases.push_back(on_recv(never));
        cases.push_back(on_recv(c));
        thrum::select(cases);
      },
  };
  const std::vector<std::function<void(const channel&)>> sends = {
      [](const channel& c) { c.send(1); },
      [](const channel& c) { thrum::select(on_send(c, 1)); },
      [=](const channel& c) { thrum::select(on_send(c, 1), on_send(never, 2)); },
      [=](const channel& c) {
        std::vector<thrum::select_case> cases;
        cases.push_back(on_send(never, 2));
        cases.push_back(on_send(c, 1));
        thrum::select(cases);
      },
  };
  for (const auto& receive : receives) {
    for (const auto& send : sends) {
      const channel receiver_first(0);
      auto receiver = thrum::spawn([&] { receive(receiver_first); });
      REQUIRE(are_waiting(1));
      send(receiver_first);
      receiver.join();
      const channel sender_first(0);
      auto sender = thrum::spawn([&] { send(sender_first); });
      REQUIRE(are_waiting(1));
      receive(sender_first);
      sender.join();
    }
  }
}

namespace {

/// A queue without bound between a sender and a receiver: a select that both receives and sends,
/// with a nil channel while there is nothing to send.
thrum::send_chan<int> unbounded(const thrum::chan<int>& out) {
  const thrum::chan<int> in(10);
  thrum::go([=] {
    std::deque<int> queue;
    for (;;) {
      const thrum::chan<int> to = queue.empty() ? thrum::chan<int>() : out;
      const int head = queue.empty() ? 0 : queue.front();
      thrum::select(on_recv(in, [&](std::optional<int> v) { queue.push_back(v.value()); }),
                    on_send(to, head, [&] { queue.pop_front(); }));
    }
  });
  return in;
}

/// The odd multiples of an odd prime from its square on.
thrum::recv_chan<int> multiples(int prime) {
  const thrum::chan<int> out(10);
  thrum::go([=] {
    for (int n = prime * prime;; n += 2 * prime) {
      out.send(n);
    }
  });
  return out;
}

/// The odd composites in ascending order, some of them more than once: a heap merges the multiples
/// of all primes, which come back in through `primes` in ascending order, from 3 on.
thrum::recv_chan<int> odd_composites(thrum::recv_chan<int> primes) {
  const thrum::chan<int> out(50);
  thrum::go([=] {
    using stream = std::pair<int, thrum::recv_chan<int>>;  // the head and the rest
    const auto later = [](const stream& a, const stream& b) { return a.first > b.first; };
    std::priority_queue<stream, std::vector<stream>, decltype(later)> streams(later);
    int newest = 0;
    const auto take_prime = [&] {
      newest = primes.recv().value();
      const thrum::recv_chan<int> all = multiples(newest);
      const int head = all.recv().value();
      streams.emplace(head, all);
    };
    take_prime();
    for (;;) {
      // The square of the next prime is not below that of newest + 2.
      while (streams.top().first >= (newest + 2) * (newest + 2)) {
        take_prime();
      }
      const stream top = streams.top();
      streams.pop();
      out.send(top.first);
      streams.emplace(top.second.recv().value(), top.second);
    }
  });
  return out;
}

}  // namespace

IN_RUNTIME("chan/sieve2: streams of multiples, merged and fed back, leave the primes below 100") {
  const thrum::chan<int> feedback(10);
  const thrum::send_chan<int> found = unbounded(feedback);
  found.send(3);
  const thrum::recv_chan<int> composites = odd_composites(feedback);
  std::vector<int> primes = {2, 3};
  int composite = composites.recv().value();
  for (int n = 5; n < 100; n += 2) {
    while (composite < n) {
      composite = composites.recv().value();
    }
    if (composite != n) {
      primes.push_back(n);
      found.send(n);
    }
  }
  CHECK(primes == std::vector<int>{2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
                                   43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97});
}
