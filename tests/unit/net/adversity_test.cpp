// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Connections in adversity: the clock of a bubble, a close that lingers, a thread in place of a
// goroutine, options of what is closed, data out of line.

#include <thrum/io/descriptor.hpp>
#include <thrum/io/wait.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/dial.hpp>
#include <thrum/net/listener.hpp>

#include "support/descriptors.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

using support::stream_pair;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;

IN_BUBBLE("a time-out of dial counts in the time of its bubble") {
  const listener quiet = listener::listen("127.0.0.1:0");
  thrum::sleep_for(1h);
  std::error_code error;
  const conn made = dial(quiet.local(), 10s, error);
  CHECK_FALSE(error);
}

IN_RUNTIME("a close that lingers delays no other goroutine", with_procs(1)) {
  listener quiet = listener::listen("127.0.0.1:0");
  conn made = dial(quiet.local());
  conn other = quiet.accept();
  support::fill(made);
  // A request to a ring, though it was cancelled, may hold the file for a moment: then it lingers
  // when that is over, on the thread that has submitted it, which may be any of the runtime's.
  const bool by_ring = thrum::runtime::current()->poller() != thrum::poller_kind::usual;
  made.linger(by_ring ? 1 : 60);
  constexpr int enough = 5;
  std::atomic<bool> closing{false};
  std::atomic<bool> closed{false};
  std::atomic<int> turns{0};
  auto counter = thrum::spawn([&] {
    while (!closed && turns != enough) {
      turns += closing ? 1 : 0;
      thrum::sleep_for(10ms);
    }
    other.linger(0);
    other.close();  // a reset: what lingers has nothing to wait for any more
  });
  thrum::this_goroutine::yield();
  closing = true;
  made.close();
  const int meanwhile = turns;
  closed = true;
  counter.join();
  CHECK((meanwhile == enough || by_ring));
}

TEST_CASE("a goroutine inside blocking() is served by the poller that it is the first to need") {
  for (const bool foreign : {false, true}) {
    for (const unsigned procs : {1U, 2U}) {
      stream_pair pair;
      conn made(thrum::io::descriptor(pair.ends[0], "test"), false);
      std::thread writer([&] {
        std::this_thread::sleep_for(200ms);
        support::put(pair.ends[1], "x");
      });
      thrum::runtime runtime(with_procs(procs));
      const bool in_time = runtime.block_on([&] {
        return thrum::blocking([&] {
          std::this_thread::sleep_for(100ms);  // everybody else is asleep by then
          const auto deadline = std::chrono::steady_clock::now() + support::long_time;
          try {
            if (foreign) {
              thrum::io::wait_readable(pair.ends[0], deadline);
            } else {
              char one;
              made.set_read_deadline(deadline);
              made.read({&one, 1});
            }
            return true;
          } catch (const std::system_error&) {
            return false;
          }
        });
      });
      writer.join();
      thrum::os::close(pair.ends[1]);
      CHECK(in_time);
    }
  }
}

TEST_CASE("a descriptor is not closed while a call uses it without a turn") {
  stream_pair pair;
  thrum::io::descriptor used(pair.ends[0], "test");
  std::atomic<bool> inside{false};
  std::atomic<bool> open_until_the_end{false};
  std::thread user([&] {
    const auto result = used.use([&](thrum::os::handle fd) -> thrum::os::io_result {
      inside = true;
      std::this_thread::sleep_for(50ms);
      open_until_the_end = support::is_open(fd);
      return 7;
    });
    if (result != 7) {
      open_until_the_end = false;
    }
  });
  while (!inside) {
    std::this_thread::yield();
  }
  CHECK(used.close());
  CHECK(open_until_the_end);
  user.join();
  CHECK(used.use([](thrum::os::handle) -> thrum::os::io_result { return 7; }) ==
        thrum::os::cancelled);
  thrum::os::close(pair.ends[1]);
}

IN_RUNTIME("options and addresses of a closed connection are refused, not another's") {
  listener quiet = listener::listen("127.0.0.1:0");
  conn made = dial(quiet.local());
  made.close();
  stream_pair other;  // has the number now
  for (int i = 0; i != 4; ++i) {
    std::error_code error;
    try {
      i == 0   ? made.close_write()
      : i == 1 ? made.linger(1)
      : i == 2 ? made.no_delay(false)
               : made.keep_alive({});
    } catch (const std::system_error& caught) {
      error = caught.code();
    }
    CHECK(error == std::errc::operation_canceled);
  }
  CHECK(made.local() == thrum::net::endpoint());
  thrum::os::close(other.ends[0]);
  thrum::os::close(other.ends[1]);
}

namespace {

/// Waits and reads with deadlines while there is only a byte out of band. The most processor time that
/// the process has used for it.
std::chrono::nanoseconds time_used_out_of_band() {
  std::chrono::nanoseconds most(0);
  for (const bool by_thread : {false, true}) {
    thrum::runtime runtime(with_procs(1));
    listener quiet;
    conn sender;
    conn receiver;
    runtime.block_on([&] {
      quiet = listener::listen("127.0.0.1:0");
      sender = dial(quiet.local());
      receiver = quiet.accept();
    });
    CHECK(::send(sender.native_handle(), "!", 1, MSG_OOB) == 1);
    std::this_thread::sleep_for(10ms);
    const auto wait_and_read = [&] {
      std::error_code waited;
      try {
        thrum::io::wait_readable(receiver.native_handle(), std::chrono::steady_clock::now() + 50ms);
      } catch (const std::system_error& caught) {
        waited = caught.code();
      }
      std::error_code read;
      char one;
      receiver.set_read_deadline(std::chrono::steady_clock::now() + 200ms);
      receiver.read({&one, 1}, read);
      return std::pair(waited, read);
    };
    const auto before = support::cpu_time();
    const auto [waited, read] = by_thread ? wait_and_read() : runtime.block_on(wait_and_read);
    CHECK(waited == std::errc::timed_out);
    CHECK(read == std::errc::timed_out);
    most = std::max(most, support::cpu_time() - before);
  }
  return most;
}

}  // namespace

TEST_CASE("out-of-band data makes no descriptor ready") { time_used_out_of_band(); }

TEST_CASE("out-of-band data keeps no thread busy", "[.soak]") {
  CHECK(time_used_out_of_band() < 100ms);
}
