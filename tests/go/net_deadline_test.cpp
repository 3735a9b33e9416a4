// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests in which deadlines move while they are waited for, re-created from their descriptions.

#include "support/net.hpp"
#include "support/test.hpp"

using support::is_timeout;
using support::local_pair;
using support::steady;
using support::tcp_pair;
using thrum::net::conn;

IN_RUNTIME("ReadTimeoutUnblocksRead: a deadline set into the past ends a read that waits") {
  for (int i = 0; i != scaled(200, 20); ++i) {
    auto ends = tcp_pair();
    std::error_code error;
    char buffer[1];
    thrum::wait_group group;
    group.go([&] { ends.client.read(buffer, error); });
    if (i % 2 == 0) {
      thrum::sleep_for(100us);
    }
    ends.client.set_read_deadline(steady::now());
    group.wait();
    CHECK(is_timeout(error));
  }
}

IN_RUNTIME("a deadline that is moved on while a read waits for it does not end the read") {
  auto ends = tcp_pair();
  std::atomic<bool> done{false};
  std::error_code error;
  std::size_t got = 0;
  char buffer[1];
  const auto start = steady::now();
  ends.client.set_read_deadline(start + 1h);
  thrum::wait_group group;
  group.go([&] {
    got = ends.client.read(buffer, error);
    done = true;
  });
  while (steady::now() < start + 60ms) {
    ends.client.set_read_deadline(steady::now() + 1h);
    thrum::sleep_for(1ms);
  }
  CHECK_FALSE(done);
  ends.server.write("x");
  group.wait();
  CHECK(got == 1);
  CHECK_FALSE(error);
}

TEST_CASE("each of several reads that wait for one connection times out, not before its deadline") {
  for (const bool brought_forward : {false, true}) {
    with_runtime([brought_forward] {
      auto ends = tcp_pair();
      auto until = steady::now() + 20ms;
      ends.client.set_read_deadline(brought_forward ? steady::now() + 1h : until);
      std::atomic<int> timeouts{0};
      std::atomic<int> early{0};
      thrum::wait_group group;
      for (int i = 0; i != 8; ++i) {
        group.go([&] {
          char buffer[1];
          std::error_code error;
          ends.client.read(buffer, error);
          timeouts += is_timeout(error);
          early += steady::now() < until;
        });
      }
      if (brought_forward) {
        thrum::sleep_for(5ms);
        ends.client.set_read_deadline(until);
      }
      group.wait();
      CHECK(timeouts == 8);
      CHECK(early == 0);
    });
  }
}

