// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of closing beside everything else, re-created from their descriptions: when the number
// is given back, and that its next owner has nothing to do with the last one.

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using support::error_of;
using support::eventually;
using support::is_cancelled;
using support::is_timeout;
using support::local_pair;
using support::scaled;
using support::steady;
using support::tcp_pair;
using support::with_runtime;
using thrum::time_point;
using thrum::net::conn;

TEST_CASE("close returns when the number is free: the next descriptor may have it") {
  with_runtime([] {
    for (int i = 0; i != scaled(200, 20); ++i) {
      auto [client, server] = local_pair();
      const auto number = client.native_handle();
      thrum::wait_group group;
      group.go([&c = client] {
        char buffer[1];
        std::error_code error;
        c.read(buffer, error);
      });
      if (i % 2 == 0) {
        thrum::sleep_for(50us);
      }
      client.close();
      CHECK_FALSE(support::is_open_socket(number));
      group.wait();
    }
  });
}

TEST_CASE("a number that is used again: nothing of the old connection reaches the new one") {
  with_runtime([] {
    std::atomic<int> wrong{0};
    int reused = 0;
    for (int i = 0; i != scaled(2'000, 100); ++i) {
      auto [old_client, old_server] = local_pair();
      const auto number = old_client.native_handle();
      thrum::wait_group group;
      group.go([&c = old_client, &wrong] {
        char buffer[8];
        std::error_code error;
        const std::size_t n = c.read(buffer, error);
        wrong += n != 0 || !(error == std::errc::operation_canceled || !error);
      });
      if (i % 3 == 0) {
        thrum::this_goroutine::yield();
      }
      old_client.set_read_deadline(steady::now() + 1h);
      old_server.close();  // an event for the old number is on its way
      old_client.close();
      auto [client, server] = local_pair();
      reused += client.native_handle() == number || server.native_handle() == number;
      char buffer[8];
      std::error_code error;
      client.set_read_deadline(steady::now() + (i % 10 == 0 ? 200us : 1us));
      wrong += client.read(buffer, error) != 0 || !is_timeout(error);
      client.set_read_deadline(time_point::max());
      server.write("new");
      wrong += client.read(buffer, error) != 3 || error;
      group.wait();
    }
    CHECK(wrong == 0);
    CHECK(reused > 0);
  });
}

TEST_CASE("FileCloseRace: half closing beside close never touches the number's next owner") {
  with_runtime([] {
    const int rounds = scaled(5'000, 200);
    std::atomic<int> wrong{0};
    std::atomic<conn*> current{nullptr};
    std::atomic<int> started{0};
    std::atomic<int> finished{0};
    std::thread other([&] {
      while (finished != rounds) {
        if (conn* const c = current.exchange(nullptr)) {
          ++started;
          const std::error_code error = error_of([&] { c->close_write(); });
          wrong += error && !is_cancelled(error);
          ++finished;
        }
        std::this_thread::yield();
      }
    });
    for (int i = 0; i != rounds; ++i) {
      auto [doomed, peer] = local_pair();
      current = &doomed;
      while (started == i) {
        std::this_thread::yield();
      }
      doomed.close();
      auto [next, next_peer] = local_pair();
      while (finished == i) {
        std::this_thread::yield();
      }
      char buffer[4];
      std::error_code error;
      next.write("n", error);
      wrong += static_cast<bool>(error);
      next_peer.write("p", error);
      wrong += static_cast<bool>(error);
      wrong += next.read(buffer, error) != 1;
    }
    thrum::blocking([&] { other.join(); });
    CHECK(wrong == 0);
  });
}

TEST_CASE("close waits for a call that only looks at the number, and later calls are refused") {
  with_runtime([] {
    const support::stream_pair pair;
    thrum::io::descriptor used(pair.ends[0], "test");
    const thrum::io::descriptor other(pair.ends[1], "test");
    std::atomic<bool> inside{false};
    std::atomic<bool> closed{false};
    bool closed_meanwhile = false;
    bool open_meanwhile = false;
    thrum::os::io_result later = 0;
    std::thread user([&] {
      used.use([&](thrum::os::handle fd) {
        inside = true;
        while (used.use([](thrum::os::handle) { return thrum::os::io_result{0}; }) == 0) {
        }
        later = used.use([](thrum::os::handle) { return thrum::os::io_result{0}; });
        std::this_thread::sleep_for(5ms);
        closed_meanwhile = closed;
        open_meanwhile = support::is_open(fd);
        return thrum::os::io_result{0};
      });
    });
    CHECK(eventually([&] { return inside.load(); }));
    CHECK(used.close());
    closed = true;
    thrum::blocking([&] { user.join(); });
    CHECK(later == thrum::os::cancelled);
    CHECK_FALSE(closed_meanwhile);
    CHECK(open_meanwhile);
    CHECK_FALSE(used.close());
  });
}

TEST_CASE("many goroutines use and close a descriptor: each call ends, and it is closed once") {
  with_runtime([] {
    const std::size_t before = support::open_descriptors();
    for (int i = 0; i != scaled(300, 20); ++i) {
      auto [client, server] = tcp_pair();
      std::atomic<int> wrong{0};
      thrum::wait_group group;
      const auto fine = [](const std::error_code& e) {
        return !e || is_cancelled(e) || is_timeout(e) || e == std::errc::broken_pipe ||
               e == std::errc::connection_reset;
      };
      for (int k = 0; k != 3; ++k) {
        group.go([&c = client, &wrong, fine] {
          char buffer[8];
          std::error_code error;
          while (c.read(buffer, error) != 0) {
          }
          wrong += !fine(error);
        });
        group.go([&s = server, &wrong, fine] {
          std::error_code error;
          for (int n = 0; n != 5 && !error; ++n) {
            s.write("something", error);
          }
          wrong += !fine(error);
        });
        group.go([&c = client] { c.set_deadline(steady::now() + 1h); });
        group.go([&c = client, &s = server, k] { k == 0 ? s.close() : c.close(); });
      }
      group.wait();
      CHECK(wrong == 0);
    }
    CHECK(support::open_descriptors() <= before + 6);  // the poller's own
  });
}

TEST_CASE("a close that lingers for its data leaves the processor to others") {
  with_runtime(support::with_procs(1), [] {
    if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
      return;  // the kernel completes something on this thread, and the close may be over at once
    }
    auto [client, server] = tcp_pair();
    support::fill(client);
    client.linger(60);
    std::atomic<bool> closing{false};
    std::atomic<bool> closed{false};
    std::atomic<int> ran{0};
    thrum::wait_group group;
    group.go([&, &s = server] {
      while (!closed && ran < 2) {
        ran += closing;
        thrum::sleep_for(1ms);
      }
      s.close();  // ends the other close
    });
    thrum::sleep_for(5ms);
    closing = true;
    client.close();
    closed = true;
    group.wait();
    CHECK(ran > 1);
  });
}
