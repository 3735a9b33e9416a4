// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Windows' sockets and their poller without the rest of the library: what netpoll/contract.hpp says,
// with connections over loopback. Exits with 0 if all of it was so.
#include <thrum/detail/netpoll/afd.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/windows/pipe.hpp>
#include <thrum/detail/os/windows/socket.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace netpoll = thrum::netpoll;
namespace os = thrum::os;
using namespace std::chrono_literals;

static_assert(netpoll::poller_contract<netpoll::afd>);

int failures = 0;
void check(bool right, const char* what) {
  if (!right) {
    std::printf("not so: %s\n", what);
    ++failures;
  }
}

constexpr std::uint64_t tag_of(std::uint32_t index) { return (std::uint64_t{index} << 32) | 1; }

struct recorder : netpoll::sink {
  recorder() : netpoll::sink{&take} {}
  struct seen {
    std::uint64_t tag;
    std::uint32_t events;
  };
  std::vector<seen> all;

  static void take(netpoll::sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    static_cast<recorder&>(self).all.push_back({tag, events});
  }
  std::uint32_t of(std::uint32_t index) const {
    std::uint32_t sum = 0;
    for (const seen& one : all) {
      sum |= one.tag == tag_of(index) ? one.events : 0;
    }
    return sum;
  }
  /// Polls until that has come; false after a while.
  bool comes(netpoll::afd& from, std::uint32_t index, std::uint32_t events) {
    for (const auto end = std::chrono::steady_clock::now() + 10s;
         (of(index) & events) != events && std::chrono::steady_clock::now() < end;) {
      from.poll(20'000'000, *this);
    }
    return (of(index) & events) == events;
  }
};

::sockaddr_in loopback(std::uint16_t port) {
  ::sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return to;
}

os::io_result connect_to(os::handle fd, const ::sockaddr_in& to) {
  return os::connect(fd, reinterpret_cast<const ::sockaddr*>(&to), sizeof to);
}

os::handle new_socket(int type = SOCK_STREAM) {
  const os::io_result made = os::open_socket(AF_INET, type, 0);
  check(made >= 0, "a socket is made");
  return os::handle_of(made);
}

struct listening {
  listening() {
    ::sockaddr_in at = loopback(0);
    check(os::bind(fd, reinterpret_cast<const ::sockaddr*>(&at), sizeof at) == 0, "bind");
    check(os::listen(fd, 16) == 0, "listen");
    ::socklen_t size = sizeof at;
    check(os::socket_name(fd, false, reinterpret_cast<::sockaddr*>(&at), size) == 0, "its name");
    port = ntohs(at.sin_port);
  }
  ~listening() { ::closesocket(fd); }
  os::handle fd = new_socket();
  std::uint16_t port = 0;
};

void wakes() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  recorder seen;
  poller.poll(0, seen);
  poller.wake();
  poller.wake();
  poller.poll(0, seen);   // leaves the wake to the one that waits
  poller.poll(-1, seen);  // ends at once
  const auto before = std::chrono::steady_clock::now();
  poller.poll(30'000'000, seen);
  check(std::chrono::steady_clock::now() - before >= 30ms, "wakes before a poll end no other one");
  std::thread waker([&] {
    std::this_thread::sleep_for(20ms);
    poller.wake();
  });
  poller.poll(-1, seen);
  waker.join();
  check(seen.all.empty(), "a wake is no event");
  check(poller.descriptors() == 0, "nothing is added");
}

