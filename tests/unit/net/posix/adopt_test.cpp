// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors that come from elsewhere, and go there again.
#include "support/test.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace io = thrum::io;
namespace net = thrum::net;

namespace {

bool is_in_use(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

std::string read_of(auto& from, std::size_t n) {
  std::string text(n, '\0');
  text.resize(from.read_full(std::span<char>(text)));
  return text;
}

}  // namespace

IN_RUNTIME("a connected socket that was made elsewhere is adopted, waits, and is released open") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  net::conn a = net::conn::adopt(ends[0]);
  net::conn b = net::conn::adopt(ends[1]);
  CHECK((::fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0);
  auto reader = thrum::spawn([&] { return read_of(b, 5); });
  thrum::sleep_for(1ms);
  CHECK(a.write("hello") == 5);
  CHECK(reader.join() == "hello");

  auto waiter = thrum::spawn([&] {
    char byte;
    return error_of([&] { b.read(std::span(&byte, 1)); });
  });
  thrum::sleep_for(1ms);
  const int released = b.release();
  CHECK(waiter.join() == std::errc::operation_canceled);
  CHECK(released == ends[1]);
  CHECK(is_in_use(released));
  CHECK(b.release() == -1);
  CHECK(b.native_handle() == -1);
  b.close();
  CHECK(is_in_use(released));

  net::conn again = net::conn::adopt(released);  // the poller has let it go
  auto second = thrum::spawn([&] { return read_of(again, 3); });
  thrum::sleep_for(1ms);
  a.write("abc");
  CHECK(second.join() == "abc");
}

IN_RUNTIME("a socket of another kind, or none, is not adopted, and is closed") {
  const int datagrams = ::socket(AF_INET, SOCK_DGRAM, 0);
  std::error_code error;
  net::conn::adopt(datagrams, error);
  CHECK(error == std::errc::operation_not_supported);
  CHECK_FALSE(is_in_use(datagrams));
  const int stream = ::socket(AF_INET, SOCK_STREAM, 0);
  net::udp_socket::adopt(stream, error);
  CHECK(error == std::errc::operation_not_supported);
  CHECK_FALSE(is_in_use(stream));
  const int deaf = ::socket(AF_INET, SOCK_STREAM, 0);  // does not listen
  CHECK(error_of([&] { net::listener::adopt(deaf); }) == std::errc::operation_not_supported);
  CHECK_FALSE(is_in_use(deaf));
  CHECK(error_of([] { net::conn::adopt(-1); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([] { net::udp_socket::adopt(-1); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([] { io::pipe_reader::adopt(-1); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([] { io::pipe_writer::adopt(-1); }) == std::errc::bad_file_descriptor);
  CHECK(net::conn().release() == -1);
}

IN_RUNTIME("a listener is released while it listens, and adopted with what is in its queue") {
  net::listener first = net::listener::listen("127.0.0.1:0");
  const net::endpoint where = first.local();
  net::conn client = net::dial(where);
  std::atomic<bool> accepted{false};
  auto waiter = thrum::spawn([&] {
    net::conn one = first.accept();
    accepted = true;
    return error_of([&] { first.accept(); });
  });
  REQUIRE(eventually([&] { return accepted && thrum::stats().waiting == 1; }));
  const int released = first.release();
  CHECK(waiter.join() == std::errc::operation_canceled);
  net::conn second_client = net::dial(where);
  net::listener second = net::listener::adopt(released);
  CHECK(second.local() == where);
  CHECK(second.accept().remote() == second_client.local());
}

IN_RUNTIME("a datagram socket, a file and the ends of a pipe are released and adopted") {
  net::udp_socket receiver = net::udp_socket::bind("127.0.0.1:0");
  net::udp_socket again = net::udp_socket::adopt(receiver.release());
  net::udp_socket::connect(again.local()).send("x");
  char byte = 0;
  CHECK(again.recv(std::span(&byte, 1)) == 1);

  io::pipe pipe;
  io::pipe_reader reader = io::pipe_reader::adopt(pipe.reader().release());
  io::pipe_writer writer = io::pipe_writer::adopt(pipe.writer().release());
  auto reading = thrum::spawn([&] { return read_of(reader, 2); });
  thrum::sleep_for(1ms);
  writer.write("ab");
  CHECK(reading.join() == "ab");

  io::file null = io::file::open("/dev/null", io::open_mode::write);
  const int fd = null.release();
  CHECK(is_in_use(fd));
  CHECK(error_of([&] { null.write("x"); }) == std::errc::operation_canceled);
  io::file other = io::file::adopt(fd, "nothing");
  CHECK(other.path() == "nothing");
  CHECK(other.write("x") == 1);
}
