// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_stress_network [--seconds S] [--procs P] [--clients N] [--company 1]: a server under
// full load whose connections die at random.
//
// Clients send messages of random size and check every byte that comes back. Connections end in
// every way: in order, by a reset in the middle of a message, closed by another goroutine while
// somebody reads or writes, by a deadline, half closed. Meanwhile deadlines are moved at random.
// One combination takes S seconds, 60 if not given; without --procs there are runs with 1, 2 and
// 4 processors, after one of a second. At the end no descriptor and no goroutine may be left, and
// memory must not have grown since a tenth of the time had passed; behind the last runtime no thread,
// no handle and no address space.

#include <thrum.hpp>

#include "stress/arguments.hpp"
#include "stress/company.hpp"
#include "stress/leftovers.hpp"
#include "support/process.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using thrum::net::conn;

struct totals {
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint64_t> killed{0};
  std::atomic<std::uint64_t> wrong{0};
};

/// Sends back what comes. Some connections it drops by itself.
void serve(conn c, std::uint64_t seed) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::error_code error;
  std::vector<char> buffer(1 + random() % 8192);
  while (!error) {
    const std::size_t n = c.read(std::span<char>(buffer), error);
    if (n == 0 || random() % 5'000 == 0) {
      return;
    }
    c.write(std::string_view(buffer.data(), n), error);
  }
}

/// The byte at a position of the stream that a client sends.
char byte_at(std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t mixed = (position + seed) * 0x9e37'79b9'7f4a'7c15;
  return static_cast<char>(mixed >> 56);
}

