// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/waiter.hpp>

#include "support/test.hpp"

#include <thrum/io/on_ready.hpp>

using thrum::async_select;
using thrum::chan;
using thrum::co_spawn;
using thrum::co_task;
using thrum::on_deadline;
using thrum::on_done;
using thrum::on_join;
using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;

namespace {

/// The sum of what two channels bring until both are closed.
co_task<int> sum_of_both(chan<int> a, chan<int> b) {
  int sum = 0;
  const auto add = [&](chan<int>& from) {
    return [&](std::optional<int> item) {
      sum += item.value_or(0);
      from = item ? from : chan<int>();
    };
  };
  while (a != chan<int>() || b != chan<int>()) {
    co_await async_select(on_recv(a, add(a)), on_recv(b, add(b)));
  }
  co_return sum;
}

co_task<> send_ones(chan<int> to, int n) {
  for (int i = 0; i != n; ++i) {
    co_await async_select(on_send(to, 1), on_recv(chan<int>()));
  }
  to.close();
}

template <class... Cases>
co_task<std::size_t> chosen(Cases... cases) {
  co_return co_await async_select(std::move(cases)...);
}

}  // namespace

IN_RUNTIME("coroutines select over channels with a buffer and without: each item comes once",
           with_procs(4)) {
  const int n = scaled(10'000);
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}}) {
    const chan<int> a(capacity);
    const chan<int> b(capacity);
    auto first = co_spawn(send_ones(a, n));
    auto second = co_spawn(send_ones(b, n));
    CHECK(co_spawn(sum_of_both(a, b)).join() == 2 * n);
    first.join();
    second.join();
  }
}

IN_RUNTIME("selects of coroutines and of goroutines serve each other", with_procs(4)) {
  const int n = scaled(5'000);
  const chan<int> a(0);
  const chan<int> b(0);
  auto receiver = co_spawn(sum_of_both(a, b));
  in_goroutines(2, [&](int which) {
    const chan<int>& to = which == 0 ? a : b;
    for (int i = 0; i != n; ++i) {
      thrum::select(on_send(to, 1), on_recv(chan<int>()));
    }
    to.close();
  });
  CHECK(receiver.join() == 2 * n);
}

IN_BUBBLE("a time, a moment and a stop are cases of a coroutine's select") {
  const chan<int> none(0);
  const auto begin = thrum::testing::now();
  CHECK(co_spawn(chosen(on_recv(none), on_timeout(2s))).join() == 1);
  CHECK(thrum::testing::now() - begin == 2s);
  CHECK(co_spawn(chosen(on_timeout(1h), on_deadline(begin + 5s))).join() == 1);
  CHECK(thrum::testing::now() - begin == 5s);
  CHECK(co_spawn(chosen(on_recv(none), on_recv(thrum::after(3s)))).join() == 1);
  CHECK(thrum::testing::now() - begin == 8s);
  std::stop_source source;
  auto stopped = co_spawn(chosen(on_recv(none), on_done(source.get_token())));
  thrum::testing::wait();
  CHECK_FALSE(stopped.done());
  source.request_stop();
  CHECK(stopped.join() == 1);
  CHECK(co_spawn(chosen(on_recv(none), otherwise())).join() == 1);
  CHECK_FALSE(none.try_send(1));
}

IN_RUNTIME("the end of a goroutine is a case of a coroutine's select, and joins with a stop") {
  const chan<int> none(0);
  const chan<void> go_on(0);
  auto handle = thrum::spawn([=] { go_on.recv(); });
  auto ends = co_spawn([](thrum::join_handle<void>& of, chan<int> from) -> co_task<std::size_t> {
    co_return co_await async_select(on_recv(from), on_join(of));
  }(handle, none));
  go_on.send();
  CHECK(ends.join() == 1);
  handle.join();
}

IN_RUNTIME("a send that a select of a coroutine chooses on a closed channel is a usage_error") {
  const chan<int> items(0);
  auto sender = co_spawn(send_ones(items, 1));
  thrum::this_goroutine::yield();
  items.close();
  CHECK(is_usage_error("select: send on closed channel", [&] { sender.join(); }));
}

IN_RUNTIME("a coroutine's select with several cases on one channel takes one item") {
  const chan<int> items(0);
  auto receiver = co_spawn([](chan<int> from) -> co_task<int> {
    int received = 0;
    const auto add = [&](int item) { received += item; };
    co_await async_select(on_recv(from, add), on_recv(from, add), on_recv(from, add));
    co_return received;
  }(items));
  items.send(4);
  CHECK(receiver.join() == 4);
  CHECK_FALSE(items.try_send(1));
}

IN_RUNTIME("a coroutine waits until a descriptor can be read") {
  thrum::io::pipe bytes;
  auto readable = co_spawn([](thrum::io::pipe_reader& from) -> co_task<std::size_t> {
    co_return co_await async_select(thrum::io::on_readable(from), on_recv(chan<int>()));
  }(bytes.reader()));
  thrum::this_goroutine::yield();
  CHECK_FALSE(readable.done());
  bytes.write("x");
  CHECK(readable.join() == 0);
}

IN_RUNTIME("an item and a cancel that meet in the select of a waiter: one of them ends it",
           with_procs(4)) {
  for (int i = 0; i != scaled(2'000); ++i) {
    const chan<int> a(0);
    const chan<int> b(0);
    thrum::wait_group ended(2);
    int received = 0;
    thrum::waiter once(
        [&] {
          const auto keep = [&](int item) { received = item; };
          return async_select(on_recv(a, keep), on_recv(b, keep));
        },
        [&](auto& self) {
          if (!self.is_cancelled()) {
            self.result();
          }
          ended.done();
        });
    once.start();
    thrum::go([&] {
      once.cancel();
      ended.done();
    });
    const bool is_sent = b.try_send(5);
    ended.wait();
    if ((received == 5) != is_sent) {
      FAIL("lost, or received twice");
    }
    CHECK_FALSE(a.try_send(1));
  }
}

TEST_CASE("the stop of a runtime ends the select of a coroutine") {
  const chan<int> never(0);
  {
    thrum::runtime runtime;
    co_spawn(runtime,
             [](chan<int> from) -> co_task<> {
               co_await async_select(on_recv(from), on_send(from, 1), on_timeout(1h));
             }(never))
        .detach();
    co_spawn(runtime, []() -> co_task<> { co_await async_select(on_recv(chan<int>())); }())
        .detach();
  }
  CHECK_FALSE(never.try_send(1));
}
