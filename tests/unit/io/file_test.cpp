// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/descriptor.hpp>
#include <thrum/io/directory.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/whole_file.hpp>

#include <thrum/io/directory.hpp>
#include <thrum/io_uring.hpp>

#include "support/folder.hpp"
#include "support/handed_over.hpp"
#include "support/net.hpp"
#include "support/process.hpp"
#include "support/program.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <filesystem>

using support::folder;
using thrum::io::file;
using thrum::io::open_mode;
using thrum::io::seek_from;
namespace io = thrum::io;

namespace {

std::string path_in(const support::folder& folder) { return (folder / "a").string(); }

thrum::os::handle open_null(open_mode mode) {
  return thrum::os::handle_of(thrum::os::open_file(thrum::os::null_device, mode, 0));
}

/// What a system says of a file that was opened to be read.
constexpr std::errc not_opened_to_write =
    THRUM_OS_WINDOWS ? std::errc::permission_denied : std::errc::bad_file_descriptor;

}  // namespace

TEST_CASE("an offset that no file reaches is refused, and is never the current position") {
  for (const char* const poller : {"default", "io_uring"}) {
    thrum::options options = support::environment_options();
    if (std::string_view(poller) == "io_uring") {
      options.poller = thrum::poller_kind::io_uring;
    }
    CAPTURE(poller);
    const support::folder folder;
    with_runtime(std::move(options), [&] {
      file f = file::open(path_in(folder), open_mode::read_write | open_mode::create);
      f.write("0123456789");
      f.seek(2);
      char one[1];
      for (const std::uint64_t offset : {UINT64_MAX, UINT64_MAX - 1, std::uint64_t{1} << 63}) {
        CAPTURE(offset);
        CHECK(error_of([&] { f.read_at(one, offset); }) == std::errc::invalid_argument);
        CHECK(error_of([&] { f.write_at("x", offset); }) == std::errc::invalid_argument);
      }
      CHECK(f.seek(0, seek_from::current) == 2);
      CHECK(f.seek(0) == 0);
      CHECK(f.read_all() == "0123456789");
    });
  }
}

TEST_CASE("what is written to a file is read from it, from the current position") {
  const auto check = [] {
    const support::folder folder;
    file f = file::open(path_in(folder), open_mode::read_write | open_mode::create);
    CHECK(f.write("hello, world") == 12);
    CHECK(f.size() == 12);
    CHECK(f.seek(7) == 7);
    char text[16];
    CHECK(f.read(text) == 5);
    CHECK(std::string(text, 5) == "world");
    CHECK(f.read(text) == 0);
    CHECK(f.seek(-5, seek_from::end) == 7);
    CHECK(f.seek(1, seek_from::current) == 8);
    CHECK(f.read_all() == "orld");
    f.sync();
  };
  check();
  with_runtime(check);
}

TEST_CASE("a file has places that 32 bits do not count") {
  const support::folder folder;
  constexpr std::int64_t far = std::int64_t{5} << 30;
  with_runtime([&] {
    file f = file::open(path_in(folder), open_mode::read_write | open_mode::create);
    CHECK(f.seek(far) == far);
    CHECK(f.write("ab") == 2);
    CHECK(f.seek(0, seek_from::current) == far + 2);
    CHECK(f.write_at("c", far + 2) == 1);
    CHECK(f.size() == far + 3);
    char text[4];
    CHECK(f.read_at(text, far) == 3);
    CHECK(std::string(text, 3) == "abc");
    f.close();
    CHECK(file::open(path_in(folder), open_mode::read).size() == far + 3);
  });
}

TEST_CASE("read_at and write_at leave the position alone") {
  const support::folder folder;
  with_runtime([&] {
    file f = file::open(path_in(folder), open_mode::read_write | open_mode::create);
    f.write("0123456789");
    CHECK(f.write_at("ab", 4) == 2);
    char two[2];
    CHECK(f.read_at(two, 3) == 2);
    CHECK(std::string(two, 2) == "3a");
    CHECK(f.read_at(two, 10) == 0);
    CHECK(f.seek(0, seek_from::current) == 10);
    f.truncate(3);
    CHECK(f.size() == 3);
  });
}

TEST_CASE("each mode opens as it says") {
  const support::folder folder;
  with_runtime([&] {
    const std::string path = path_in(folder);
    CHECK(error_of([&] { file::open(path); }) == std::errc::no_such_file_or_directory);
    file::open(path, open_mode::write | open_mode::create).write("one");
    CHECK(error_of([&] {
            file::open(path, open_mode::write | open_mode::create | open_mode::exclusive);
          }) == std::errc::file_exists);
    file::open(path, open_mode::append).write("two");
    CHECK(file::open(path).read_all() == "onetwo");
    file::open(path, open_mode::write | open_mode::truncate).write("3");
    CHECK(file::open(path).read_all() == "3");
    CHECK(error_of([&] { file::open(path, open_mode::append).write_at("x", 0); }) ==
          std::errc::invalid_argument);
    CHECK(error_of([&] { file::open(path).write("x"); }) == not_opened_to_write);
  });
}

