// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of net.Pipe, most of which are those of any connection (golang.org/x/net/nettest),
// re-created from their descriptions on io::memory_pipe.

#include <thrum/testing/bubble.hpp>

#include "support/test.hpp"

using thrum::errc;
using thrum::io::memory_pipe;

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
