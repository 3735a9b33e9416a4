// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/pipe.hpp>

#include "support/descriptors.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

namespace io = thrum::io;

namespace {

std::string more_than_a_pipe_takes() {
  std::string text;
  text.resize(10'000'000, 'x');
  return text;
}

}  // namespace

IN_RUNTIME("what is written to a pipe is read from it, then its end") {
  io::pipe p;
  auto writer = thrum::spawn([&] {
    p.write("hello");
    p.close_write();
  });
  CHECK(p.reader().read_all() == "hello");
  char one;
  CHECK(p.read(std::span(&one, 1)) == 0);
  writer.join();
}

IN_RUNTIME("a pipe carries more than it holds, in order") {
  io::pipe p;
  const std::size_t size = support::scaled(std::size_t{4'000'000}, std::size_t{200'000});
  std::string sent(size, '\0');
  for (std::size_t i = 0; i != size; ++i) {
    sent[i] = static_cast<char>(i * 7 % 251);
  }
  auto writer = thrum::spawn([&] {
    p.write(sent);
    p.writer().close();
  });
  CHECK((p.reader().read_all() == sent));
  writer.join();
}

IN_RUNTIME("a pipe joins a goroutine and a thread", with_procs(1)) {
  io::pipe there;
  io::pipe back;
  std::thread echo([&] {
    char block[16];
    while (const std::size_t n = there.read(block)) {
      back.write(std::string_view(block, n));
    }
    back.close_write();
  });
  for (int i = 0; i != 50; ++i) {
    const std::string word = std::to_string(i);
    there.write(word);
    std::string got(word.size(), ' ');
    CHECK(back.reader().read_full(got) == word.size());
    CHECK(got == word);
  }
  there.close_write();
  thrum::blocking([&] { echo.join(); });
}

IN_RUNTIME("writes of several goroutines to a pipe do not mix") {
  io::pipe p;
  constexpr std::size_t size = 10'000;  // more than is written at once
  thrum::wait_group group;
  for (char c = 'a'; c != 'i'; ++c) {
    group.go([&p, c] { p.write(std::string(size, c)); });
  }
  auto closer = thrum::spawn([&] {
    group.wait();
    p.close_write();
  });
  const std::string text = p.reader().read_all();
  closer.join();
  REQUIRE(text.size() == 8 * size);
  for (std::size_t at = 0; at != text.size(); at += size) {
    CHECK(text.compare(at, size, std::string(size, text[at])) == 0);
  }
}

IN_RUNTIME("each end of a pipe has a deadline of its own") {
  io::pipe p;
  p.set_read_deadline(std::chrono::steady_clock::now() + 1ms);
  char one;
  CHECK(error_of([&] { p.read(std::span(&one, 1)); }) == std::errc::timed_out);
  p.write("x");  // the writer's is not set
  const std::string much = more_than_a_pipe_takes();
  std::error_code error;
  std::size_t n = 0;
  CHECK(support::eventually([&] {  // the deadline may have passed before the write begins
    p.set_write_deadline(std::chrono::steady_clock::now() + 50ms);
    n = p.write(much, error);
    return error != std::errc::timed_out || n > 0;
  }));
  CHECK(error == std::errc::timed_out);
  CHECK(n > 0);
  CHECK(n < much.size());
  p.set_deadline(thrum::time_point::max());
  CHECK(p.read(std::span(&one, 1)) == 1);
}

IN_RUNTIME("close ends the waits for either end of a pipe") {
  io::pipe p;
  auto reader = thrum::spawn([&] {
    char one;
    return error_of([&] { p.read(std::span(&one, 1)); });
  });
  REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
  p.close_read();
  CHECK(reader.join() == std::errc::operation_canceled);

  io::pipe q;
  auto writer = thrum::spawn([&] { return error_of([&] { q.write(more_than_a_pipe_takes()); }); });
  REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
  q.close_write();
  CHECK(writer.join() == std::errc::operation_canceled);
}

TEST_CASE("a stop ends a wait for a pipe") {
  CHECK(support::is_unwound_at_stop([] {
    io::pipe p;
    char one;
    p.read(std::span(&one, 1));
  }));
}

IN_RUNTIME("an error of a pipe names the operation, and a code says the same") {
  io::pipe p;
  p.close();
  char one;
  try {
    p.read(std::span(&one, 1));
    FAIL("a closed pipe was read");
  } catch (const std::system_error& error) {
    CHECK(std::string(error.what()).find("pipe_reader::read: ") == 0);
  }
  std::error_code error;
  CHECK(p.read(std::span(&one, 1), error) == 0);
  CHECK(error == std::errc::operation_canceled);
  CHECK(p.write("x", error) == 0);
  CHECK(error == std::errc::operation_canceled);
}

IN_RUNTIME("a write that waits for room in a pipe fails when the reader closes") {
  io::pipe p;
  auto writer = thrum::spawn([&] { return error_of([&] { p.write(more_than_a_pipe_takes()); }); });
  REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
  p.close_read();
  CHECK(writer.join() == std::errc::broken_pipe);
  CHECK(error_of([&] { p.write("x"); }) == std::errc::broken_pipe);
}

TEST_CASE("the ends of a pipe are closed by close and by their destructors") {
  io::pipe p;
  const auto in = p.reader().native_handle();
  { const io::pipe_reader gone = std::move(p.reader()); }
  CHECK(!support::is_open(in));
  CHECK(!p.reader());
  p.close();
  CHECK(p.writer().native_handle() == thrum::os::no_handle);
  CHECK(error_of([&] { p.write("x"); }) == std::errc::operation_canceled);
}

IN_RUNTIME("what was written before the writing end was closed is read to the end") {
  for (const std::size_t size : {1U, 1'000U, 60'000U, 100'000U, 130'000U}) {
    io::pipe p;
    std::error_code error;
    p.set_write_deadline(std::chrono::steady_clock::now() + 20ms);
    const std::size_t sent = p.write(std::string(size, 'x'), error);
    p.close_write();
    CHECK(p.reader().read_all().size() == sent);
  }
}