TEST_CASE("an error of a file names the operation and the path, and a code says the same") {
  with_runtime([&] {
    try {
      file::open("/nowhere/at all");
      FAIL("it was opened");
    } catch (const std::system_error& error) {
      CHECK(std::string(error.what()).find("file::open /nowhere/at all: ") == 0);
    }
    std::error_code error;
    file f = file::open("/nowhere/at all", open_mode::read, error);
    CHECK(error == std::errc::no_such_file_or_directory);
    CHECK(!f);
    f = file::open(std::string("/dev\0/null", 10), open_mode::read, error);
    CHECK(error == std::errc::invalid_argument);
  });
}

#ifdef THRUM_MEMORY_PATH  // sanitizers have an operator new of their own
TEST_CASE("a file that is opened without memory leaves no descriptor behind") {
  const auto result = support::run_file(THRUM_MEMORY_PATH, "open_files_without_memory");
  INFO(result.text);
  CHECK(result.exit_code == 0);
}
#endif

TEST_CASE("a file is not inherited by a program that is started") {
  with_runtime([&] {
    const file f = file::open(thrum::os::null_device);
    CHECK_FALSE(support::is_inherited(f.native_handle()));
  });
}

TEST_CASE("operations on a closed file are cancelled, those on an empty one are refused") {
  with_runtime([&] {
    file f = file::open(support::own_program());
    f.close();
    f.close();
    char one;
    CHECK(error_of([&] { f.read(std::span(&one, 1)); }) == std::errc::operation_canceled);
    CHECK(error_of([&] { f.read_at(std::span(&one, 1), 0); }) == std::errc::operation_canceled);
    CHECK(error_of([&] { f.size(); }) == std::errc::operation_canceled);
    CHECK(f.native_handle() == thrum::os::no_handle);
    file none;
    CHECK(error_of([&] { none.read(std::span(&one, 1)); }) == std::errc::bad_file_descriptor);
    CHECK(error_of([&] { none.sync(); }) == std::errc::bad_file_descriptor);
  });
}

TEST_CASE("a file keeps what it is when it moves") {
  const support::folder folder;
  with_runtime([&] {
    file first = file::open(path_in(folder), open_mode::append | open_mode::create);
    file second = std::move(first);
    CHECK(!first);  // NOLINT(bugprone-use-after-move): it holds none
    second.write("x");
    first = std::move(second);
    CHECK(first.path() == path_in(folder));
    CHECK(error_of([&] { first.write_at("x", 0); }) == std::errc::invalid_argument);
  });
}

TEST_CASE("writes of several goroutines to one file do not mix") {
  const support::folder folder;
  with_runtime([&] {
    file f = file::open(path_in(folder), open_mode::read_write | open_mode::create);
    constexpr int writers = 8;
    const int rounds = support::scaled(200, 20);
    thrum::wait_group group;
    for (int w = 0; w != writers; ++w) {
      group.go([&f, w, rounds] {
        const std::string line(63, static_cast<char>('a' + w));
        for (int i = 0; i != rounds; ++i) {
          f.write(line + "\n");
        }
      });
    }
    group.wait();
    f.seek(0);
    const std::string text = f.read_all();
    REQUIRE(text.size() == static_cast<std::size_t>(writers * rounds * 64));
    bool whole = true;
    for (std::size_t at = 0; at != text.size(); at += 64) {
      whole = whole && text.substr(at, 64) == std::string(63, text[at]) + "\n";
    }
    CHECK(whole);
  });
}

TEST_CASE("goroutines that read a file leave the processor to others") {
  with_runtime(with_procs(1), [&] {
    std::atomic<int> others{0};
    std::atomic<bool> done{false};
    auto other = thrum::spawn([&] {
      while (!done) {
        ++others;
        thrum::this_goroutine::yield();
      }
    });
    file f = file::open(support::own_program());
    char block[4096];
    CHECK(support::eventually_yielding([&] {
      f.read_at(block, 0);
      return others > 100;
    }));
    done = true;
    other.join();
  });
}