IN_RUNTIME("ReadWriteProlongedTimeout: I/O goes on while both deadlines are moved on and on") {
  auto ends = tcp_pair();
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> sent{0};
  std::atomic<std::size_t> got{0};
  std::atomic<int> wrong{0};
  thrum::wait_group writers;
  thrum::wait_group rest;
  rest.go([&] {
    std::string buffer(1024, '\0');
    std::error_code error;
    while (const std::size_t n = ends.client.read(buffer, error)) {
      got += n;
      ends.client.set_read_deadline(steady::now() + 1h);
    }
    wrong += static_cast<bool>(error);
  });
  writers.go([&] {
    const std::string block(1024, 'p');
    std::error_code error;
    for (int i = 0; i != scaled(2'000, 100); ++i) {
      ends.server.set_write_deadline(steady::now() + 1h);
      sent += ends.server.write(block, error);
      wrong += static_cast<bool>(error);
    }
  });
  rest.go([&] {
    while (!stop) {
      ends.client.set_deadline(steady::now() + 1h);
      ends.server.set_deadline(steady::now() + 1h);
      thrum::this_goroutine::yield();
    }
  });
  writers.wait();
  stop = true;
  ends.server.close_write();
  rest.wait();
  CHECK(wrong == 0);
  CHECK(got == sent);
}

IN_RUNTIME("ReadWriteDeadlineRace: deadlines of 2 us beside reads and writes break nothing") {
  for (auto& [client, server] : {tcp_pair(), local_pair()}) {
    auto& c = const_cast<conn&>(client);
    const int n = scaled(1'000, 100);
    std::atomic<int> wrong{0};
    const auto is_wrong = [](const std::error_code& e) { return e && !is_timeout(e); };
    thrum::wait_group group;
    group.go([&] {
      for (int i = 0; i != n; ++i) {
        c.set_read_deadline(steady::now() + 2us);
        c.set_write_deadline(steady::now() + 2us);
        if (i % 16 == 0) {
          thrum::sleep_for(1us);
        }
      }
    });
    group.go([&] {
      char buffer[1];
      std::error_code error;
      for (int i = 0; i != n; ++i) {
        c.read(buffer, error);
        wrong += is_wrong(error) || !error;  // its peer writes nothing
        c.set_read_deadline(steady::now() + 2us);
      }
    });
    group.go([&] {
      std::error_code error;
      for (int i = 0; i != n; ++i) {
        c.write("x", error);
        wrong += is_wrong(error);
      }
    });
    group.wait();
    CHECK(wrong == 0);
  }
}

IN_RUNTIME(
    "ConcurrentSetDeadline: many goroutines that move many deadlines do not stop each other") {
  constexpr int conns = 10;
  constexpr int movers = 8;
  std::vector<support::conn_pair> pairs;
  for (int i = 0; i != conns; ++i) {
    pairs.push_back(tcp_pair());
  }
  std::atomic<int> timeouts{0};
  const auto start = steady::now();
  thrum::wait_group readers;
  for (auto& pair : pairs) {
    readers.go([&] {
      char buffer[1];
      std::error_code error;
      pair.client.read(buffer, error);
      timeouts += is_timeout(error);
    });
  }
  in_goroutines(movers, [&](int) {
    for (int step = 100; step != 0; --step) {
      for (auto& pair : pairs) {
        pair.client.set_read_deadline(start + 1h + step * 1ms);
        pair.client.set_deadline(start + 2h + step * 1ms);
      }
    }
  });
  CHECK(timeouts == 0);
  for (auto& pair : pairs) {
    pair.client.set_read_deadline(start);
  }
  readers.wait();
  CHECK(timeouts == conns);
}

IN_RUNTIME("RacyRead: a buffer is the caller's again as soon as the read has timed out") {
  auto ends = local_pair();
  std::atomic<int> wrong{0};
  thrum::wait_group readers;
  thrum::wait_group writer;
  writer.go([&] {
    std::error_code error;
    const std::string block(10, 'r');
    while (!error) {
      ends.server.write(block, error);
      thrum::this_goroutine::yield();
    }
  });
  for (int i = 0; i != 10; ++i) {
    readers.go([&] {
      std::string buffer(10, '\0');
      for (int n = 0; n != scaled(100, 10); ++n) {
        std::error_code error;
        ends.client.set_read_deadline(steady::now() + 1us);
        std::fill(buffer.begin(), buffer.end(), '\0');
        const std::size_t got = ends.client.read(buffer, error);
        wrong += error && !is_timeout(error);
        wrong += buffer != std::string(got, 'r') + std::string(10 - got, '\0');
      }
    });
  }
  readers.wait();
  ends.client.close();
  writer.wait();
  CHECK(wrong == 0);
}

IN_RUNTIME("RacyWrite: what is written before a time-out is counted, byte by byte") {
  auto ends = tcp_pair();
  std::atomic<std::size_t> sent{0};
  std::atomic<int> wrong{0};
  thrum::wait_group writers;
  thrum::wait_group reader;
  std::size_t got = 0;
  reader.go([&] {
    std::string buffer(4096, '\0');
    while (const std::size_t n = ends.server.read(buffer)) {
      got += n;
    }
  });
  for (int i = 0; i != 10; ++i) {
    writers.go([&] {
      const std::string block(100'000, 'w');
      for (int n = 0; n != scaled(50, 5); ++n) {
        std::error_code error;
        ends.client.set_write_deadline(steady::now() + 20us);
        sent += ends.client.write(block, error);
        wrong += error && !is_timeout(error);
      }
    });
  }
  writers.wait();
  ends.client.close_write();
  reader.wait();
  CHECK(wrong == 0);
  CHECK(got == sent);
}
