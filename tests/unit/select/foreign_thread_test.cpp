// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Select on threads that are not of a runtime, alone and against goroutines.

#include <thrum/select.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using support::scaled;
using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;

TEST_CASE("foreign threads and goroutines select against each other") {
  const int n = scaled(4'000, 100);
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> left{4 * n};
  thrum::runtime runtime(support::environment_options());
  const thrum::chan<int> a(0);
  const thrum::chan<int> b(2);
  const thrum::chan<int> nil;
  thrum::wait_group senders;
  thrum::wait_group receivers;
  senders.add(4);
  receivers.add(4);
  const auto send = [&] {
    for (int i = 1; i <= n; ++i) {
      thrum::select(on_send(a, i), on_recv(nil), on_send(b, i));
    }
    senders.done();
  };
  const auto receive = [&] {
    while (left.fetch_sub(1) > 0) {
      thrum::select(on_recv(a, [&](std::optional<int> v) { sum += v.value_or(0); }), on_timeout(1h),
                    on_recv(b, [&](std::optional<int> v) { sum += v.value_or(0); }));
    }
    receivers.done();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != 2; ++i) {
    runtime.go(send);
    runtime.go(receive);
    threads.emplace_back(send);
    threads.emplace_back(receive);
  }
  senders.wait();
  receivers.wait();
  for (std::thread& thread : threads) {
    thread.join();
  }
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