TEST_CASE("a device that cannot be waited for works all the same, opened or handed over") {
  with_runtime([&] {
    file opened = file::open(thrum::os::null_device, open_mode::read_write);
    file handed_over(open_null(open_mode::read_write));
    for (file* const null : {&opened, &handed_over}) {
      CHECK(null->write("gone") == 4);
      CHECK(null->read_all().empty());
    }
  });
}

TEST_CASE("a regular file has no deadlines, and says so") {
  with_runtime([&] {
    file f = file::open(support::own_program());
    CHECK(error_of([&] { f.set_deadline(std::chrono::steady_clock::now()); }) ==
          std::errc::operation_not_supported);
    std::error_code error;
    f.set_deadline(std::chrono::steady_clock::now(), error);
    CHECK(error == std::errc::operation_not_supported);
  });
}

namespace {

/// Calls f(ends) inside a runtime with one processor, for each kind.
template <class F>
void with_each_kind_of_ends(F f) {
  for (const auto hand_over : support::ways_to_hand_over) {
    with_runtime(with_procs(1), [&] { f(hand_over()); });
  }
}

}  // namespace

TEST_CASE("a descriptor that was handed over keeps its mode, and waits without a thread") {
  with_each_kind_of_ends([](support::handed_over_ends ends) {
    file in(ends.in, "what was handed over");
    file out(ends.out);
    std::string line(6, '\0');
    auto reader = thrum::spawn([&] { return in.read(std::span(line)); });
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    CHECK(thrum::stats().in_syscall == 0);
    CHECK(support::is_as_handed_over(ends.in));
    out.write("hello\n");
    CHECK(reader.join() == 6);
    CHECK(line == "hello\n");
    CHECK(support::is_as_handed_over(ends.in));
    CHECK(support::is_as_handed_over(ends.out));
  });
}

TEST_CASE("close and a deadline end a read of a descriptor handed over in blocking mode") {
  with_each_kind_of_ends([](support::handed_over_ends ends) {
    file in(ends.in);
    char one;
    in.set_read_deadline(std::chrono::steady_clock::now() + 2ms);
    CHECK(error_of([&] { in.read(std::span(&one, 1)); }) == std::errc::timed_out);
    in.set_read_deadline(thrum::time_point::max());
    auto reader = thrum::spawn([&] {
      char other;
      return error_of([&] { in.read(std::span(&other, 1)); });
    });
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    in.close();
    CHECK(reader.join() == std::errc::operation_canceled);
    thrum::os::close(ends.out);
  });
}

TEST_CASE("a stop ends a read of a descriptor handed over in blocking mode") {
  for (const auto hand_over : support::ways_to_hand_over) {
    const support::handed_over_ends ends = hand_over();
    CHECK(support::is_unwound_at_stop([&] {
      file in(ends.in);
      char one;
      in.read(std::span(&one, 1));
    }));
    thrum::os::close(ends.out);
  }
}

TEST_CASE("a long write to a descriptor that was handed over goes on as its reader takes it") {
  with_each_kind_of_ends([](support::handed_over_ends ends) {
    file from(ends.is_terminal ? ends.out : ends.in);
    file to(ends.is_terminal ? ends.in : ends.out);
    const std::size_t size = ends.is_terminal ? 20'000 : 1'000'000;
    auto writer = thrum::spawn([&] { return to.write(std::string(size, 'x')); });
    std::string all(size, '\0');
    CHECK(from.read_full(std::span(all)) == size);
    CHECK(all.find_first_not_of('x') == all.npos);
    CHECK(writer.join() == size);
  });
}

IN_RUNTIME("a pipe that was handed over tells that its other side has gone, to either side") {
  support::handed_over_ends ends = support::hand_over_pipe();
  file(ends.in).close();
  file out(ends.out);
  CHECK(error_of([&] { out.write("x"); }) == std::errc::broken_pipe);  // and no signal
  ends = support::hand_over_pipe();
  file in(ends.in);
  auto reader = thrum::spawn([&] { return in.read_all(); });
  CHECK(support::put(ends.out, "last"));
  thrum::os::close(ends.out);
  CHECK(reader.join() == "last");
}

TEST_CASE("a number that is no descriptor cannot be handed over, and a code says so") {
  std::error_code error;
  const file none(thrum::os::no_handle, "nothing", error);
  CHECK(error == std::errc::bad_file_descriptor);
  CHECK(!none);
  const file null(open_null(open_mode::read), "the void", error);
  CHECK(!error);
  CHECK(null);
  CHECK(null.path() == "the void");
  CHECK(error_of([] { file(thrum::os::no_handle, "nothing"); }) == std::errc::bad_file_descriptor);
}

