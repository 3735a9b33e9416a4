// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/chan.hpp>

#include "support/test.hpp"
#include "support/waits.hpp"

#include <unordered_map>
#include <unordered_set>

using thrum::recv_status;

static_assert(std::is_nothrow_copy_constructible_v<thrum::chan<int>>);
static_assert(std::is_nothrow_move_constructible_v<thrum::chan<int>>);
static_assert(std::is_nothrow_default_constructible_v<thrum::chan<int>>);

// ---- the handle --------------------------------------------------------------------------------

IN_RUNTIME("a channel is a shared handle that compares by identity") {
  thrum::chan<int> a(1);
  thrum::chan<int> b(1);
  thrum::chan<int> copy = a;
  CHECK(a == copy);
  CHECK(a != b);
  copy.send(7);
  CHECK(a.size() == 1);
  CHECK(a.recv() == 7);
  const thrum::chan<int> moved = std::move(copy);
  CHECK(moved == a);
  CHECK_FALSE(copy);  // NOLINT(bugprone-use-after-move): the nil channel
  b = a;
  CHECK(b == a);
  CHECK(thrum::make_chan<int>(5).capacity() == 5);
  CHECK(thrum::make_chan<int>().capacity() == 0);
}

TEST_CASE("a channel and its views are found in a hash table by what they are equal to") {
  const thrum::chan<int> a(1);
  const thrum::chan<int> b(1);
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): what is looked up is a copy
  const thrum::chan<int> copy = a;
  CHECK(std::hash<thrum::chan<int>>()(a) == std::hash<thrum::chan<int>>()(copy));
  CHECK(a == a.receiver());
  CHECK(std::hash<thrum::chan<int>>()(a) == std::hash<thrum::recv_chan<int>>()(a));
  CHECK(std::hash<thrum::chan<int>>()(a) == std::hash<thrum::send_chan<int>>()(a));
  const std::unordered_map<thrum::chan<int>, int> numbers{{a, 1}, {b, 2}, {{}, 3}};
  CHECK(numbers.at(copy) == 1);
  CHECK(numbers.at(b) == 2);
  CHECK(numbers.at(thrum::chan<int>()) == 3);
  std::unordered_set<thrum::recv_chan<int>> views{a, b, copy};
  CHECK(views.size() == 2);
  const thrum::chan<void> signals(1);
  const std::unordered_set<thrum::send_chan<void>> senders{signals, signals.sender()};
  CHECK(senders.size() == 1);
}

TEST_CASE("channels are elements of a set, and are ordered as they are equal") {
  const thrum::chan<int> a(1);
  const thrum::chan<int> b(1);
  const std::set<thrum::chan<int>> all{a, b, a, {}};
  CHECK(all.size() == 3);
  CHECK(all.contains(b));
  CHECK((a < b) != (b < a));
  CHECK(a <= a.receiver());
  const thrum::chan<void> signals(1);
  CHECK(std::set<thrum::recv_chan<void>>{signals, signals.receiver()}.size() == 1);
}

IN_RUNTIME("views share the channel, one way") {
  thrum::chan<int> c(2);
  thrum::send_chan<int> in = c;
  thrum::recv_chan<int> out = c;
  in.send(1);
  CHECK(out.size() == 1);
  CHECK(out.capacity() == 2);
  CHECK(out.recv() == 1);
  in.close();
  CHECK(out.is_closed());
  CHECK(out.recv() == std::nullopt);
  CHECK(c.sender() == in);
  CHECK(c.receiver() == out);
  const auto takes_view = [](const thrum::recv_chan<int>& view) { return view.is_closed(); };
  CHECK(takes_view(c));
}