/// Uses one connection until it dies. All that comes back must be what was sent.
void talk(const thrum::net::endpoint& server, std::minstd_rand& random, totals& all) {
  std::error_code error;
  auto c = std::make_shared<conn>(thrum::net::dial(server, 5s, error));
  if (error) {
    return;
  }
  ++all.connections;
  const std::uint64_t seed = random();
  const std::uint64_t messages = random() % 2'000;
  thrum::wait_group killer;
  if (random() % 4 == 0) {
    const auto after = std::chrono::microseconds(random() % 20'000);
    const bool resets = random() % 2 == 0;
    killer.go([c, after, resets, &all] {
      thrum::sleep_for(after);
      std::error_code ignored;
      if (resets) {
        c->linger(0, ignored);
      }
      c->close();
      ++all.killed;
    });
  }
  std::uint64_t position = 0;
  std::vector<char> out;
  std::vector<char> in;
  for (std::uint64_t i = 0; i != messages && !error; ++i) {
    out.resize(1 + random() % (random() % 64 == 0 ? 40'000 : 300));
    for (std::size_t k = 0; k != out.size(); ++k) {
      out[k] = byte_at(seed, position + k);
    }
    switch (random() % 256) {
      case 0:
        c->set_deadline(clock_type::now() + std::chrono::microseconds(random() % 3'000));
        break;
      case 1: c->set_deadline(thrum::time_point::max()); break;
      default: break;
    }
    // A message may be larger than all buffers on the way: then it is written while the answer is
    // read.
    thrum::wait_group writer;
    std::error_code write_error;
    const auto send = [&] { c->write(std::string_view(out.data(), out.size()), write_error); };
    if (out.size() > 4'000) {
      writer.go(send);
    } else {
      send();
    }
    in.assign(out.size(), 0);
    const std::size_t got = c->read_full(std::as_writable_bytes(std::span(in)), error);
    if (error || got != in.size()) {
      c->close();
    }
    writer.wait();
    if (std::memcmp(in.data(), out.data(), got) != 0) {
      ++all.wrong;
    }
    all.bytes += got;
    ++all.messages;
    position += got;
    if (got != in.size() || write_error) {
      break;
    }
  }
  if (!error && random() % 2 == 0) {
    c->close_write(error);
    char rest = 0;
    while (!error && c->read(std::span<char>(&rest, 1), error) != 0) {
      ++all.wrong;  // everything sent has been read already
    }
  }
  killer.wait();
}

int run_once(unsigned procs, std::chrono::seconds time, unsigned clients, bool with_company) {
  thrum::options options = thrum::options::from_environment();
  options.procs = procs;
  totals all;
  std::size_t before = 0;
  std::size_t left_descriptors = 0;
  std::size_t left_goroutines = 0;
  std::size_t memory_early = 0;
  std::size_t memory_late = 0;
  thrum::run(options, [&] {
    auto listener = thrum::net::listener::listen("127.0.0.1:0");
    const thrum::net::endpoint address = listener.local();
    std::error_code nobody_came;
    listener.set_deadline(clock_type::now() + 1ms);
    listener.accept(nobody_came);  // by now the poller has its own descriptors
    listener.set_deadline(thrum::time_point::max());
    before = support::open_descriptors();
    std::optional<stress::company> company;
    if (with_company) {
      company.emplace();
    }
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    group.go([&] {
      std::error_code error;
      for (std::uint64_t seed = 1;; ++seed) {
        conn c = listener.accept(error);
        if (error) {
          return;
        }
        group.go([c = std::move(c), seed]() mutable { serve(std::move(c), seed); });
      }
    });
    for (unsigned i = 0; i != clients; ++i) {
      group.go([&, i] {
        std::minstd_rand random(i + 1);
        while (!stop) {
          talk(address, random, all);
        }
      });
    }
    thrum::sleep_for(time / 10);
    memory_early = support::resident_bytes();
    thrum::sleep_for(time - time / 10);
    memory_late = support::resident_bytes();
    company.reset();
    stop = true;
    for (int i = 0; i != 6'000 && thrum::stats().goroutines > 2; ++i) {
      thrum::sleep_for(10ms);  // until all but we and the acceptor are gone
    }
    left_goroutines = thrum::stats().goroutines - 2;
    left_descriptors = support::open_descriptors() - before;
    listener.close();
    group.wait();
  });
  // What malloc keeps for itself is not ours to judge.
  constexpr std::size_t slack = std::size_t{16} << 20;
  const bool grown = memory_late > memory_early + memory_early / 4 + slack;
  std::printf(
      "%u processors: %llu connections (%llu killed), %llu messages, %llu MB; wrong %llu, left "
      "%zu descriptors, %zu goroutines; memory %zu KiB, then %zu KiB\n",
      procs, static_cast<unsigned long long>(all.connections),
      static_cast<unsigned long long>(all.killed), static_cast<unsigned long long>(all.messages),
      static_cast<unsigned long long>(all.bytes >> 20), static_cast<unsigned long long>(all.wrong),
      left_descriptors, left_goroutines, memory_early >> 10, memory_late >> 10);
  std::fflush(stdout);
  return all.wrong == 0 && all.messages != 0 && left_descriptors == 0 && left_goroutines == 0 &&
                 !grown
             ? 0
             : 1;
}

}  // namespace

int main(int count, char** values) {
  std::uint64_t seconds = 60;
  std::uint64_t procs = 0;
  std::uint64_t clients = 64;
  std::uint64_t company = 0;
  if (!stress::parse(count, values,
                     {{"--seconds", seconds},
                      {"--procs", procs},
                      {"--clients", clients},
                      {"--company", company}}) ||
      seconds == 0 || clients == 0) {
    std::fprintf(stderr, "usage: %s [--seconds S] [--procs P] [--clients N] [--company 1]\n",
                 values[0]);
    return 2;
  }
  support::use_one_heap();  // else each thread may leave an arena behind
  int failed = run_once(4, std::chrono::seconds(1), static_cast<unsigned>(clients), false);
  const stress::leftovers left;
  for (const unsigned p : {1U, 2U, 4U}) {
    if (procs == 0 || p == 1) {
      failed |=
          run_once(procs == 0 ? p : static_cast<unsigned>(procs), std::chrono::seconds(seconds),
                   static_cast<unsigned>(clients), company != 0);
    }
  }
  return left.none("thrum_stress_network") ? failed : 1;
}