TEST_CASE("create makes a file that is there empty, and lets it be read") {
  const support::folder folder;
  with_runtime([&] {
    file::create(path_in(folder)).write("what was there");
    std::error_code error;
    file f = file::create(path_in(folder), error);
    REQUIRE_FALSE(error);
    CHECK(f.size() == 0);
    f.write("new");
    f.seek(0);
    CHECK(f.read_all() == "new");
    CHECK(error_of([&] { file::create((folder / "none" / "a").string()); }) ==
          std::errc::no_such_file_or_directory);
  });
}

IN_RUNTIME(
    "the standard streams are descriptors of their own, so that closing one closes no other") {
  std::error_code error;
  for (int round = 0; round != 2; ++round) {
    file out = thrum::io::standard_output(error);
    REQUIRE_FALSE(error);
    file errors = thrum::io::standard_error();
    CHECK(out.native_handle() != errors.native_handle());
    CHECK(errors.path() == "standard error");
    out.close();
    CHECK(errors.write("") == 0);
  }
}

IN_RUNTIME("a close that blocks leaves the processor to others", support::with_procs(1)) {
  // With io_uring the kernel may let another thread do it: see netpoll/io_uring.hpp.
  if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
    return;
  }
  auto listener = thrum::net::listener::listen("127.0.0.1:0");
  auto sender = thrum::net::dial(listener.local());
  auto silent = listener.accept();
  support::fill(sender);
  sender.linger(60);  // close() waits so long for the peer, which reads nothing
  constexpr int enough = 5;
  std::atomic<int> others{0};
  std::atomic<bool> closing{false};
  std::atomic<bool> closed{false};
  auto counter = thrum::spawn([&] {
    while (!closed && others != enough) {
      others += closing ? 1 : 0;
      thrum::sleep_for(1ms);
    }
    silent.linger(0);
    silent.close();  // a reset, which ends the other close
  });
  thrum::this_goroutine::yield();
  closing = true;
  sender.close();
  CHECK(others == enough);
  closed = true;
  counter.join();
}

TEST_CASE("a file is written and read by one call each, of any size") {
  with_runtime([] {
    const folder here;
    const std::string path = (here / "file").string();
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                   std::size_t{4096}, std::size_t{4097}, std::size_t{1'000'000}}) {
      const std::string text(size, 'x');
      io::write_file(path, text);
      CHECK(io::read_file(path) == text);
    }
    io::write_file(path, std::as_bytes(std::span(std::string_view("bytes"))));
    CHECK(io::read_file(path) == "bytes");
    io::write_file(path, "more", {.sync = true, .append = true});
    CHECK(io::read_file(path) == "bytesmore");
  });
  const folder here;
  io::write_file((here / "file").string(), "on a thread");
  CHECK(io::read_file((here / "file").string()) == "on a thread");
}

IN_RUNTIME("reading a file that is longer than allowed fails, also if its size is not known") {
  const folder here;
  const std::string path = (here / "file").string();
  io::write_file(path, "12345");
  CHECK(io::read_file(path, 5) == "12345");
  CHECK(error_of([&] { io::read_file(path, 4); }) == std::errc::file_too_large);
  std::error_code error;
  CHECK(io::read_file((here / "none").string(), error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(error_of([&] { io::write_file((here / "no" / "where").string(), "x"); }) ==
        std::errc::no_such_file_or_directory);
}

IN_RUNTIME("an atomic write replaces a file as a whole, and leaves nothing beside it") {
  const folder here;
  const std::string path = (here / "file").string();
  io::write_file(path, "first", {.atomic = true});
  CHECK(io::read_file(path) == "first");
  io::file reader = io::file::open(path);
  if (THRUM_OS_WINDOWS) {
    CHECK(error_of([&] { io::write_file(path, "second", {.atomic = true}); }) ==
          std::errc::permission_denied);
    reader.close();
  }
  io::write_file(path, "second", {.atomic = true, .sync = true});
  CHECK(io::read_file(path) == "second");
  if (!THRUM_OS_WINDOWS) {
    CHECK(reader.read_all() == "first");  // who has it open keeps what was in it
  }
  CHECK(io::read_directory((here / "").string()).size() == 1);
  CHECK(error_of([&] { io::write_file(path, "x", {.atomic = true, .append = true}); }) ==
        std::errc::invalid_argument);
  // What cannot be replaced stays, and nothing beside it.
  here.write("folder/inner", "x");
  CHECK(error_of([&] { io::write_file((here / "folder").string(), "x", {.atomic = true}); }) !=
        std::error_code());
  CHECK(io::read_directory((here / "").string()).size() == 2);
  CHECK(error_of([&] {
          io::write_file((here / "no" / "where").string(), "x", {.atomic = true});
        }) == std::errc::no_such_file_or_directory);
}
