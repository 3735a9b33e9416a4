// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of net.Pipe, most of which are those of any connection (golang.org/x/net/nettest),
// re-created from their descriptions on io::memory_pipe.

#include "support/test.hpp"

using thrum::errc;
using thrum::io::memory_pipe;
using thrum::io::memory_pipe_end;

namespace {

constexpr thrum::time_point long_ago = thrum::time_point() + 1ns;

/// Both fail with a time-out when nobody reads, and after the deadline was taken away they work.
void works_again(memory_pipe_end& a, memory_pipe_end& b) {
  a.set_deadline(thrum::time_point::max());
  auto writer = thrum::spawn([&] { a.write("x"); });
  char one[1];
  CHECK(b.read(one) == 1);
  writer.join();
}

std::error_code error_of_read(memory_pipe_end& from) {
  char buffer[1024];
  return error_of([&] { from.read(buffer); });
}
std::error_code error_of_write(memory_pipe_end& to) {
  return error_of([&] { to.write(std::string(1024, 'x')); });
}

}  // namespace

IN_RUNTIME("net.Pipe BasicIO: what goes through and comes back is what was sent") {
  memory_pipe p;
  const std::size_t size = scaled(std::size_t{1} << 21, std::size_t{1} << 15);
  std::string want(size, '\0');
  for (std::size_t i = 0; i != size; ++i) {
    want[i] = static_cast<char>(i * 31 % 253);
  }
  auto writer = thrum::spawn([&] {
    p.first.write(want);
    p.first.close_write();
  });
  auto echo = thrum::spawn([&] {
    const std::uint64_t n = thrum::io::copy(p.second, p.second);
    p.second.close();
    return n;
  });
  CHECK((p.first.read_all() == want));
  CHECK(echo.join() == size);
  writer.join();
}

IN_RUNTIME("net.Pipe PingPong: a number goes to and fro and grows") {
  memory_pipe p;
  constexpr char last = 100;
  const auto play = [](memory_pipe_end& end) {
    char ball[1];
    while (end.read(ball) == 1) {
      if (ball[0] == last) {
        end.close();
        return true;
      }
      ++ball[0];
      std::error_code gone;
      end.write(std::string_view(ball, 1), gone);
    }
    return false;
  };
  auto other = thrum::spawn([&] { return play(p.second); });
  p.first.write(std::string_view("\0", 1));
  const bool mine = play(p.first);
  CHECK(mine != other.join());
}

IN_RUNTIME("net.Pipe RacyRead: readers whose deadlines pass all the time get what there is") {
  memory_pipe p;
  std::atomic<bool> is_over{false};
  auto writer = thrum::spawn([&] {
    std::error_code error;
    const std::string block(1024, 'x');
    while (!is_over && !error) {
      p.second.write(block, error);
    }
  });
  std::atomic<int> wrong{0};
  thrum::wait_group readers;
  p.first.set_read_deadline(std::chrono::steady_clock::now() + 1ms);
  for (int i = 0; i != 10; ++i) {
    readers.go([&] {
      char buffer[1024];
      for (int k = 0; k != 10; ++k) {
        std::error_code error;
        p.first.read(buffer, error);
        if (error) {
          wrong += error != errc::deadline_exceeded;
          p.first.set_read_deadline(std::chrono::steady_clock::now() + 1ms);
        }
      }
    });
  }
  readers.wait();
  is_over = true;
  p.first.close();
  writer.join();
  CHECK(wrong == 0);
}

IN_RUNTIME("net.Pipe RacyWrite: writers whose deadlines pass all the time do no harm") {
  memory_pipe p;
  auto reader = thrum::spawn([&] { return p.second.read_all().size(); });
  std::atomic<int> wrong{0};
  std::atomic<std::size_t> sent{0};
  thrum::wait_group writers;
  p.first.set_write_deadline(std::chrono::steady_clock::now() + 1ms);
  for (int i = 0; i != 10; ++i) {
    writers.go([&] {
      const std::string block(1024, 'x');
      for (int k = 0; k != 10; ++k) {
        std::error_code error;
        sent += p.first.write(block, error);
        if (error) {
          wrong += error != errc::deadline_exceeded;
          p.first.set_write_deadline(std::chrono::steady_clock::now() + 1ms);
        }
      }
    });
  }
  writers.wait();
  p.first.close();
  CHECK(reader.join() == sent);
  CHECK(wrong == 0);
}

