// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/memory_pipe.hpp>
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

/// A thread sends back what comes to it until `end_way` has ended the way there.
template <class Way, class Back, class End>
void check_joins_a_thread(Way& there, Back& from_there, Way& back, Back& from_back, End end_way) {
  std::thread echo([&] {
    char block[16];
    while (const std::size_t n = from_there.read(block)) {
      back.write(std::string_view(block, n));
    }
  });
  for (int i = 0; i != 50; ++i) {
    const std::string word = std::to_string(i);
    there.write(word);
    std::string got(word.size(), ' ');
    CHECK(from_back.read_full(got) == word.size());
    CHECK(got == word);
  }
  end_way();
  thrum::blocking([&] { echo.join(); });
}

/// Writes of `size` bytes, which is more than goes at once.
template <class Way, class Back>
void check_writes_do_not_mix(Way& there, Back& from_there, std::size_t size) {
  auto writers = thrum::spawn([&] {
    in_goroutines(8, [&](int i) { there.write(std::string(size, static_cast<char>('a' + i))); });
    there.close();
  });
  const std::string text = from_there.read_all();
  writers.join();
  REQUIRE(text.size() == 8 * size);
  for (std::size_t at = 0; at != text.size(); at += size) {
    CHECK((text.compare(at, size, std::string(size, text[at])) == 0));
  }
}

}  // namespace

IN_RUNTIME("a pipe, of the system or in memory, joins a goroutine and a thread", with_procs(1)) {
  io::pipe there;
  io::pipe back;
  check_joins_a_thread(there.writer(), there.reader(), back.writer(), back.reader(),
                       [&] { there.close_write(); });
  io::memory_pipe p;
  check_joins_a_thread(p.first, p.second, p.second, p.first, [&] { p.first.close(); });
}

