// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// conn::send_file from what is no file on a disk: devices and pipes. Of files that the kernel makes
// up: linux/send_file_test.cpp.

#include "support/net.hpp"
#include "support/test.hpp"
#include "unit/net/sent_to_peer.hpp"

#include <fcntl.h>
#include <unistd.h>

using support::is_cancelled;
using support::is_timeout;
using support::sent_to_peer;
using support::steady;
using support::tcp_pair;

IN_RUNTIME("send_file from a device without an end sends as many bytes as were asked for") {
  const int zeroes = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  REQUIRE(zeroes >= 0);
  for (const std::uint64_t n : {std::uint64_t{100}, std::uint64_t{3'000'000}}) {
    std::uint64_t sent = 0;
    std::error_code error;
    const std::string got = sent_to_peer(zeroes, 0, n, sent, error);
    CHECK_FALSE(error);
    CHECK(sent == n);
    CHECK((got == std::string(static_cast<std::size_t>(n), '\0')));
  }
  ::close(zeroes);
}

IN_RUNTIME("send_file copies a pipe up to its end, or as much as was asked for") {
  for (const bool waits : {false, true}) {
    thrum::io::pipe pipe;
    const int end = ::dup(pipe.reader().native_handle());
    ::fcntl(end, F_SETFL, waits ? 0 : O_NONBLOCK);
    const std::string text(200'000, 'p');
    auto writer = thrum::spawn([&] {
      pipe.writer().write(text);
      thrum::sleep_for(1ms);
      pipe.writer().write("rest");
      pipe.writer().write("!");
      pipe.close_write();
    });
    std::uint64_t sent = 0;
    std::error_code error;
    CHECK((sent_to_peer(end, 0, text.size() + 4, sent, error) == text + "rest"));
    CHECK_FALSE(error);
    CHECK(sent == text.size() + 4);
    CHECK(sent_to_peer(end, 0, 1'000, sent, error) == "!");
    CHECK_FALSE(error);
    CHECK(sent == 1);
    CHECK(sent_to_peer(end, 7, 1'000, sent, error).empty());
    CHECK(error == std::errc::invalid_seek);
    CHECK(sent == 0);
    writer.join();
    ::close(end);
  }
}

IN_RUNTIME("send_file from a pipe in which nothing is ends with the deadline, and with close") {
  thrum::io::pipe pipe;
  const int end = ::dup(pipe.reader().native_handle());
  auto pair = tcp_pair();
  std::error_code error;
  pair.client.set_write_deadline(steady::now() + 5ms);
  CHECK(pair.client.send_file(end, 0, 10, error) == 0);
  CHECK(is_timeout(error));
  pair.client.set_write_deadline(thrum::time_point::max());
  auto closer = thrum::spawn([&] {
    thrum::sleep_for(2ms);
    pair.client.close();
  });
  CHECK(pair.client.send_file(end, 0, 10, error) == 0);
  CHECK(is_cancelled(error));
  closer.join();
  ::close(end);
}

IN_RUNTIME("send_file from what cannot be read tells why") {
  std::uint64_t sent = 1;
  std::error_code error;
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(sent_to_peer(folder, 0, 10, sent, error).empty());
  CHECK(error == std::errc::is_a_directory);
  CHECK(sent == 0);
  ::close(folder);
}