IN_RUNTIME("net.Pipe ReadTimeout, WriteTimeout: each direction has a deadline of its own") {
  memory_pipe p;
  p.first.set_read_deadline(long_ago);
  CHECK(error_of_read(p.first) == errc::deadline_exceeded);
  auto reader = thrum::spawn([&] { return error_of_read(p.second); });
  CHECK(!error_of_write(p.first));
  CHECK(!reader.join());
  p.first.set_read_deadline(thrum::time_point::max());
  p.first.set_write_deadline(long_ago);
  CHECK(error_of_write(p.first) == errc::deadline_exceeded);
  auto writer = thrum::spawn([&] { return error_of_write(p.second); });
  CHECK(!error_of_read(p.first));
  CHECK(!writer.join());
}

IN_RUNTIME("net.Pipe PastTimeout: a deadline in the past ends every call, until it is moved") {
  memory_pipe p;
  works_again(p.first, p.second);
  p.first.set_deadline(long_ago);
  for (int i = 0; i != 2; ++i) {
    CHECK(error_of_read(p.first) == errc::deadline_exceeded);
    CHECK(error_of_write(p.first) == errc::deadline_exceeded);
  }
  works_again(p.first, p.second);
}

TEST_CASE(
    "net.Pipe PresentTimeout, FutureTimeout, CloseTimeout: each ends calls that wait, in time") {
  enum class ends_by { present, future, close };
  for (const ends_by end : {ends_by::present, ends_by::future, ends_by::close}) {
    thrum::testing::bubble([end] {
      memory_pipe p;
      const thrum::time_point start = thrum::testing::now();
      const auto after = end == ends_by::future ? 100ms : 0ms;
      p.first.set_deadline(start + (end == ends_by::future ? after : 24h));
      auto reader = thrum::spawn([&] { return error_of_read(p.first); });
      auto writer = thrum::spawn([&] { return error_of_write(p.first); });
      thrum::testing::wait();
      if (end == ends_by::present) {
        p.first.set_deadline(thrum::testing::now());
      } else if (end == ends_by::close) {
        p.first.close();
      }
      const std::error_code expected = end == ends_by::close
                                           ? std::make_error_code(std::errc::operation_canceled)
                                           : errc::deadline_exceeded;
      CHECK(reader.join() == expected);
      CHECK(writer.join() == expected);
      CHECK(thrum::testing::now() == start + after);
      if (end != ends_by::close) {
        works_again(p.first, p.second);
      }
    });
  }
}

IN_RUNTIME("net.Pipe ConcurrentMethods: everything at the same time does no harm") {
  memory_pipe p;
  thrum::wait_group group;
  std::atomic<int> calls{0};
  for (int i = 0; i != scaled(100, 20); ++i) {
    group.go([&] {
      std::error_code error;
      char buffer[64];
      p.first.read(buffer, error);
      ++calls;
    });
    group.go([&] {
      std::error_code error;
      p.first.write("0123456789", error);
      ++calls;
    });
    group.go([&] { p.first.set_deadline(std::chrono::steady_clock::now() + 10ms); });
    group.go([&] { p.first.set_read_deadline(std::chrono::steady_clock::now() + 10ms); });
    group.go([&] { p.first.set_write_deadline(std::chrono::steady_clock::now() + 10ms); });
  }
  group.wait();
  CHECK(calls == 2 * scaled(100, 20));
}

IN_RUNTIME("net.Pipe CloseError: what the closed end says, and what the other says") {
  memory_pipe p;
  p.first.close();
  CHECK(error_of_read(p.first) == std::errc::operation_canceled);
  CHECK(error_of_write(p.first) == std::errc::operation_canceled);
  CHECK(error_of_write(p.second) == std::errc::broken_pipe);
  char one[1];
  CHECK(p.second.read(one) == 0);
  p.first.close();
  p.first.set_deadline(thrum::time_point::max());
  CHECK(error_of_read(p.first) == std::errc::operation_canceled);
}