void connections() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  recorder seen;
  listening server;
  check(poller.add(server.fd, tag_of(1)) == 0, "a listener is added");
  poller.ask(server.fd, tag_of(1), netpoll::readable, true);
  poller.poll(10'000'000, seen);
  check(seen.all.empty(), "nobody connects yet");
  check(os::accept(server.fd) == os::would_block, "accept says that it would block");

  const os::handle client = new_socket();
  check(poller.add(client, tag_of(2)) == 0, "a socket is added");
  check(poller.descriptors() == 2, "two are added");
  check(connect_to(client, loopback(server.port)) == os::in_progress, "connecting goes on");
  poller.ask(client, tag_of(2), netpoll::writable, true);
  check(seen.comes(poller, 2, netpoll::asked_writable | netpoll::writable), "it is connected");
  check(os::connection_state(client) == 0, "and says so");
  check(seen.comes(poller, 1, netpoll::asked_readable | netpoll::readable), "it is to be accepted");
  const os::handle served = os::handle_of(os::accept(server.fd));
  check(os::is_handle(served), "it is accepted");
  check(poller.add(served, tag_of(3)) == 0, "a connection is added");

  char bytes[8];
  check(os::receive(served, bytes, sizeof bytes) == os::would_block, "there is nothing to receive");
  poller.ask(served, tag_of(3), netpoll::readable, true);
  check(os::send(client, "abc", 3) == 3, "three bytes are sent");
  check(seen.comes(poller, 3, netpoll::asked_readable | netpoll::readable), "they have come");
  check((seen.of(3) & netpoll::unusual) == 0, "which is not unusual");
  check(os::peek(served, bytes, sizeof bytes) == 3, "they can be looked at");
  check(os::receive(served, bytes, sizeof bytes) == 3 && std::string_view(bytes, 3) == "abc",
        "they are received");
  seen.all.clear();
  check(os::send(client, "d", 1) == 1, "one more is sent");
  poller.poll(10'000'000, seen);
  check(seen.all.empty(), "what was not asked for again is not told");
  poller.ask(served, tag_of(3), netpoll::readable, true);
  check(seen.comes(poller, 3, netpoll::asked_readable), "what is there already is told");
  poller.poll(10'000'000, seen);
  check(seen.all.size() == 1, "once");
  check(os::receive(served, bytes, sizeof bytes) == 1, "and received");

  seen.all.clear();
  poller.ask(served, tag_of(3), netpoll::readable, true);
  check(os::shut_down(client, os::writing) == 0, "the peer ends its stream");
  check(seen.comes(poller, 3, netpoll::asked_readable | netpoll::unusual), "which is unusual");
  check(os::receive(served, bytes, sizeof bytes) == 0, "the end is received");

  seen.all.clear();
  poller.ask(client, tag_of(2), netpoll::readable, true);
  poller.remove(client);
  ::closesocket(client);
  poller.poll(50'000'000, seen);
  check((seen.of(2) & ~(netpoll::asked_readable | netpoll::readable | netpoll::writable |
                        netpoll::unusual)) == 0,
        "a closed socket ends what was asked for");
  poller.ask(served, tag_of(3), netpoll::readable, true);  // is under way when the poller is closed
  check(poller.arm_first(server.fd, tag_of(4), netpoll::readable) == 0, "a listener is armed");
  poller.remove(served);
  poller.remove(server.fd);
  check(poller.descriptors() == 1, "what was armed counts as one");
  const os::handle another = new_socket();
  connect_to(another, loopback(server.port));
  check(seen.comes(poller, 4, netpoll::readable), "what was armed is told");
  check((seen.of(4) & netpoll::asked_readable) == 0, "as no answer");
  check(poller.arm(server.fd, tag_of(4), netpoll::readable) == 0, "and is armed again");
  poller.close();
  ::closesocket(another);
  ::closesocket(served);
}

void refused_connection() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  std::uint16_t port;
  {
    const listening gone;
    port = gone.port;
  }
  const os::handle fd = new_socket();
  check(poller.add(fd, tag_of(1)) == 0, "a socket is added");
  const os::io_result begun = connect_to(fd, loopback(port));
  if (begun == os::in_progress) {
    recorder seen;
    poller.ask(fd, tag_of(1), netpoll::writable, true);
    check(seen.comes(poller, 1, netpoll::asked_writable | netpoll::unusual), "it is refused");
    check(os::connection_state(fd) == -WSAECONNREFUSED, "and says so");
  } else {
    check(begun == -WSAECONNREFUSED, "it is refused at once");
  }
  poller.remove(fd);
  ::closesocket(fd);
}

void many_requests() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  listening server;
  constexpr std::uint32_t many = 2000;  // more than a slab holds
  recorder seen;
  check(poller.add(server.fd, tag_of(1)) == 0, "a listener is added");
  for (std::uint32_t i = 1; i <= many; ++i) {
    poller.ask(server.fd, tag_of(i), netpoll::readable, false);
  }
  const os::handle client = new_socket();
  connect_to(client, loopback(server.port));
  check(seen.comes(poller, many, netpoll::asked_readable), "the last one is told");
  for (int i = 0; i != 100 && seen.all.size() != many; ++i) {
    poller.poll(20'000'000, seen);
  }
  check(seen.all.size() == many, "each one is told once");
  ::closesocket(client);
}

