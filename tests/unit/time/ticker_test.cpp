// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/time/ticker.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/waits.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

using namespace std::chrono_literals;
using support::is_usage_error;
using thrum::testing::bubble;

TEST_CASE("a ticker ticks every period, each tick with the moment at which it was due") {
  bubble([] {
    const auto start = thrum::testing::now();
    const thrum::ticker ticker(10ms);
    for (int i = 1; i <= 5; ++i) {
      CHECK(ticker.chan().recv() == start + i * 10ms);
      CHECK(thrum::testing::now() == start + i * 10ms);
    }
  });
}

TEST_CASE("a receiver that is late gets one tick for those that it missed, and then the next") {
  bubble([] {
    const auto start = thrum::testing::now();
    const thrum::ticker ticker(1s);
    thrum::sleep_for(3500ms);
    CHECK(ticker.chan().recv() == start + 1s);
    CHECK(ticker.chan().recv() == start + 4s);
    CHECK(thrum::testing::now() == start + 4s);
  });
}

TEST_CASE("a ticker that is stopped gives nothing more, one that is reset has a new period") {
  bubble([] {
    const thrum::ticker ticker(1s);
    thrum::sleep_for(1500ms);
    ticker.stop();
    thrum::time_point when;
    CHECK(ticker.chan().recv_for(when, 1h) == thrum::recv_status::timeout);
    const auto again = thrum::testing::now();
    ticker.reset(2s);
    CHECK(ticker.chan().recv() == again + 2s);
    CHECK(ticker.chan().recv() == again + 4s);
  });
}

TEST_CASE("each tick of a ticker goes to one of its waiters") {
  bubble([] {
    const thrum::ticker ticker(1s);
    std::atomic<int> ticks{0};
    thrum::wait_group group;
    for (int i = 0; i != 10; ++i) {
      group.go([&] {
        thrum::time_point when;
        while (ticker.chan().recv_for(when, 20s) == thrum::recv_status::ok) {
          if (++ticks == 100) {
            ticker.stop();
          }
        }
      });
    }
    const auto start = thrum::testing::now();
    group.wait();
    CHECK(ticks == 100);
    CHECK(thrum::testing::now() - start == 120s);
  });
}

TEST_CASE("a ticker in a select ticks beside other cases") {
  bubble([] {
    const thrum::ticker ticker(1s);
    const thrum::chan<int> items(0);
    thrum::go([items] {
      for (int i = 0; i != 3; ++i) {
        thrum::sleep_for(1500ms);
        items.send(i);
      }
      items.close();
    });
    int ticks = 0;
    int received = 0;
    for (bool open = true; open;) {
      thrum::select(thrum::on_recv(ticker.chan(), [&] { ++ticks; }),
                    thrum::on_recv(items, [&](std::optional<int> item) {
                      open = item.has_value();
                      received += open ? 1 : 0;
                    }));
    }
    CHECK(received == 3);
    CHECK(ticks == 4);
  });
}

TEST_CASE("a ticker of a very long period does not tick in a lifetime") {
  bubble([] {
    const thrum::ticker ticker(std::chrono::hours::max());
    thrum::time_point when;
    CHECK(ticker.chan().recv_for(when, 24h * 365 * 100) == thrum::recv_status::timeout);
  });
}

TEST_CASE("a wait for a ticker of a very long period ends as any other wait does") {
  CHECK(support::is_unwound_at_stop([] {
    const thrum::ticker ticker(std::chrono::hours::max());
    ticker.chan().recv();
  }));
  bubble([] {
    // One tick, and the next one is too far away to count.
    const thrum::ticker ticker(std::chrono::hours(24 * 365 * 200));
    CHECK(ticker.chan().recv().has_value());
    const thrum::chan<int> other(0);
    thrum::go([other] {
      thrum::sleep_for(1s);
      other.send(1);
    });
    CHECK(thrum::select(thrum::on_recv(ticker.chan()), thrum::on_recv(other)) == 1);
  });
}

TEST_CASE("a foreign thread receives ticks") {
  const thrum::ticker ticker(1ms);
  for (int i = 0; i != 3; ++i) {
    CHECK(ticker.chan().recv().has_value());
  }
}

TEST_CASE("a ticker that was moved from is an error of use, and its channel is the nil channel") {
  thrum::ticker first(1h);
  const thrum::ticker second(std::move(first));
  CHECK_FALSE(first.chan());  // NOLINT(bugprone-use-after-move)
  CHECK(is_usage_error("ticker::stop", [&] { first.stop(); }));
  CHECK(is_usage_error("ticker::reset", [&] { first.reset(1s); }));
  second.stop();
}

TEST_CASE("a period that is not positive is an error of use") {
  CHECK(is_usage_error("ticker:", [] { thrum::ticker t(0s); }));
  CHECK(is_usage_error("ticker:", [] { thrum::ticker t(-1s); }));
  const thrum::ticker ticker(1s);
  CHECK(is_usage_error("ticker::reset", [&] { ticker.reset(0s); }));
}
