// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests and examples of testing/synctest on testing::bubble, re-created from their descriptions.
// Cases that bubble_test, timer_test or context_call_test hold are left out.
// Where they differ: a mutex is not durably blocked here either, but a channel that somebody outside
// uses counts as one of the bubble (Go ties each channel to a bubble, and panics); and time stands
// once the first goroutine has returned.

#include <thrum/generator.hpp>
#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"

#include "support/test.hpp"

IN_BUBBLE("synctest: Cond: a wait for a condition is durable, and is ended by a signal each") {
  thrum::mutex lock;
  thrum::condition_variable changed;
  int woken = 0;
  thrum::wait_group group;
  for (int i = 0; i != 3; ++i) {
    group.go([&] {
      std::unique_lock guard(lock);
      changed.wait(guard);
      ++woken;
    });
  }
  thrum::testing::wait();
  CHECK(woken == 0);
  changed.notify_one();
  thrum::testing::wait();
  CHECK(woken == 1);
  changed.notify_all();
  thrum::testing::wait();
  CHECK(woken == 3);
  group.wait();
}

IN_BUBBLE("synctest: Generator: a generator runs on its caller's time") {
  const auto start = thrum::testing::now();
  thrum::generator<int> seconds([](auto& yield) {
    for (int i = 1; i <= 3; ++i) {
      thrum::sleep_for(1s);
      yield(i);
    }
  });
  int seen = 0;
  for (const int second : seconds) {
    ++seen;
    CHECK(thrum::testing::now() - start == second * 1s);
  }
  CHECK(seen == 3);
}

IN_BUBBLE("synctest: HttpTransport: a client waits for the server's word before it sends all") {
  thrum::io::memory_pipe ends;
  auto& server = ends.second;
  bool has_word = false;
  thrum::wait_group group;
  group.go([&client = ends.first, &has_word] {
    client.write("Expect: 100-continue\n");
    std::string word(8, ' ');
    client.read_full(std::span<char>(word));
    has_word = word == "continue";
    client.write("body");
    client.close();
  });
  std::string head(21, ' ');
  server.read_full(std::span<char>(head));
  CHECK(head == "Expect: 100-continue\n");
  thrum::testing::wait();
  CHECK_FALSE(has_word);
  server.write("continue");
  CHECK(server.read_all() == "body");
  CHECK(has_word);
  group.wait();
}
