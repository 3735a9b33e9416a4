// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Handles of the system: what a runtime has opened it closes.
#if defined(_WIN32)

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include "support/net.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

namespace {

/// Threads, a monitor, notes, timers, connections, calls that block.
void use_everything() {
  thrum::options options;
  options.procs = 2;
  thrum::run(options, [] {
    auto pair = support::tcp_pair();
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([] { thrum::sleep_for(1ms); });
      group.go([] { thrum::blocking([] { std::this_thread::sleep_for(1ms); }); });
    }
    group.go([&client = pair.client] { client.write("abc"); });
    char text[3];
    CHECK(pair.server.read_full(text) == 3);
    group.wait();
  });
}

}  // namespace

TEST_CASE("a handle that is opened is counted") {
  const std::size_t before = support::open_handles();
  const thrum::os::handle socket =
      thrum::os::handle_of(thrum::os::open_socket(AF_INET, SOCK_DGRAM, 0));
  CHECK(support::open_handles() > before);
  thrum::os::close(socket);
}

TEST_CASE("an event is counted among the events, and a socket is not") {
  const std::size_t before = support::open_events();
  const thrum::os::handle socket =
      thrum::os::handle_of(thrum::os::open_socket(AF_INET, SOCK_DGRAM, 0));
  CHECK(support::open_events() == before);
  thrum::os::close(socket);
  const ::HANDLE event = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  CHECK(support::open_events() == before + 1);
  ::CloseHandle(event);
}

TEST_CASE("address space is counted as soon as it is reserved") {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  const std::size_t before = support::reserved_bytes();
  void* const memory = ::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
  CHECK(support::reserved_bytes() >= before + bytes / 2);
  ::VirtualFree(memory, 0, MEM_RELEASE);
  CHECK(support::reserved_bytes() < before + bytes / 2);
}

TEST_CASE("runtimes that have ended leave no handle") {
  // What the system's libraries keep is there after the first; events that nobody uses are kept in
  // buckets, which are soon full.
  for (int i = 0; i != 20; ++i) {
    use_everything();
  }
  const std::size_t before = support::open_handles();
  for (int i = 0; i != 60; ++i) {
    use_everything();
  }
  CHECK(support::eventually([&] { return support::open_handles() <= before + 30; }));
}

TEST_CASE("a thread that asks for short waits comes before those that compute, and no other does") {
  int of_asking = THREAD_PRIORITY_ERROR_RETURN;
  int of_other = THREAD_PRIORITY_ERROR_RETURN;
  std::thread([&] {
    thrum::os::ask_for_short_waits();
    of_asking = ::GetThreadPriority(::GetCurrentThread());
    std::thread([&] { of_other = ::GetThreadPriority(::GetCurrentThread()); }).join();
  }).join();
  CHECK(of_asking == THREAD_PRIORITY_HIGHEST);
  CHECK(of_other == THREAD_PRIORITY_NORMAL);
}
#endif
