// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/buffered_reader.hpp>

#include "support/scripted_stream.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

using support::scripted_source;
namespace io = thrum::io;

namespace {

template <class Reader>
std::vector<std::string> all_lines_of(Reader& from) {
  std::vector<std::string> lines;
  while (std::optional<std::string> line = from.read_line()) {
    lines.push_back(std::move(*line));
  }
  return lines;
}

using list_of_lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines come without their ends, however the stream is cut") {
  const std::string text = "one\ntwo\r\n\n\r\nth\rree\nlast";
  const list_of_lines expected{"one", "two", "", "", "th\rree", "last"};
  for (std::size_t step = 1; step != text.size() + 1; ++step) {
    scripted_source source{};
    for (std::size_t at = 0; at < text.size(); at += step) {
      source.then(text.substr(at, step));
    }
    io::buffered_reader reader(source);
    CHECK(all_lines_of(reader) == expected);
    CHECK(!reader.read_line());
  }
}

TEST_CASE("a buffered reader refers to an lvalue and owns what was moved into it") {
  scripted_source source{"a\nb\n"};
  io::buffered_reader refers(source);
  static_assert(std::is_same_v<decltype(refers), io::buffered_reader<scripted_source&>>);
  CHECK(refers.read_line() == "a");
  CHECK(&refers.stream() == &source);
  io::buffered_reader owns(scripted_source{"c\nd\n"});
  static_assert(std::is_same_v<decltype(owns), io::buffered_reader<scripted_source>>);
  CHECK(owns.read_line() == "c");
  auto moved = std::move(owns);
  CHECK(moved.read_line() == "d");
  static_assert(io::readable_stream<decltype(moved)>);
}

TEST_CASE(
    "a line of the limit's size with its end is a line, a longer one is an error that stays") {
  scripted_source source{"1234567\n", "12345678\n"};
  io::buffered_reader reader(source, 8);
  CHECK(reader.read_line() == "1234567");
  CHECK(error_of([&] { reader.read_line(); }) == std::errc::message_size);
  std::error_code error;
  CHECK(!reader.read_line(error));
  CHECK(error == std::errc::message_size);
  CHECK(reader.buffered() == 8);
  CHECK(reader.discard(8) == 8);  // what has come of it is not lost
  CHECK(reader.read_line() == "");
}