IN_RUNTIME("the nil channel is false, has no room and is never ready") {
  thrum::chan<int> nil;
  CHECK_FALSE(nil);
  CHECK(nil == thrum::chan<int>());
  CHECK(nil.size() == 0);
  CHECK(nil.capacity() == 0);
  CHECK_FALSE(nil.is_closed());
  int value = 7;
  CHECK_FALSE(nil.try_send(value));
  CHECK(nil.try_recv(value) == recv_status::empty);
  CHECK_FALSE(nil.send_for(value, 1ms));
  CHECK(nil.recv_for(value, 1ms) == recv_status::timeout);
  CHECK(value == 7);
  CHECK(is_usage_error("chan::close", [&] { nil.close(); }));
  std::atomic<int> went_on{0};
  thrum::go([&] {
    thrum::chan<int>().recv();
    ++went_on;
  });
  thrum::go([&] {
    thrum::chan<int>().send(1);
    ++went_on;
  });
  CHECK(are_waiting(2));
  CHECK(went_on == 0);
}

TEST_CASE("a capacity that cannot be counted is an error of use") {
  CHECK(is_usage_error(
      "make_chan", [] { (void)thrum::make_chan<int>(std::numeric_limits<std::size_t>::max()); }));
}

// ---- errors of use -----------------------------------------------------------------------------

IN_RUNTIME("sending on a closed channel and closing it again are errors of use") {
  thrum::chan<std::string> c(1);
  c.close();
  std::string kept = "kept";
  CHECK(is_usage_error("chan::", [&] { c.send("x"); }));
  CHECK(is_usage_error("chan::", [&] { static_cast<void>(c.try_send(kept)); }));
  CHECK(is_usage_error("chan::", [&] { c.send_for(kept, 1ms); }));
  CHECK(is_usage_error("chan::close", [&] { c.close(); }));
  CHECK(kept == "kept");
}

IN_RUNTIME("a sender that waits when the channel is closed gets the error") {
  thrum::chan<int> c(0);
  constexpr int n = 10;
  std::atomic<int> errors{0};
  thrum::wait_group group;
  for (int i = 0; i != n; ++i) {
    group.go([&, c]() mutable { errors += is_usage_error("chan::", [&] { c.send(1); }) ? 1 : 0; });
  }
  REQUIRE(are_waiting(n));
  c.close();
  group.wait();
  CHECK(errors == n);
  CHECK(c.recv() == std::nullopt);
}

// ---- time-outs ---------------------------------------------------------------------------------

IN_RUNTIME("recv_for and send_for give up after the time and not before") {
  thrum::chan<int> c(0);
  int value = 7;
  auto begin = std::chrono::steady_clock::now();
  CHECK(c.recv_for(value, 3ms) == recv_status::timeout);
  CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
  begin = std::chrono::steady_clock::now();
  CHECK_FALSE(c.send_for(value, 3ms));
  CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
  CHECK(c.recv_for(value, 0ms) == recv_status::timeout);
  CHECK(c.recv_for(value, -1s) == recv_status::timeout);
  CHECK(value == 7);
  c.close();
  CHECK(c.recv_for(value, support::long_time) == recv_status::closed);
}

IN_RUNTIME("a waiter that has timed out is out of the queue") {
  thrum::chan<int> c(0);
  int value = 0;
  CHECK(c.recv_for(value, 1ms) == recv_status::timeout);
  CHECK_FALSE(c.try_send(1));  // nobody waits for it any more
  CHECK_FALSE(c.send_for(1, 1ms));
  CHECK(c.try_recv(value) == recv_status::empty);
}

IN_RUNTIME("time-outs that race with their partner agree with it on what came of it") {
  const thrum::chan<int> c(0);
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  std::atomic<int> next{0};
  const int rounds = scaled(500, 50);
  // Even ones send and odd ones receive: goroutines and threads meet their own kind and the other.
  support::on_goroutines_and_threads(6, [&] {
    const int g = next++;
    for (int i = 0; i != rounds; ++i) {
      const std::chrono::microseconds time((g * 13 + i) % 60);
      int value = 1;
      if (g % 2 == 0) {
        sent += c.send_for(value, time) ? 1 : 0;
      } else {
        received += c.recv_for(value, time) == recv_status::ok ? 1 : 0;
      }
    }
  });
  CHECK(sent == received);
}

// ---- order -------------------------------------------------------------------------------------

