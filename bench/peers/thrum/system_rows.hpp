// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The rows by thrum whose work goes through the system: datagrams, sockets, pipes, files, children; and
// timers that are moved.
#ifndef THRUM_BENCH_PEERS_THRUM_SYSTEM_ROWS_HPP
#define THRUM_BENCH_PEERS_THRUM_SYSTEM_ROWS_HPP

#include "../rows.hpp"

#include <thrum.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace peers {

constexpr int round_trips = 5'000;
using message_of_64 = std::array<std::byte, 64>;

/// ns a round trip: `ask` writes and reads until it has the answer of the goroutine that runs answer(),
/// whose work ends when end() is called.
template <class Ask, class Answer, class End>
double round_trip(Ask ask, Answer answer, End end) {
  auto partner = thrum::spawn(answer);
  const double ns = measure(round_trips, [&] {
    message_of_64 bytes{};
    for (int i = 0; i != round_trips; ++i) {
      ask(bytes);
    }
  });
  end();
  partner.join();
  return ns;
}

/// Answers with what it reads, to the end.
template <class From, class To>
void answer_all(From& from, To& to) {
  message_of_64 bytes;
  std::error_code error;
  while (from.read_full(bytes, error) == bytes.size()) {
    to.write(bytes);
  }
}

inline double udp() {
  auto there = thrum::net::udp_socket::bind("127.0.0.1:0");
  auto here = thrum::net::udp_socket::connect(there.local());
  return round_trip(
      [&](message_of_64& bytes) {
        here.send(bytes);
        expect(here.recv(bytes) == bytes.size());
      },
      [&] {
        message_of_64 bytes;
        for (;;) {
          const auto got = there.recv_from(bytes);
          if (got.size != bytes.size()) {
            return;
          }
          there.send_to(bytes, got.from);
        }
      },
      [&] { here.send(std::string_view("end")); });
}

inline double unix_socket() {
  const std::string path = "/tmp/thrum_rows_" + std::to_string(::getpid());
  auto listener = thrum::net::listener::listen(thrum::net::endpoint("unix:" + path));
  auto here = thrum::net::dial(listener.local());
  auto there = listener.accept();
  ::unlink(path.c_str());
  return round_trip(
      [&](message_of_64& bytes) {
        here.write(bytes);
        expect(here.read_full(bytes) == bytes.size());
      },
      [&] { answer_all(there, there); }, [&] { here.close(); });
}

inline double pipes() {
  thrum::io::pipe there;
  thrum::io::pipe back;
  return round_trip(
      [&](message_of_64& bytes) {
        there.writer().write(bytes);
        expect(back.reader().read_full(bytes) == bytes.size());
      },
      [&] { answer_all(there.reader(), back.writer()); }, [&] { there.writer().close(); });
}

inline double file() {
  constexpr std::uint64_t pages = 256;
  const std::string path = "/tmp/thrum_rows_" + std::to_string(::getpid());
  auto of_pages =
      thrum::io::file::open(path, thrum::io::open_mode::read_write | thrum::io::open_mode::create);
  ::unlink(path.c_str());
  std::array<std::byte, 4096> page{};
  for (std::uint64_t i = 0; i != pages; ++i) {
    of_pages.write_at(page, i * page.size());
  }
  return measure(pages * 16, [&] {
    for (std::uint64_t i = 0; i != pages * 16; ++i) {
      expect(of_pages.read_at(page, i % pages * page.size()) == page.size());
    }
  });
}

inline double child() {
  return measure(20, [] {
    for (int i = 0; i != 20; ++i) {
      expect(thrum::io::process::spawn({"/bin/true"}).wait().code == 0);
    }
  });
}

inline double timer_reset() {
  constexpr std::size_t live = 100'000;
  std::vector<thrum::timer> timers;
  timers.reserve(live);
  for (std::size_t i = 0; i != live; ++i) {
    timers.push_back(
        thrum::after_func(std::chrono::hours(1) + std::chrono::microseconds(i), [] {}));
  }
  const double ns = measure(live, [&] {
    for (std::size_t i = 0; i != live; ++i) {
      timers[i].reset(std::chrono::hours(1) + std::chrono::microseconds(i * 7919 % live));
    }
  });
  for (const thrum::timer& each : timers) {
    each.stop();
  }
  return ns;
}

}  // namespace peers

#endif