struct connection {
  connection() {
    const listening server;
    client = new_socket();
    connect_to(client, loopback(server.port));
    os::io_result accepted;
    while ((accepted = os::accept(server.fd)) == os::would_block) {
      std::this_thread::sleep_for(1ms);
    }
    served = os::handle_of(accepted);
  }
  ~connection() {
    ::closesocket(served);
    ::closesocket(client);
  }
  os::handle client = os::no_handle;
  os::handle served = os::no_handle;
};

/// Arms it a thousand times, as waits do that time out; how many requests are left.
std::uint32_t arm_often(netpoll::afd& poller, recorder& seen, os::handle fd, std::uint32_t events) {
  constexpr std::uint32_t often = 1000;
  for (std::uint32_t i = 1; i <= often; ++i) {
    check(
        (i == 1 ? poller.arm_first(fd, tag_of(i), events) : poller.arm(fd, tag_of(i), events)) == 0,
        "it is armed");
    if (i % 100 == 0) {
      poller.poll(0, seen);
    }
  }
  for (const auto end = std::chrono::steady_clock::now() + 10s;
       poller.requests() > 1 && std::chrono::steady_clock::now() < end;) {
    poller.poll(20'000'000, seen);
  }
  check(seen.all.empty(), "nothing was there to be told");
  return poller.requests();
}

void armed_again_and_again() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  connection c;
  check(poller.arm(c.served, tag_of(1), netpoll::readable) == 0,
        "it can be armed for the first time");
  check(poller.descriptors() == 1, "what was armed counts as one");
  recorder seen;
  check(arm_often(poller, seen, c.served, netpoll::readable) == 1, "one request is left");
  check(os::send(c.client, "x", 1) == 1, "a byte is sent");
  check(seen.comes(poller, 1000, netpoll::readable), "the last one is told");
  poller.poll(10'000'000, seen);
  check(seen.all.size() == 1, "and no other");
  check(poller.requests() == 0, "and none is left");

  os::handle ends[2];
  check(os::open_pipe(ends) == 0, "a pipe is opened");
  seen.all.clear();
  check(arm_often(poller, seen, ends[0], netpoll::readable) == 1, "one request of a pipe is left");
  check(os::write_pipe(ends[1], "x", 1) == 1, "a byte is written");
  check(seen.comes(poller, 1000, netpoll::readable), "the last one of a pipe is told");
  check(poller.requests() == 0, "and none is left");
  os::close_pipe(ends[0]);
  os::close_pipe(ends[1]);
}

void armed_and_closed() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  recorder seen;
  os::handle number;
  {
    const connection c;
    number = c.served;
    check(poller.arm_first(number, tag_of(1), netpoll::writable | netpoll::readable) == 0,
          "it is armed");
    check(seen.comes(poller, 1, netpoll::writable), "it can be written to");
    check(poller.arm(number, tag_of(2), netpoll::readable) == 0, "it is armed again");
  }
  check(seen.comes(poller, 2, netpoll::gone), "that it was closed is told");
  check(seen.of(2) == netpoll::gone, "and nothing else");
  // The same, with the next owner of the number before anybody polls.
  const connection first;
  number = first.served;
  check(poller.arm_first(number, tag_of(3), netpoll::readable) == 0, "it is armed");
  ::closesocket(number);
  // os::not_armed, or that it is no socket, where the system tells of the close with the packet alone.
  check(poller.arm(number, tag_of(4), netpoll::readable) < 0, "what is closed cannot be armed");
  seen.all.clear();
  poller.poll(10'000'000, seen);
  check((seen.of(3) & ~netpoll::gone) == 0, "the earlier owner is not told of the next one");
}

void what_is_no_socket() {
  netpoll::afd poller;
  check(poller.open() == 0, "a poller is opened");
  const ::HANDLE file = ::CreateFileW(L"NUL", GENERIC_READ, 0, nullptr, OPEN_EXISTING, 0, nullptr);
  check(poller.add(reinterpret_cast<os::handle>(file), tag_of(1)) == os::always_ready,
        "what is no socket is always ready");
  check(poller.descriptors() == 0, "and is not added");
  recorder seen;
  poller.ask(reinterpret_cast<os::handle>(file), tag_of(1), netpoll::writable, true);
  check(seen.comes(poller, 1, netpoll::asked_writable | netpoll::writable),
        "who asks for it nevertheless is told to call");
  check(poller.arm_first(reinterpret_cast<os::handle>(file), tag_of(2), netpoll::readable) < 0,
        "it cannot be armed");
  ::CloseHandle(file);
}