IN_RUNTIME("writes of several goroutines to a pipe, of the system or in memory, do not mix") {
  io::pipe p;
  check_writes_do_not_mix(p.writer(), p.reader(), 10'000);
  io::memory_pipe in_memory;
  check_writes_do_not_mix(in_memory.first, in_memory.second, 50'000);
}

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

// ---- in memory ----------------------------------------------------------------------------------

static_assert(io::readable_stream<io::memory_pipe_end> && io::writable_stream<io::memory_pipe_end>);

IN_RUNTIME(
    "what is written to one end of a memory pipe is read from the other, in pieces of any size") {
  auto [a, b] = io::memory_pipe();
  io::memory_pipe_end& there = a;
  auto writer = thrum::spawn([&there] {
    std::size_t sum = there.write("hello, ");
    sum += there.write("world");
    there.close();
    return sum;
  });
  char three[3];
  CHECK(b.read(three) == 3);
  CHECK(std::string_view(three, 3) == "hel");
  CHECK(b.read_all() == "lo, world");
  CHECK(b.read(three) == 0);
  CHECK(writer.join() == 12);
}

IN_BUBBLE("a write to a memory pipe returns when all of it was read, and not before") {
  io::memory_pipe p;
  bool has_returned = false;
  auto writer = thrum::spawn([&] {
    p.first.write("abcd");
    has_returned = true;
  });
  char three[3];
  CHECK(p.second.read(three) == 3);
  thrum::testing::wait();
  CHECK(!has_returned);
  CHECK(p.second.read(three) == 1);
  thrum::testing::wait();
  CHECK(has_returned);
  writer.join();
}

IN_RUNTIME("both directions of a memory pipe are independent") {
  io::memory_pipe p;
  auto echo = thrum::spawn([&] {
    char block[7];
    while (const std::size_t n = p.second.read(block)) {
      p.second.write(std::string_view(block, n));
    }
    p.second.close_write();
  });
  auto writer = thrum::spawn([&] {
    for (int i = 0; i != 100; ++i) {
      p.first.write("0123456789");
    }
    p.first.close_write();
  });
  const std::string text = p.first.read_all();
  CHECK(text.size() == 1'000);
  CHECK(text.starts_with("01234567890123456789"));
  echo.join();
  writer.join();
}

IN_RUNTIME("each byte of a memory pipe goes to one of several readers") {
  io::memory_pipe p;
  std::atomic<int> sum{0};
  thrum::wait_group readers;
  for (int i = 0; i != 8; ++i) {
    readers.go([&] {
      char one[1];
      while (p.second.read(one) != 0) {
        sum += one[0];
      }
    });
  }
  const int rounds = support::scaled(500, 50);
  for (int i = 0; i != rounds; ++i) {
    p.first.write("\1\2\3");
  }
  p.first.close_write();
  readers.wait();
  CHECK(sum == 6 * rounds);
}

IN_BUBBLE("closing an end of a memory pipe ends what waits on both") {
  for (const bool close_own : {true, false}) {
    io::memory_pipe p;
    std::error_code of_read;
    std::error_code of_write;
    std::error_code of_queued;
    std::size_t read = 1;
    thrum::wait_group group;
    group.go([&] {
      char one[1];
      read = p.first.read(one, of_read);
    });
    group.go([&] { p.first.write("a", of_write); });
    thrum::testing::wait();
    group.go([&] { p.first.write("b", of_queued); });
    thrum::testing::wait();
    (close_own ? p.first : p.second).close();
    group.wait();
    CHECK(read == 0);
    CHECK(of_read ==
          (close_own ? std::make_error_code(std::errc::operation_canceled) : std::error_code()));
    const std::errc expected = close_own ? std::errc::operation_canceled : std::errc::broken_pipe;
    CHECK(of_write == expected);
    CHECK(of_queued == expected);
    CHECK(error_of([&] { p.first.write("c"); }) == expected);
  }
}

IN_BUBBLE("a write to a memory pipe says how much of it was read before it failed") {
  io::memory_pipe p;
  std::error_code error;
  std::size_t done = 0;
  auto writer = thrum::spawn([&] { done = p.first.write("abcdef", error); });
  char two[2];
  CHECK(p.second.read(two) == 2);
  p.second.close();
  writer.join();
  CHECK(done == 2);
  CHECK(error == std::errc::broken_pipe);
}

IN_BUBBLE("the deadlines of a memory pipe go by virtual time, and can be moved while others wait") {
  io::memory_pipe p;
  const thrum::time_point start = thrum::testing::now();
  p.first.set_read_deadline(start + 1h);
  auto mover = thrum::spawn([&] {
    thrum::sleep_for(30min);
    p.first.set_read_deadline(start + 2h);
  });
  char one[1];
  CHECK(error_of([&] { p.first.read(one); }) == thrum::errc::deadline_exceeded);
  CHECK(thrum::testing::now() == start + 2h);
  mover.join();
  p.first.set_write_deadline(start + 3h);
  CHECK(error_of([&] { p.first.write("x"); }) == thrum::errc::deadline_exceeded);
  CHECK(thrum::testing::now() == start + 3h);
  CHECK(error_of([&] { p.first.write("x"); }) == thrum::errc::deadline_exceeded);
  p.first.set_deadline(thrum::time_point::max());
  auto writer = thrum::spawn([&] { p.first.write("x"); });
  CHECK(p.second.read(one) == 1);
  writer.join();
}

IN_RUNTIME("a deadline that is moved to the past wakes a thread that waits on a memory pipe") {
  io::memory_pipe p;
  std::error_code error;
  std::thread reading([&] {
    char one[1];
    p.second.read(one, error);
  });
  p.second.set_read_deadline(std::chrono::steady_clock::now());
  thrum::blocking([&] { reading.join(); });
  CHECK(error == thrum::errc::deadline_exceeded);
}

TEST_CASE("a writer of a memory pipe that is unwound by a stop takes its bytes back") {
  io::memory_pipe p;
  thrum::run([&] {
    for (int i = 0; i != 3; ++i) {
      thrum::go([&] {
        const std::string text(100, 'x');
        p.first.write(text);
      });
    }
    thrum::this_goroutine::yield();
  });
  char one[1];
  p.second.set_read_deadline(std::chrono::steady_clock::now());
  CHECK(error_of([&] { p.second.read(one); }) == thrum::errc::deadline_exceeded);
  p.second.set_read_deadline(thrum::time_point::max());
  std::thread writer([&] { p.first.write("y"); });  // the turn was handed back
  CHECK(p.second.read(one) == 1);
  CHECK(one[0] == 'y');
  writer.join();
}

IN_RUNTIME("an empty write to a memory pipe returns at once, and does not end the stream") {
  io::memory_pipe p;
  CHECK(p.first.write("") == 0);
  auto writer = thrum::spawn([&] { p.first.write("a"); });
  char one[1];
  CHECK(p.second.read(std::span(one, 0)) == 0);
  CHECK(p.second.read(one) == 1);
  writer.join();
  p.second.close();
  CHECK(error_of([&] { p.first.write(""); }) == std::errc::broken_pipe);
}

IN_RUNTIME("an end of a memory pipe that was moved from, or never was one, fails") {
  io::memory_pipe p;
  io::memory_pipe_end moved = std::move(p.first);
  CHECK(!p.first);
  CHECK(moved);
  char one[1];
  CHECK(error_of([&] { p.first.read(one); }) == std::errc::bad_file_descriptor);
  CHECK(error_of([&] { p.first.write("x"); }) == std::errc::bad_file_descriptor);
  p.first.close();
  p.second = io::memory_pipe_end();  // closes it
  CHECK(moved.read(one) == 0);
}

IN_BUBBLE("lines go through a memory pipe as through a connection") {
  auto [client, server] = io::memory_pipe();
  io::memory_pipe_end& to_server = client;
  auto asking = thrum::spawn([&to_server] {
    io::buffered_writer out(to_server);
    out.write("one\r\ntwo\r\n");
    out.flush();
    to_server.close_write();
  });
  io::buffered_reader in(server);
  CHECK(in.read_line() == "one");
  CHECK(in.read_line() == "two");
  CHECK(in.read_line() == std::nullopt);
  asking.join();
}
