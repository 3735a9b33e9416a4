// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/os/os.hpp>

#include "support/test.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/process.hpp"

namespace os = thrum::os;

namespace {

std::atomic<int> signals_taken{0};

#if defined(TCP_KEEPALIVE)
constexpr int keep_alive_idle = TCP_KEEPALIVE;  // as macOS calls it
#else
constexpr int keep_alive_idle = TCP_KEEPIDLE;
#endif

/// An address of this machine, at a port that the system chooses for a socket that may listen.
struct bound_socket {
  bound_socket() : fd(static_cast<int>(os::open_socket(AF_INET, SOCK_STREAM, 0))) {
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(os::bind(fd, address(), sizeof at) == 0);
    ::socklen_t size = sizeof at;
    REQUIRE(os::socket_name(fd, false, reinterpret_cast<::sockaddr*>(&at), size) == 0);
  }
  bound_socket(const bound_socket&) = delete;
  bound_socket& operator=(const bound_socket&) = delete;
  ~bound_socket() { os::close(fd); }
  const ::sockaddr* address() const { return reinterpret_cast<const ::sockaddr*>(&at); }

  int fd;
  ::sockaddr_in at{};
};

/// What becomes of a connection to that address.
os::io_result end_of_connecting(const bound_socket& to) {
  const int fd = static_cast<int>(os::open_socket(AF_INET, SOCK_STREAM, 0));
  os::io_result state = os::connect(fd, to.address(), sizeof to.at);
  while (state == os::in_progress) {
    REQUIRE(os::wait_for(fd, true, 10'000) == 1);
    state = os::connection_state(fd);
  }
  os::close(fd);
  return state;
}

}  // namespace

TEST_CASE("connecting ends in a connection, or in what the other end has said") {
  const bound_socket there;
  CHECK(end_of_connecting(there) == -ECONNREFUSED);
  REQUIRE(os::listen(there.fd, 1) == 0);
  CHECK(end_of_connecting(there) == 0);
}

TEST_CASE("a socket that was never connected is still in progress") {
  const int fd = static_cast<int>(os::open_socket(AF_INET, SOCK_STREAM, 0));
  CHECK(os::connection_state(fd) == os::in_progress);
  os::close(fd);
  CHECK(os::connection_state(fd) == os::bad_handle);
}

TEST_CASE("a connection that ended in the queue is distinguished from a broken listener") {
  for (const int error : {ECONNABORTED, EPROTO, EHOSTUNREACH, ENETUNREACH, ENETDOWN}) {
    CHECK(os::gone_while_queued(-error));
  }
  for (const int error : {EBADF, EINVAL, EMFILE, EAGAIN}) {
    CHECK_FALSE(os::gone_while_queued(-error));
  }
}

TEST_CASE("a file that the system cannot send is distinguished from a broken connection") {
  int ends[2];
  REQUIRE(os::open_pipe(ends) == 0);
  int pair[2];
  REQUIRE(os::open_socket_pair(SOCK_STREAM, pair) == 0);
  CHECK(os::cannot_send_file(os::send_file(pair[0], ends[0], 0, 1)));
  os::close(pair[1]);
  const int file =
      static_cast<int>(os::open_file(support::own_program().c_str(), os::open_mode::read, 0));
  const os::io_result broken = os::send_file(pair[0], file, 0, 1);
  CHECK((broken == -EPIPE || broken == os::not_supported));  // where there is no such call
  CHECK(os::cannot_send_file(broken) == (broken == os::not_supported));
  for (const int fd : {ends[0], ends[1], pair[0], file}) {
    os::close(fd);
  }
}

TEST_CASE("the resolver's failure has a cause only if it says that the system has one") {
  errno = EMFILE;
  CHECK(os::resolver_cause(EAI_SYSTEM) == -EMFILE);
  CHECK(os::resolver_cause(EAI_NONAME) == 0);
  CHECK(os::resolver_cause(0) == 0);
}

TEST_CASE("a message is sent and received in pieces, and tells what did not fit") {
  os::handle pair[2];
  REQUIRE(os::open_socket_pair(SOCK_DGRAM, pair) == 0);
  os::piece halves[2] = {os::piece_of("two", 3), os::piece_of("parts", 5)};
  os::message sent[2];
  sent[0].set_pieces(halves, 2);
  sent[1].set_pieces(halves + 1, 1);
  REQUIRE(os::send_messages(pair[0], sent, 2) == 2);
  char first[16];
  char second[2];
  os::piece rooms[2] = {os::piece_of(first, sizeof first), os::piece_of(second, sizeof second)};
  os::message got[2];
  got[0].set_pieces(&rooms[0], 1);
  got[1].set_pieces(&rooms[1], 1);
  REQUIRE(os::receive_messages(pair[1], got, 2) == 2);
  CHECK(std::string_view(first, got[0].size()) == "twoparts");
  CHECK_FALSE(got[0].was_cut_off());
  CHECK(got[1].size() == sizeof second);
  CHECK(got[1].was_cut_off());
  REQUIRE(os::send_message(pair[0], sent[0]) == 8);
  CHECK(os::receive(pair[1], first, sizeof first) == 8);
  os::close(pair[0]);
  os::close(pair[1]);
}

TEST_CASE("a message says where it came from") {
  const int from = static_cast<int>(os::open_socket(AF_INET, SOCK_DGRAM, 0));
  const int to = static_cast<int>(os::open_socket(AF_INET, SOCK_DGRAM, 0));
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<::sockaddr*>(&address);
  REQUIRE(os::bind(to, name, sizeof address) == 0);
  ::socklen_t size = sizeof address;
  REQUIRE(os::socket_name(to, false, name, size) == 0);
  os::piece bytes = os::piece_of("x", 1);
  os::message sent;
  sent.set_pieces(&bytes, 1);
  sent.set_name(name, size);
  REQUIRE(os::send_messages(from, &sent, 1) == 1);
  char room = 0;
  os::piece piece = os::piece_of(&room, 1);
  ::sockaddr_storage seen{};
  os::message got;
  got.set_pieces(&piece, 1);
  got.set_name(reinterpret_cast<::sockaddr*>(&seen), sizeof seen);
  REQUIRE(os::wait_for(to, false, 10'000) == 1);
  REQUIRE(os::receive_messages(to, &got, 1) == 1);
  CHECK(got.name_size() == sizeof address);
  CHECK(seen.ss_family == AF_INET);
  os::close(from);
  os::close(to);
}

TEST_CASE("options of a socket are those that the system then has") {
  const bound_socket one;
  const auto option = [&](int level, int name) { return os::get_option(one.fd, level, name); };
  CHECK(os::socket_family(one.fd) == AF_INET);
  CHECK(os::set_no_delay(one.fd, true) == 0);
  CHECK(option(IPPROTO_TCP, TCP_NODELAY) != 0);
  CHECK(os::set_no_delay(one.fd, false) == 0);
  CHECK(option(IPPROTO_TCP, TCP_NODELAY) == 0);
  CHECK(os::reuse_address(one.fd) == 0);
  CHECK(option(SOL_SOCKET, SO_REUSEADDR) != 0);
  CHECK(os::reuse_port(one.fd) == 0);
  CHECK(option(SOL_SOCKET, SO_REUSEPORT) != 0);
  CHECK(os::set_keep_alive(one.fd, true, {11, 12, 13}) == 0);
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) != 0);
  CHECK(option(IPPROTO_TCP, keep_alive_idle) == 11);
  CHECK(option(IPPROTO_TCP, TCP_KEEPINTVL) == 12);
  CHECK(option(IPPROTO_TCP, TCP_KEEPCNT) == 13);
  CHECK(os::set_keep_alive(one.fd, true, {11, 12, -1}) == os::invalid);
  CHECK(os::set_keep_alive(one.fd, false, {-1, -1, -1}) == 0);
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 0);
}

TEST_CASE("one end of a connection can be shut down, and the other end sees it") {
  os::handle pair[2];
  REQUIRE(os::open_socket_pair(SOCK_STREAM, pair) == 0);
  REQUIRE(os::shut_down(pair[0], os::writing) == 0);
  char room = 0;
  CHECK(os::receive(pair[1], &room, 1) == 0);
  CHECK(os::send(pair[1], "x", 1) == 1);
  REQUIRE(os::shut_down(pair[1], os::reading) == 0);
  CHECK(os::receive(pair[1], &room, 1) == 0);
  os::close(pair[0]);
  os::close(pair[1]);
}

TEST_CASE("a network interface has a number if there is one of that name") {
  CHECK(os::interface_number("lo") != 0);
  CHECK(os::interface_number("no such interface") == 0);
}

TEST_CASE("a signal does not cut short the close of a socket that lingers") {
  struct ::sigaction before {};
  struct ::sigaction counting {};
  counting.sa_handler = [](int) { signals_taken.fetch_add(1); };
  counting.sa_flags = SA_RESTART;
  REQUIRE(::sigaction(SIGUSR2, &counting, &before) == 0);
  // The sender may get no turn while a close waits: then there is another one.
  int during_close = 0;
  const auto end = std::chrono::steady_clock::now() + support::long_time;
  while (during_close == 0 && std::chrono::steady_clock::now() < end) {
    const bound_socket there;
    REQUIRE(os::listen(there.fd, 1) == 0);
    const int silent_peer_of = static_cast<int>(os::open_socket(AF_INET, SOCK_STREAM, 0));
    os::connect(silent_peer_of, there.address(), sizeof there.at);
    REQUIRE(os::wait_for(silent_peer_of, true, 10'000) == 1);
    const std::string much(1 << 20, 'x');
    while (os::write(silent_peer_of, much.data(), much.size()) > 0) {  // until nothing more fits
    }
    REQUIRE(os::set_linger(silent_peer_of, 1) == 0);
    REQUIRE(os::set_nonblocking(silent_peer_of, false) == 0);

    signals_taken = 0;
    std::atomic<bool> closed{false};
    std::thread sender([&closed, to = ::pthread_self()] {
      while (!closed) {
        std::this_thread::sleep_for(5ms);
        ::pthread_kill(to, SIGUSR2);
      }
    });
    CHECK(support::eventually([] { return signals_taken > 0; }));
    signals_taken = 0;
    const auto start = std::chrono::steady_clock::now();
    os::close(silent_peer_of);
    const auto took = std::chrono::steady_clock::now() - start;
    during_close = signals_taken;
    closed = true;
    sender.join();
    CHECK(took > 500ms);
  }
  ::sigaction(SIGUSR2, &before, nullptr);
  CHECK(during_close > 0);
}
