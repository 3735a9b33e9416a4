// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Reads that the kernel completes. Where it gives no ring they wait as usual, and all of this holds.

#include <thrum/detail/sched/io/io_operation.hpp>

#include <thrum/detail/os/os.hpp>
#include <thrum/io_uring.hpp>

#include "support/nameless_file.hpp"
#include "support/test.hpp"

#include <cstdio>

#include <unistd.h>

namespace {

thrum::options with_ring(unsigned procs = 2) {
  thrum::options options = support::with_procs(procs);
  options.poller = thrum::poller_kind::io_uring;
  return options;
}

/// Two ends of a connection, inside of a runtime.
struct both_ends {
  both_ends() {
    auto listener = thrum::net::listener::listen("127.0.0.1:0");
    near = thrum::net::dial(listener.local());
    far = listener.accept();
  }
  thrum::net::conn near;
  thrum::net::conn far;
};

std::string read_some(thrum::net::conn& from, std::error_code& error) {
  char buffer[64];
  const std::size_t n = from.read(std::span<char>(buffer), error);
  return std::string(buffer, n);
}

/// Lets the other goroutine come to where it waits.
void let_it_wait() {
  for (int i = 0; i != 3; ++i) {
    thrum::sleep_for(1ms);
  }
}

}  // namespace

TEST_CASE("a runtime says which poller it has") {
  thrum::runtime usual(support::with_procs(1));
  thrum::runtime ring(with_ring());
  const bool has_ring = ring.poller() == thrum::poller_kind::io_uring;
  CHECK(thrum::netpoll::completes(ring.scheduler().poller) == has_ring);
}

IN_RUNTIME("a connection is read by the kernel, piece by piece, to its end", with_ring()) {
  both_ends ends;
  std::atomic<int> pieces{0};
  auto reader = thrum::spawn([&] {
    std::string all;
    std::error_code error;
    for (std::string some; !(some = read_some(ends.far, error)).empty();) {
      all += some + "|";
      ++pieces;
    }
    return all + (error ? error.message() : "end");
  });
  int written = 0;
  for (const char* const text : {"one", "two", "three"}) {
    let_it_wait();
    ends.near.write(std::string_view(text));
    ++written;
    REQUIRE(support::eventually([&] { return pieces == written; }));
  }
  let_it_wait();
  ends.near.close();
  CHECK(reader.join() == "one|two|three|end");
}

IN_RUNTIME("a deadline ends a read that the kernel was to complete, and the next one goes on",
           with_ring()) {
  both_ends ends;
  std::error_code error;
  ends.far.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
  CHECK(read_some(ends.far, error).empty());
  CHECK(error == thrum::errc::deadline_exceeded);
  ends.far.set_read_deadline(thrum::time_point::max());
  ends.near.write(std::string_view("late"));
  CHECK(read_some(ends.far, error) == "late");
}

IN_RUNTIME("a deadline that is moved further lets such a read wait on", with_ring()) {
  both_ends ends;
  ends.far.set_read_deadline(std::chrono::steady_clock::now() + 1h);
  auto reader = thrum::spawn([&] {
    std::error_code error;
    return read_some(ends.far, error);
  });
  let_it_wait();
  ends.far.set_read_deadline(thrum::time_point::max());
  let_it_wait();
  ends.near.write(std::string_view("x"));
  CHECK(reader.join() == "x");
}

IN_RUNTIME("a close ends a read that the kernel was to complete, and the peer learns of it",
           with_ring()) {
  both_ends ends;
  auto reader = thrum::spawn([&] {
    std::error_code error;
    read_some(ends.far, error);
    return error;
  });
  let_it_wait();
  ends.far.close();
  CHECK(reader.join() == std::errc::operation_canceled);
  std::error_code error;
  CHECK(read_some(ends.near, error).empty());
  CHECK_FALSE(error);
}

TEST_CASE("a runtime that stops ends a read that the kernel was to complete") {
  std::atomic<bool> was_unwound{false};
  std::atomic<bool> reads{false};
  struct on_exit {
    std::atomic<bool>& flag;
    ~on_exit() { flag = true; }
  };
  {
    thrum::runtime runtime(with_ring());
    runtime.go([&] {
      both_ends ends;
      on_exit at_end{was_unwound};
      std::error_code error;
      reads = true;
      read_some(ends.far, error);
    });
    REQUIRE(support::eventually([&] { return reads.load(); }));
    runtime.stop();
  }
  CHECK(was_unwound == static_cast<bool>(THRUM_EXCEPTIONS));
}

IN_RUNTIME("what comes beside a deadline is read by this call or the next, and not lost",
           with_ring()) {
  both_ends ends;
  constexpr int rounds = 300;
  auto writer = thrum::spawn([&] {
    for (int i = 0; i != rounds; ++i) {
      thrum::sleep_for(std::chrono::microseconds(50 + i));
      ends.near.write(std::string_view("x"));
    }
  });
  int got = 0;
  int late = 0;
  while (got != rounds || late == 0) {  // when all was read, the next call comes too late
    std::error_code error;
    ends.far.set_read_deadline(std::chrono::steady_clock::now() + 100us);
    got += static_cast<int>(read_some(ends.far, error).size());
    late += error ? 1 : 0;
  }
  writer.join();
  CHECK(got == rounds);
}

IN_RUNTIME("a file is written and read by the kernel, at its position and beside it", with_ring()) {
  thrum::io::file file(support::open_nameless_file());
  file.write(std::string_view("0123456789"));
  CHECK(file.write_at(std::string_view("ab"), 3) == 2);
  char buffer[16] = {};
  CHECK(file.read_at(std::span<char>(buffer), 2) == 8);
  CHECK(std::string_view(buffer) == "2ab56789");
  CHECK(file.read(std::span<char>(buffer)) == 0);
  file.seek(8);
  CHECK(file.read(std::span<char>(buffer, 1)) == 1);
  CHECK(buffer[0] == '8');
  CHECK(file.read(std::span<char>(buffer)) == 1);
}

IN_RUNTIME("many goroutines read one file side by side, each at its place", with_ring(4)) {
  thrum::io::file file(support::open_nameless_file());
  constexpr unsigned readers = 100;
  std::string text;
  for (unsigned i = 0; i != readers; ++i) {
    text.append(1'000, static_cast<char>('a' + i % 26));
  }
  file.write(std::string_view(text));
  thrum::wait_group all;
  std::atomic<unsigned> right{0};
  for (unsigned i = 0; i != readers; ++i) {
    all.add(1);
    thrum::go([&, i] {
      std::string part(1'000, ' ');
      const std::size_t n = file.read_at(std::span<char>(part), i * 1'000);
      right += n == 1'000 && part == text.substr(i * 1'000, 1'000) ? 1 : 0;
      all.done();
    });
  }
  all.wait();
  CHECK(right == readers);
}
