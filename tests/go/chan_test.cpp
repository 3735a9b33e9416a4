// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of channels that do without select, re-created from their descriptions.

#include "support/test.hpp"

#include <concepts>

using thrum::recv_status;

namespace {

/// Lets a goroutine that was just started run until it parks, or for a while if it does not.
void let_run(const std::atomic<bool>& begun) {
  REQUIRE(eventually([&] { return begun.load(); }));
  thrum::sleep_for(100us);
}

void empty_blocks_receivers(std::size_t capacity) {
  thrum::chan<int> c(capacity);
  std::atomic<int> received{0};
  std::atomic<bool> begun{false};
  thrum::wait_group group;
  group.go([&] {
    c.recv();
    ++received;
  });
  group.go([&] {
    begun = true;
    int out = 0;
    c.recv(out);
    ++received;
  });
  let_run(begun);
  CHECK(received == 0);
  int ignored = 0;
  CHECK(c.try_recv(ignored) == recv_status::empty);
  c.send(0);
  c.send(0);
  group.wait();
  CHECK(received == 2);
}

void full_blocks_senders(std::size_t capacity) {
  thrum::chan<int> c(capacity);
  for (std::size_t i = 0; i != capacity; ++i) {
    c.send(static_cast<int>(i));
  }
  std::atomic<bool> sent{false};
  std::atomic<bool> begun{false};
  auto sender = thrum::spawn([&] {
    begun = true;
    c.send(0);
    sent = true;
  });
  let_run(begun);
  CHECK_FALSE(sent);
  if (capacity != 0) {  // unbuffered, there is a sender to receive from, but still no receiver
    CHECK_FALSE(c.try_send(0));
  } else {
    int untouched = 7;
    CHECK_FALSE(c.try_send(untouched));
    CHECK(untouched == 7);
  }
  CHECK(c.recv() == 0);
  sender.join();
  CHECK(sent);
}

void closed_drains_and_then_ends(std::size_t capacity) {
  thrum::chan<int> c(capacity);
  for (std::size_t i = 0; i != capacity; ++i) {
    c.send(static_cast<int>(i));
  }
  c.close();
  for (std::size_t i = 0; i != capacity; ++i) {
    REQUIRE(c.recv() == static_cast<int>(i));
  }
  CHECK(c.recv() == std::nullopt);
  int untouched = 7;
  CHECK(c.recv(untouched) == recv_status::closed);
  CHECK(c.try_recv(untouched) == recv_status::closed);
  CHECK(untouched == 7);
}

void close_wakes_a_receiver(std::size_t capacity) {
  thrum::chan<int> c(capacity);
  std::atomic<bool> begun{false};
  auto receiver = thrum::spawn([&] {
    begun = true;
    return c.recv();
  });
  let_run(begun);
  CHECK_FALSE(receiver.done());
  c.close();
  CHECK(receiver.join() == std::nullopt);
}

void order_is_kept(std::size_t capacity, bool blocking) {
  constexpr int n = 100;
  thrum::chan<int> c(capacity);
  thrum::go([c]() mutable {
    for (int i = 0; i != n; ++i) {
      c.send(i);
    }
  });
  for (int i = 0; i != n; ++i) {
    int received = -1;
    if (blocking) {
      REQUIRE(c.recv(received) == recv_status::ok);
    } else {
      while (c.try_recv(received) != recv_status::ok) {
        thrum::this_goroutine::yield();
      }
    }
    REQUIRE(received == i);
  }
}

void nothing_is_lost_or_doubled(std::size_t capacity) {
  constexpr int parties = 4;
  const int n = scaled(1'000, 50);
  thrum::chan<int> c(capacity);
  for (int p = 0; p != parties; ++p) {
    thrum::go([=]() mutable {
      for (int i = 0; i != n; ++i) {
        c.send(i);
      }
    });
  }
  using counts = std::vector<int>;
  thrum::chan<counts> done(0);
  for (int p = 0; p != parties; ++p) {
    thrum::go([=]() mutable {
      counts seen(static_cast<std::size_t>(n), 0);
      for (int i = 0; i != n; ++i) {
        ++seen[static_cast<std::size_t>(*c.recv())];
      }
      done.send(std::move(seen));
    });
  }
  counts sum(static_cast<std::size_t>(n), 0);
  for (int p = 0; p != parties; ++p) {
    const counts part = *done.recv();
    for (std::size_t i = 0; i != part.size(); ++i) {
      sum[i] += part[i];
    }
  }
  CHECK(sum == counts(static_cast<std::size_t>(n), parties));
}

void size_and_capacity_are_right(std::size_t capacity) {
  thrum::chan<int> c(capacity * 2);
  REQUIRE(c.size() == 0);
  REQUIRE(c.capacity() == capacity * 2);
  for (std::size_t i = 0; i != capacity; ++i) {
    c.send(static_cast<int>(i));
  }
  REQUIRE(c.size() == capacity);
  REQUIRE(c.capacity() == capacity * 2);
}

}  // namespace

IN_RUNTIME("Chan: the promises of a channel hold for every capacity from 0 to 199") {
  const std::size_t capacities = scaled<std::size_t>(200, 20);
  for (std::size_t capacity = 0; capacity != capacities; ++capacity) {
    INFO("capacity " << capacity);
    empty_blocks_receivers(capacity);
    full_blocks_senders(capacity);
    closed_drains_and_then_ends(capacity);
    close_wakes_a_receiver(capacity);
    order_is_kept(capacity, true);
    order_is_kept(capacity, false);
    nothing_is_lost_or_doubled(capacity);
    size_and_capacity_are_right(capacity);
  }
}

IN_RUNTIME("NonblockRecvRace: what was buffered before the close is there for a try_recv") {
  std::atomic<int> missed{0};
  for (int i = scaled(10'000); i > 0; --i) {
    thrum::chan<int> c(1);
    c.send(1);
    auto receiver = thrum::spawn([&missed, c]() mutable {
      int value = 0;
      missed += c.try_recv(value) == recv_status::ok && value == 1 ? 0 : 1;
    });
    c.close();
    receiver.join();
  }
  CHECK(missed == 0);
}

IN_RUNTIME("MultiConsumer: 23 workers pass on every one of 271,828 items") {
  constexpr unsigned workers = 23;
  const int items = scaled(271'828);
  constexpr std::array<int, 8> primes = {2, 3, 7, 11, 13, 17, 19, 23};
  thrum::chan<int> queue(workers * 3);
  thrum::chan<int> results(workers * 3);
  thrum::wait_group group;
  for (unsigned worker = 0; worker != workers; ++worker) {
    group.go([=]() mutable {
      for (const int value : queue) {
        if (primes[worker % primes.size()] == value) {
          thrum::this_goroutine::yield();  // mixes the order up
        }
        results.send(value);
      }
    });
  }
  std::int64_t expected = 0;
  thrum::go([=, &group, &expected]() mutable {
    for (int i = 0; i != items; ++i) {
      const int value = primes[static_cast<std::size_t>(i) % primes.size()];
      queue.send(value);
      expected += value;
    }
    queue.close();
    group.wait();
    results.close();
  });
  int n = 0;
  std::int64_t sum = 0;
  for (const int value : results) {
    ++n;
    sum += value;
  }
  CHECK(n == items);
  CHECK(sum == expected);
}

IN_RUNTIME("PseudoRandomSend: a sender that tries both of two channels reaches both") {
  thrum::chan<int> a(0);
  thrum::chan<int> b(0);
  thrum::go([=]() mutable {
    for (unsigned i = 0;; ++i) {
      if (!(i % 2 == 0 ? a : b).try_send(static_cast<int>(i))) {
        thrum::this_goroutine::yield();
      }
      if (thrum::this_goroutine::stop_token().stop_requested()) {
        return;
      }
    }
  });
  for (int i = 0; i != 100; ++i) {
    REQUIRE(a.recv());
    REQUIRE(b.recv());
  }
}

IN_RUNTIME("chan/fifo: a chain of goroutines hands an unbuffered channel on in its order") {
  constexpr int n = 10;
  thrum::chan<int> c(0);
  thrum::chan<int> in(0);
  const thrum::chan<int> first = in;
  std::atomic<int> mistakes{0};
  for (int i = 0; i != n; ++i) {
    thrum::chan<int> out(0);
    thrum::go([=, &mistakes]() mutable {
      in.recv();
      mistakes += c.recv() == i ? 0 : 1;
      out.send(1);
    });
    in = out;
  }
  thrum::go([start = first]() mutable { start.send(0); });
  for (int i = 0; i != n; ++i) {
    c.send(i);
  }
  in.recv();
  CHECK(mistakes == 0);
}

IN_RUNTIME("chan/goroutines: one value travels through a chain of 10,000 goroutines") {
  const int n = support::live_goroutines(10'000);
  const thrum::chan<int> leftmost(0);
  thrum::chan<int> left = leftmost;
  thrum::chan<int> right = leftmost;
  for (int i = 0; i != n; ++i) {
    right = thrum::make_chan<int>();
    thrum::go([left, right]() mutable { left.send(*right.recv() + 1); });
    left = right;
  }
  thrum::go([right]() mutable { right.send(1); });
  CHECK(thrum::chan<int>(leftmost).recv() == n + 1);
}

// ---- chan/perm: what a direction forbids does not compile ---------------------------------------

namespace {

template <class C>
concept can_send = requires(C& c) {
  c.send(1);
};
template <class C>
concept can_try_send = requires(C& c) {
  c.try_send(1);
};
template <class C>
concept can_receive = requires(C& c, int& out) {
  c.recv();
  c.recv(out);
  c.try_recv(out);
};
template <class C>
concept has_any_receive = requires(C& c) {
  c.recv();
}
|| requires(C& c, int& out) { c.try_recv(out); }
|| requires(C& c) { c.begin(); };
template <class C>
concept can_close = requires(C& c) {
  c.close();
};
template <class C>
concept can_range = requires(C& c) {
  c.begin();
  c.end();
};

using both = thrum::chan<int>;
using sending_end = thrum::send_chan<int>;
using receiving_end = thrum::recv_chan<int>;

static_assert(can_send<both> && can_try_send<both> && can_receive<both> && can_close<both> &&
              can_range<both>);
static_assert(can_send<sending_end> && can_try_send<sending_end> && can_close<sending_end>);
static_assert(!has_any_receive<sending_end>);
static_assert(can_receive<receiving_end> && can_range<receiving_end>);
static_assert(!can_send<receiving_end> && !can_try_send<receiving_end> &&
              !can_close<receiving_end>);

static_assert(std::convertible_to<both, sending_end>);
static_assert(std::convertible_to<both, receiving_end>);
static_assert(!std::convertible_to<sending_end, both>);
static_assert(!std::convertible_to<receiving_end, both>);
static_assert(!std::convertible_to<sending_end, receiving_end>);
static_assert(!std::convertible_to<receiving_end, sending_end>);
static_assert(!std::convertible_to<thrum::chan<long>, both>);

}  // namespace