IN_RUNTIME("senders are served in the order in which they came, behind what is buffered") {
  thrum::chan<int> c(3);
  for (int i = 0; i != 3; ++i) {
    c.send(i);
  }
  constexpr int n = 20;
  for (int i = 3; i != n; ++i) {
    thrum::go([c, i]() mutable { c.send(i); });
    REQUIRE(
        eventually([&] { return thrum::stats().waiting == static_cast<std::uint64_t>(i) - 2; }));
  }
  for (int i = 0; i != n; ++i) {
    CHECK(c.recv() == i);
  }
}

IN_RUNTIME("what is written before a send is seen after its receive") {
  for (const std::size_t capacity : {0U, 1U, 4U}) {
    thrum::chan<int*> c(capacity);
    const int rounds = scaled(20'000);
    thrum::go([c, rounds]() mutable {
      for (int i = 0; i != rounds; ++i) {
        c.send(new int(i));  // not atomic: ThreadSanitizer looks
      }
      c.close();
    });
    int expected = 0;
    for (int* const pointer : c) {
      const std::unique_ptr<int> owner(pointer);
      REQUIRE(*owner == expected++);
    }
    CHECK(expected == rounds);
  }
}

IN_RUNTIME("what is written before a receive is seen after the send that it makes room for") {
  thrum::chan<void> c(0);
  int shared = 0;  // not atomic: ThreadSanitizer looks
  thrum::go([&, c]() mutable {
    shared = 42;
    c.recv();
  });
  c.send();
  CHECK(shared == 42);
}

// ---- signals -----------------------------------------------------------------------------------

IN_RUNTIME("chan<void> counts signals") {
  thrum::chan<void> c(2);
  CHECK(c.try_send());
  CHECK(c.try_send());
  CHECK_FALSE(c.try_send());
  CHECK_FALSE(c.send_for(1ms));
  CHECK(c.size() == 2);
  CHECK(c.recv());
  CHECK(c.try_recv() == recv_status::ok);
  CHECK(c.try_recv() == recv_status::empty);
  CHECK(c.recv_for(1ms) == recv_status::timeout);
  c.send();
  c.close();
  CHECK(c.recv());
  CHECK_FALSE(c.recv());
  CHECK(c.try_recv() == recv_status::closed);
  CHECK(is_usage_error("chan::", [&] { c.send(); }));
  thrum::send_chan<void> in = thrum::make_chan<void>(1);
  in.send();
  CHECK(in.size() == 1);
}

// ---- foreign threads ---------------------------------------------------------------------------

TEST_CASE("foreign threads and goroutines send to and receive from each other") {
  const int n = scaled(5'000);
  for (const std::size_t capacity : {0U, 1U, 16U}) {
    with_runtime([&] {
      const thrum::chan<int> c(capacity);
      std::atomic<std::int64_t> sum{0};
      std::atomic<int> next{0};
      std::atomic<int> sending{4};
      support::on_goroutines_and_threads(4, [&] {
        if (next++ % 2 == 0) {
          for (int i = 1; i <= n; ++i) {
            c.send(i);
          }
          if (--sending == 0) {
            c.close();
          }
        } else {
          for (const int i : c) {
            sum += i;
          }
        }
      });
      CHECK(sum == std::int64_t{4} * n * (n + 1) / 2);
    });
  }
}

TEST_CASE("channels work between foreign threads without any runtime") {
  thrum::chan<int> c(0);
  std::thread sender([c]() mutable {
    for (int i = 0; i != 100; ++i) {
      c.send(i);
    }
    c.close();
  });
  int expected = 0;
  for (const int i : c) {
    CHECK(i == expected++);
  }
  CHECK(expected == 100);
  sender.join();
  int value = 0;
  CHECK(thrum::chan<int>(0).recv_for(value, 1ms) == recv_status::timeout);
  CHECK_FALSE(thrum::chan<int>(0).send_for(value, 1ms));
  CHECK(thrum::chan<int>().recv_for(value, 1ms) == recv_status::timeout);
}

TEST_CASE("a foreign thread that waits is woken by close") {
  thrum::runtime runtime(support::environment_options());
  thrum::chan<int> c(0);
  std::optional<int> received = 7;
  std::thread receiver([&, c]() mutable { received = c.recv(); });
  std::this_thread::sleep_for(1ms);
  runtime.go([c]() mutable { c.close(); });
  receiver.join();
  CHECK(received == std::nullopt);
}
