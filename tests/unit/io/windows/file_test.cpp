// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files of Windows that POSIX has otherwise: what is read-only, pipes that others have opened.
#if defined(_WIN32)

#include <thrum/detail/os/windows/api.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <filesystem>

namespace {

using thrum::io::file;
using thrum::io::open_mode;

/// The ends of a pipe as other libraries open it: they block, and nobody says when they would not.
struct anonymous_pipe {
  anonymous_pipe() {
    ::HANDLE ends[2];
    REQUIRE(::CreatePipe(&ends[0], &ends[1], nullptr, 0) != 0);
    in = reinterpret_cast<thrum::os::handle>(ends[0]);
    out = reinterpret_cast<thrum::os::handle>(ends[1]);
  }
  thrum::os::handle in;
  thrum::os::handle out;
};

}  // namespace

TEST_CASE("a file that is created without the right to write is read-only") {
  const support::folder folder;
  const std::filesystem::path path = folder / "a";
  with_runtime([&] {
    file f = file::open(path.string(), open_mode::write | open_mode::create, 0444);
    CHECK(f.write("x") == 1);
    f.close();
    CHECK((::GetFileAttributesW(path.c_str()) & FILE_ATTRIBUTE_READONLY) != 0);
    CHECK(::SetFileAttributesW(path.c_str(), FILE_ATTRIBUTE_NORMAL) != 0);
    CHECK(file::open(path.string()).read_all() == "x");
  });
}

TEST_CASE("a file that is open can be renamed and removed by others") {
  const support::folder folder;
  with_runtime([&] {
    file f = file::open((folder / "a").string(), open_mode::read_write | open_mode::create);
    f.write("x");
    std::error_code error;
    std::filesystem::rename(folder / "a", folder / "b", error);
    CHECK(!error);
    CHECK(std::filesystem::remove(folder / "b", error));
    f.seek(0);
    CHECK(f.read_all() == "x");
  });
}

TEST_CASE("a path that is no UTF-8 is refused") {
  CHECK(error_of([] { file::open("a\xFF"); }) == std::errc::invalid_argument);
}

IN_RUNTIME("a pipe that others have opened works, and leaves the processor to others",
           with_procs(1)) {
  const anonymous_pipe ends;
  file in(ends.in, "input");
  file out(ends.out);
  CHECK(error_of([&] { in.set_deadline(std::chrono::steady_clock::now()); }) ==
        std::errc::operation_not_supported);
  std::atomic<bool> done{false};
  std::string text(5, '\0');
  auto reader = thrum::spawn([&] {
    const std::size_t n = in.read(std::span(text));
    done = true;
    return n;
  });
  for (int i = 0; i != 5; ++i) {
    thrum::sleep_for(1ms);
  }
  CHECK_FALSE(done);
  out.write("hello");
  CHECK(reader.join() == 5);
  CHECK(text == "hello");
  out.close();
  char one;
  CHECK(in.read(std::span(&one, 1)) == 0);
}

IN_RUNTIME("writing to a pipe of others that nobody reads is an error") {
  const anonymous_pipe ends;
  file out(ends.out);
  file(ends.in).close();
  CHECK(error_of([&] { out.write("x"); }) == std::errc::broken_pipe);
}

#endif  // _WIN32
