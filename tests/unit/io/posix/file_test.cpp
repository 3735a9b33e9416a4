// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files as POSIX has them: permissions and flags, folders that are opened, fifos, devices.
// read_v and write_v of a file whose mode is not ours.

#include <thrum/detail/io/pieces.hpp>

#include "support/descriptors.hpp"
#include "support/folder.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <fcntl.h>
#include <sys/stat.h>

using thrum::io::file;
using thrum::io::open_mode;
namespace io = thrum::io;

TEST_CASE("a file that is created has the permissions that were asked for") {
  const support::folder folder;
  with_runtime([&] {
    const std::string path = folder / "a";
    file::open(path, open_mode::write | open_mode::create, 0600).write("one");
    struct ::stat about {};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);
    CHECK(file::open(path, O_RDONLY).read_all() == "one");
  });
}

IN_RUNTIME("a folder can be opened, and reading it is an error that names it") {
  std::error_code error;
  file f = file::open("/", open_mode::read, error);
  CHECK(!error);
  char one;
  try {
    f.read(std::span(&one, 1));
    FAIL("a folder was read");
  } catch (const std::system_error& refused) {
    CHECK(std::string(refused.what()).find("file::read /: ") == 0);
  }
}

TEST_CASE("a fifo waits in the poller, for data and for its deadline") {
  const support::folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  with_runtime(with_procs(1), [&] {
    auto opened = thrum::spawn([&] { return file::open(path, open_mode::write); });
    file in = file::open(path);
    file out = opened.join();
    in.set_deadline(std::chrono::steady_clock::now() + 2ms);
    char one;
    CHECK(error_of([&] { in.read(std::span(&one, 1)); }) == std::errc::timed_out);
    in.set_read_deadline(thrum::time_point::max());
    auto writer = thrum::spawn([&] {
      thrum::sleep_for(2ms);
      out.write("x");
    });
    CHECK(in.read(std::span(&one, 1)) == 1);
    CHECK(one == 'x');
    writer.join();
    out.close();
    CHECK(in.read(std::span(&one, 1)) == 0);
  });
}

TEST_CASE("close ends a read that waits for a fifo") {
  const support::folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  with_runtime([&] {
    file f = file::open(path, open_mode::read_write);
    auto reader = thrum::spawn([&] {
      char one;
      return error_of([&] { f.read(std::span(&one, 1)); });
    });
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    f.close();
    CHECK(reader.join() == std::errc::operation_canceled);
  });
}

TEST_CASE("a stop ends a read that waits for a fifo") {
  const support::folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(support::is_unwound_at_stop([&] {
    file f = file::open(path, open_mode::read_write);
    char one;
    f.read(std::span(&one, 1));
  }));
}

TEST_CASE("writing to a fifo without a reader is an error, not a signal") {
  const support::folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  with_runtime([&] {
    auto opened = thrum::spawn([&] { return file::open(path, open_mode::write); });
    file::open(path).close();
    file out = opened.join();
    CHECK(error_of([&] { out.write("x"); }) == std::errc::broken_pipe);
  });
}

TEST_CASE("a device that gives without an end is read as far as there is room") {
  with_runtime([&] {
    file zero = file::open("/dev/zero");
    char bytes[100] = {'x'};
    CHECK(zero.read_full(bytes) == sizeof bytes);
    CHECK(bytes[0] == '\0');
  });
}

IN_RUNTIME("read_v and write_v: of a pipe that was handed over in blocking mode, too") {
  int ends[2];
  REQUIRE(support::open_pipe(ends, support::waits::yes));
  io::file from(ends[0]);
  io::file to(ends[1]);
  const std::string_view one = "one";
  const std::string_view two = "two";
  const std::vector<std::span<const std::byte>> some{
      {}, std::as_bytes(std::span(one)), std::as_bytes(std::span(two))};
  std::string read(6, '-');
  const std::vector<std::span<std::byte>> into{{}, std::as_writable_bytes(std::span(read))};
  auto reader = thrum::spawn([&] { return from.read_v(into); });  // waits
  CHECK(to.write_v(some) == 6);
  const std::size_t n = reader.join();
  CHECK(n != 0);
  CHECK(read.substr(0, n) == std::string("onetwo").substr(0, n));
}