void datagrams() {
  const os::handle from = new_socket(SOCK_DGRAM);
  const os::handle to = new_socket(SOCK_DGRAM);
  ::sockaddr_in at = loopback(0);
  check(os::bind(to, reinterpret_cast<const ::sockaddr*>(&at), sizeof at) == 0, "bind");
  ::socklen_t size = sizeof at;
  check(os::socket_name(to, false, reinterpret_cast<::sockaddr*>(&at), size) == 0, "its name");
  const auto* const name = reinterpret_cast<const ::sockaddr*>(&at);
  check(os::socket_family(to) == AF_INET, "its family");
  check(os::send_to(from, "hello", 5, name, size) == 5, "a datagram is sent");
  char bytes[16];
  ::sockaddr_storage peer{};
  ::socklen_t peer_size = sizeof peer;
  os::io_result got;
  while ((got = os::receive_from(to, bytes, sizeof bytes, reinterpret_cast<::sockaddr*>(&peer),
                                 &peer_size)) == os::would_block) {
    std::this_thread::sleep_for(1ms);
  }
  check(got == 5 && std::string_view(bytes, 5) == "hello", "it is received");
  check(peer.ss_family == AF_INET && peer_size == sizeof(::sockaddr_in), "with its sender");

  os::piece parts[] = {os::piece_of("ab", 2), os::piece_of("cd", 2), os::piece_of("efgh", 4)};
  os::message sent[2];
  sent[0].set_pieces(parts, 2);
  sent[1].set_pieces(parts + 2, 1);
  sent[0].set_name(name, size);
  sent[1].set_name(name, size);
  check(os::send_messages(from, sent, 2) == 2, "two are sent");
  std::this_thread::sleep_for(20ms);
  char rooms[3][3];
  os::piece into[] = {os::piece_of(rooms[0], 3), os::piece_of(rooms[1], 3),
                      os::piece_of(rooms[2], 3)};
  os::message received[2];
  received[0].set_pieces(into, 2);
  received[1].set_pieces(into + 2, 1);
  check(os::receive_messages(to, received, 2) == 2, "two are received");
  check(received[0].size() == 4 && !received[0].was_cut_off() &&
            std::string_view(rooms[0], 3) == "abc" && rooms[1][0] == 'd',
        "the first by its pieces");
  check(received[1].size() == 3 && received[1].was_cut_off(), "the second is cut off");
  check(os::send_to(from, "hello", 5, name, size) == 5, "one more is sent");
  std::this_thread::sleep_for(20ms);
  check(os::receive_from(to, bytes, 2, nullptr, nullptr) > 2, "what does not fit is told");
  ::closesocket(from);
  ::closesocket(to);
}

void options() {
  const os::handle fd = new_socket();
  check(os::set_no_delay(fd, true) == 0, "no delay");
  check(os::get_option(fd, IPPROTO_TCP, TCP_NODELAY) == 1, "is set");
  check(os::set_keep_alive(fd, true, {60, 10, 5}) >= 0, "keep alive");
  check(os::set_keep_alive(fd, false, {60, 10, 5}) >= 0, "is off");
  check(os::set_linger(fd, 0) == 0 && os::set_linger(fd, -1) == 0, "linger");
  check(os::reuse_address(fd) == 0, "an address of one's own");
  check(os::reuse_port(fd) < 0, "ports are not shared");
  ::closesocket(fd);
  check(os::send(fd, "x", 1) < 0, "a closed socket sends nothing");
  check(os::open_socket(12345, SOCK_STREAM, 0) < 0, "there is no such family");
}

}  // namespace

int main() {
  wakes();
  connections();
  refused_connection();
  many_requests();
  armed_again_and_again();
  armed_and_closed();
  what_is_no_socket();
  datagrams();
  options();
  std::puts(failures == 0 ? "all of it is so" : "failed");
  return failures == 0 ? 0 : 1;
}