TEST_CASE("a buffered reader that was moved from holds nothing, and the other one all") {
  scripted_source source{};
  source.then("one\ntwo\n");
  io::buffered_reader from(source);
  CHECK(from.read_line() == "one");
  io::buffered_reader to(std::move(from));
  CHECK(from.buffered() == 0);
  CHECK(from.peek(4).empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  CHECK(to.buffered() == 4);
  CHECK(to.read_line() == "two");
}

TEST_CASE("a peer that never ends its line costs no more than the limit") {
  scripted_source source{std::string(1'000'000, 'x')};
  io::buffered_reader reader(source, 10'000);
  CHECK(error_of([&] { reader.read_line(); }) == std::errc::message_size);
  CHECK(reader.buffered() == 10'000);
  CHECK(source.longest_read() <= 10'000);
}

TEST_CASE("the buffer grows for a line that needs it, up to the limit") {
  const std::string line(50'000, 'x');
  scripted_source source{"a\n" + line + "\nb\n"};
  io::buffered_reader reader(source);
  CHECK(reader.read_line() == "a");
  CHECK((reader.read_line() == line));
  CHECK(reader.read_line() == "b");
}

TEST_CASE("an error in the middle of a line loses nothing of it") {
  scripted_source source{"on", std::errc::timed_out, "e\ntw", std::errc::timed_out, "o"};
  io::buffered_reader reader(source);
  std::string line = "untouched";
  std::error_code error;
  CHECK(!reader.read_line(line, error));
  CHECK(error == std::errc::timed_out);
  CHECK(line == "untouched");
  CHECK(reader.read_line(line, error));
  CHECK(!error);
  CHECK(line == "one");
  CHECK(error_of([&] { reader.read_line(line); }) == std::errc::timed_out);
  CHECK(reader.read_line(line));
  CHECK(line == "two");
  CHECK(!reader.read_line(line, error));
  CHECK(!error);
}

TEST_CASE("read_until gives the delimiter too, so that its absence shows") {
  scripted_source source{"a=", "b;c;;d\r", "\n\r", "\nrest"};
  io::buffered_reader reader(source);
  CHECK(reader.read_until('=') == "a=");
  CHECK(reader.read_until(';') == "b;");
  CHECK(reader.read_until(';') == "c;");
  CHECK(reader.read_until(';') == ";");
  CHECK(reader.read_until("\r\n\r\n") == "d\r\n\r\n");
  CHECK(reader.read_until("\r\n\r\n") == "rest");
  CHECK(!reader.read_until('x'));
  CHECK(usage_message([&] { reader.read_until(""); }).find("delimiter") != std::string::npos);
}

TEST_CASE("read_exactly fills its buffer, says 0 at the end, and calls an early end an error") {
  scripted_source source{"head", "bo", "dy", "he"};
  io::buffered_reader reader(source);
  std::string block(4, ' ');
  CHECK(reader.read_exactly(block) == 4);
  CHECK(block == "head");
  CHECK(reader.read_exactly(block) == 4);
  CHECK(block == "body");
  std::error_code error;
  CHECK(reader.read_exactly(block, error) == 2);
  CHECK(error == thrum::errc::unexpected_end);
  CHECK(block == "hedy");
  CHECK(reader.read_exactly(block) == 0);
  io::buffered_reader other(scripted_source{"abc"});
  CHECK(error_of([&] { static_cast<void>(other.read_exactly(block)); }) ==
        thrum::errc::unexpected_end);
}

TEST_CASE("what came before an error is in the block, and is counted") {
  scripted_source source{"ab", std::errc::timed_out, "cd"};
  io::buffered_reader reader(source);
  std::string block(4, ' ');
  std::error_code error;
  const std::size_t got = reader.read_exactly(block, error);
  CHECK(got == 2);
  CHECK(error == std::errc::timed_out);
  CHECK(reader.read_exactly(std::span(block).subspan(got), error) == 2);
  CHECK(!error);
  CHECK(block == "abcd");
}

TEST_CASE("peek shows what comes next and leaves it there") {
  scripted_source source{"GE", "T / HTTP", std::errc::timed_out};
  io::buffered_reader reader(source, 64);
  CHECK(reader.peek(0).empty());
  CHECK(source.reads() == 0);
  CHECK(reader.peek(3) == "GET");
  CHECK(reader.peek(2) == "GE");
  std::error_code error;
  CHECK(reader.peek(60, error) == "GET / HTTP");
  CHECK(error == std::errc::timed_out);
  CHECK(reader.peek(60) == "GET / HTTP");  // the end
  CHECK(reader.read_until(' ') == "GET ");
  CHECK(reader.read_all() == "/ HTTP");
}

TEST_CASE("peek beyond the limit is an error and not a wait for ever") {
  scripted_source source{std::string(100, 'x')};
  io::buffered_reader reader(source, 10);
  CHECK(error_of([&] { reader.peek(11); }) == std::errc::message_size);
  CHECK(reader.peek(10).size() == 10);
}

TEST_CASE("discard drops what is in the buffer first, and counts what there was") {
  scripted_source source{"line\nabcdef", std::string(10'000, 'x'), "tail"};
  io::buffered_reader reader(source);
  CHECK(reader.read_line() == "line");
  CHECK(reader.discard(5) == 5);
  CHECK(reader.discard(10'001) == 10'001);
  CHECK(reader.peek(4) == "tail");
  CHECK(reader.discard(1'000'000) == 4);
}

TEST_CASE("a read gives what is in the buffer, and with a large one reads past it") {
  scripted_source source{"line\nabc", std::string(100'000, 'x')};
  io::buffered_reader reader(source);
  CHECK(reader.read_line() == "line");
  std::string large(100'000, ' ');
  CHECK(reader.read(large) == 3);
  CHECK(reader.buffered() == 0);
  CHECK(reader.read(large) == 100'000);
  CHECK(source.longest_read() == 100'000);
  CHECK(reader.read(large) == 0);
}

IN_RUNTIME("a thread reads lines that a goroutine writes to a pipe") {
  io::pipe p;
  list_of_lines got;
  std::thread reading([&] {
    io::buffered_reader reader(p.reader());
    got = all_lines_of(reader);
  });
  for (int i = 0; i != 100; ++i) {
    p.write(std::to_string(i) + "\r\n");
  }
  p.close_write();
  thrum::blocking([&] { reading.join(); });
  REQUIRE(got.size() == 100);
  CHECK(got[0] == "0");
  CHECK(got[99] == "99");
}

IN_RUNTIME("a deadline ends a read_line, and the next one goes on where it was") {
  io::pipe p;
  io::buffered_reader reader(p.reader());
  p.write("be");
  CHECK(reader.peek(2) == "be");
  reader.stream().set_deadline(std::chrono::steady_clock::now() + 1ms);
  CHECK(error_of([&] { reader.read_line(); }) == thrum::errc::deadline_exceeded);
  reader.stream().set_deadline(thrum::time_point::max());
  p.write("gin\n");
  CHECK(reader.read_line() == "begin");
}

TEST_CASE("a goroutine that waits for a line is unwound when its runtime stops") {
  bool was_unwound = false;
  {
    io::pipe p;
    thrum::run([&] {
      thrum::go([&] {
        struct mark {
          bool& set;
          ~mark() { set = true; }
        } const at_end{was_unwound};
        io::buffered_reader reader(p.reader());
        reader.read_line();
      });
      thrum::this_goroutine::yield();
    });
  }
  CHECK(was_unwound);
}

IN_RUNTIME("a stop ends what a buffered_reader waits for, and what has come is still to be read") {
  io::pipe p;
  io::buffered_reader reader(p.reader());
  const auto check_stopped = [&](auto call) {
    // All that has come is in the buffer, so that what the call waits for is only the stop.
    p.write("abc");
    reader.peek(reader.buffered() + 3);
    std::error_code error;
    const thrum::context stop = thrum::context().with_cancel();
    auto stopper = thrum::spawn([&] {
      const bool waits = are_waiting(1);
      stop.cancel();
      return waits;
    });
    call(stop, error);
    CHECK(stopper.join());
    CHECK(error == std::errc::operation_canceled);
  };
  check_stopped(
      [&](const auto& stop, auto& error) { CHECK_FALSE(reader.read_until("\n", stop, error)); });
  check_stopped(
      [&](const auto& stop, auto& error) { CHECK(reader.peek(10, stop, error) == "abcabc"); });
  check_stopped(
      [&](const auto& stop, auto& error) { CHECK(reader.discard(10, stop, error) == 9); });
  check_stopped([&](const auto& stop, auto& error) {
    char text[10];
    CHECK(reader.read_exactly(text, stop, error) == 3);
    CHECK(std::string(text, 3) == "abc");
  });
  p.write("line;");
  CHECK(reader.read_until(';', thrum::context()) == "line;");
  p.write("more");
  CHECK(reader.peek(2, thrum::context()) == "mo");
  CHECK(reader.discard(2, thrum::context()) == 2);
  char two[2];
  CHECK(reader.read_exactly(two, thrum::context()) == 2);
  p.write("x");
  p.close_write();
  CHECK(error_of([&] { (void)reader.read_exactly(two, thrum::context()); }) ==
        thrum::errc::unexpected_end);
}

TEST_CASE("a range over lines() ends with the stream, and a line may be moved from") {
  scripted_source source{std::string("one\ntwo\r\n\nlast")};
  io::buffered_reader reader(source);
  list_of_lines found;
  for (std::string& line : reader.lines()) {
    found.push_back(std::move(line));
  }
  CHECK(found == list_of_lines{"one", "two", "", "last"});
  CHECK(reader.lines().begin() == reader.lines().end());
  CHECK(error_of([] {
          scripted_source breaks{std::string("one\n"), std::errc::io_error};
          io::buffered_reader from(breaks);
          for ([[maybe_unused]] const std::string& line : from.lines()) {
          }
        }) == std::errc::io_error);
}
