// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The code of a deadline that has passed, and that every operation with one fails with it.

#include "support/commands.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

using support::loopback;
using support::steady;
using thrum::errc;

namespace {

const std::error_code of_the_system = thrum::os::error_code_of(-support::timed_out_number);

}  // namespace

TEST_CASE("a deadline that has passed is a time-out of the standard, and not the system's") {
  const std::error_code ours = errc::deadline_exceeded;
  CHECK(ours == std::errc::timed_out);
  CHECK(of_the_system == std::errc::timed_out);
  CHECK(ours != of_the_system);
  CHECK(of_the_system != errc::deadline_exceeded);
  CHECK(ours == errc::deadline_exceeded);
  CHECK(ours.category() == thrum::error_category());
  CHECK(std::string(ours.category().name()) == "thrum");
  CHECK(ours.message() == "the deadline has passed");
  CHECK(ours != std::errc::operation_canceled);
}

TEST_CASE("a stream that ends too early has a code that equals no other") {
  const std::error_code early = errc::unexpected_end;
  CHECK(early.message() == "the stream has ended too early");
  CHECK(early == errc::unexpected_end);
  CHECK(early != errc::deadline_exceeded);
  CHECK(early != std::errc::timed_out);
}

TEST_CASE("a number that is no error of the library's has a message and equals itself only") {
  const std::error_code other(77, thrum::error_category());
  CHECK(other.message() == "unknown error");
  CHECK(other != std::errc::timed_out);
  CHECK(other.default_error_condition() == std::error_condition(77, thrum::error_category()));
}

TEST_CASE("reading, writing, accepting and receiving fail with deadline_exceeded") {
  const auto check = [] {
    char one = 'x';
    const std::span<char> buffer(&one, 1);
    auto pair = support::tcp_pair();
    pair.client.set_deadline(steady::now());
    CHECK(error_of([&] { pair.client.read(buffer); }) == errc::deadline_exceeded);
    CHECK(error_of([&] { pair.client.write("x"); }) == errc::deadline_exceeded);
    pair.server.set_read_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { pair.server.read(buffer); }) == errc::deadline_exceeded);
    std::error_code error;
    pair.server.read(buffer, error);
    CHECK(error == errc::deadline_exceeded);

    auto listener = thrum::net::listener::listen(loopback());
    listener.set_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { listener.accept(); }) == errc::deadline_exceeded);

    auto udp = thrum::net::udp_socket::bind(loopback());
    udp.set_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { udp.recv(buffer); }) == errc::deadline_exceeded);
    CHECK(error_of([&] { udp.send_to("x", udp.local()); }) == errc::deadline_exceeded);

    thrum::io::pipe pipe;
    pipe.reader().set_deadline(steady::now() + 1ms);
    CHECK(error_of([&] { pipe.reader().read(buffer); }) == errc::deadline_exceeded);

    const auto fd = pair.server.native_handle();
    CHECK(error_of([&] { thrum::io::wait_readable(fd, steady::now()); }) ==
          errc::deadline_exceeded);
    thrum::io::wait_readable(fd, steady::now() + 1ms, error);
    CHECK(error == errc::deadline_exceeded);

    CHECK(thrum::context::background().with_timeout(0ms).error() == errc::deadline_exceeded);
  };
  check();
  with_runtime(check);
}

IN_RUNTIME("a dial that takes too long fails with deadline_exceeded, not with the system's code") {
  const support::black_hole nobody;
  CHECK(error_of([&] { thrum::net::dial(nobody.where(), 5ms); }) == errc::deadline_exceeded);
  CHECK(error_of([&] { thrum::net::dial(nobody.where(), -1ms); }) == errc::deadline_exceeded);
}

IN_RUNTIME("waiting for a process that runs on fails with deadline_exceeded") {
  auto child =
      thrum::io::process::spawn(support::words_that_wait(), {.in = thrum::io::redirect::pipe()});
  std::error_code error;
  child.wait_for(1ms, error);
  CHECK(error == errc::deadline_exceeded);
}
