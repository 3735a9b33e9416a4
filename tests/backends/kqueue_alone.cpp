// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The kqueue poller without the rest of the library: a pipe is added, armed, written to, and the
// poller woken. Exits with 0 if all of it was reported.
#include <thrum/detail/netpoll/kqueue.hpp>

#include <cstdint>
#include <cstdio>
#include <thread>

#include <unistd.h>

namespace {

namespace netpoll = thrum::netpoll;

struct recorder : netpoll::sink {
  recorder() : netpoll::sink{&take} {}
  bool added = false;
  bool armed = false;

  static void take(netpoll::sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    auto& to = static_cast<recorder&>(self);
    to.added = to.added || (tag == added_tag && (events & netpoll::readable) != 0);
    to.armed = to.armed || (tag == armed_tag && (events & netpoll::readable) != 0);
  }

  static constexpr std::uint64_t added_tag = (std::uint64_t{2} << 32) | 1;
  static constexpr std::uint64_t armed_tag = (std::uint64_t{3} << 32) | 1;
};

}  // namespace

int main() {
  int ends[2];
  netpoll::kqueue poller;
  if (::pipe(ends) != 0 || poller.open() != 0) {
    std::perror("pipe or kqueue");
    return 1;
  }
  if (poller.add(ends[0], recorder::added_tag) != 0 ||
      poller.arm_first(ends[0], recorder::armed_tag, netpoll::readable) != 0) {
    std::perror("add or arm");
    return 1;
  }
  std::thread waker([&] { poller.wake(); });
  recorder events;
  poller.poll(-1, events);
  waker.join();
  if (::write(ends[1], "x", 1) != 1) {
    return 1;
  }
  while (!events.added || !events.armed) {
    poller.poll(-1, events);
  }
  poller.remove(ends[0]);
  poller.close();
  std::puts("ok");
  return 0;
}
