// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files of Windows that POSIX has otherwise: what is read-only, pipes that others have opened.
// Pipes of Windows, in which a writing goes on by itself: also when its thread has ended.
// Processes of Windows: what they inherit, how words become a command line, what is left of them.
// What a console of Windows tells its programs: keys, and that it is closed. The programs are in
// programs/windows/console.cpp.
#if defined(_WIN32)

#include <thrum/detail/os/windows/api.hpp>

#include "support/commands.hpp"
#include "support/descriptors.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <cstdio>
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

IN_RUNTIME("writing to a pipe without a reader is an error") {
  const anonymous_pipe ends;
  file out(ends.out);
  file(ends.in).close();
  CHECK(error_of([&] { out.write("x"); }) == std::errc::broken_pipe);
}

namespace {

/// Writes as much as the pipe takes without a reader.
std::size_t write_all_it_takes(thrum::io::pipe& p) {
  const std::string text(300'000, 'x');
  std::size_t all = 0;
  std::size_t last = 0;
  std::error_code error;
  // A write whose deadline has passed before it begins is no proof that the pipe is full.
  do {
    p.set_write_deadline(std::chrono::steady_clock::now() + 50ms);
    last = p.write(text, error);
    all += last;
  } while (error == std::errc::timed_out && (last != 0 || all == 0));
  CHECK(error == std::errc::timed_out);
  return all;
}

}  // namespace

TEST_CASE("what a thread has written to a pipe is read when that thread has ended") {
  thrum::io::pipe p;
  std::size_t written = 0;
  std::thread([&] { written = write_all_it_takes(p); }).join();
  CHECK(written > 64 * 1024);
  p.close_write();
  CHECK(p.reader().read_all().size() == written);
}

TEST_CASE("what goroutines have written to a pipe is read when their runtime has ended") {
  thrum::io::pipe p;
  std::size_t written = 0;
  support::with_runtime([&] {
    written = write_all_it_takes(p);
    p.close_write();
  });
  CHECK(p.reader().read_all().size() == written);
}

TEST_CASE("a pipe that is closed while it is written to is gone when it was read") {
  thrum::io::pipe p;
  const auto number = p.writer().native_handle();
  const std::size_t written = write_all_it_takes(p);
  p.close_write();
  CHECK(p.reader().read_all().size() == written);
  CHECK(support::eventually([&] { return !support::is_open(number); }));

  thrum::io::pipe q;
  const auto other = q.writer().native_handle();
  write_all_it_takes(q);
  q.close_write();
  q.close_read();  // nobody will read it
  CHECK(support::eventually([&] { return !support::is_open(other); }));
}

namespace {

using thrum::io::process;
using thrum::io::redirect;

::DWORD own_handles() {
  ::DWORD count = 0;
  ::GetProcessHandleCount(::GetCurrentProcess(), &count);
  return count;
}

}  // namespace

IN_RUNTIME("a process that was waited for leaves no handle of ours behind") {
  const auto one = [] {
    process p = process::spawn(support::words_that_say("x"), {.out = redirect::pipe()});
    p.out().read_all();
    p.wait();
  };
  one();  // from here on there is a poller
  const ::DWORD before = own_handles();
  for (int i = 0; i != 10; ++i) {
    one();
  }
  // Events that the next pipes will use, and threads of the system's.
  CHECK(support::eventually([&] { return own_handles() <= before + 8; }));
}

IN_RUNTIME("no signal but two can be sent to a process of Windows") {
  process p = process::spawn(support::words_that_wait(), {.in = redirect::pipe()});
  CHECK(error_of([&] { p.signal(2); }) == std::errc::invalid_argument);
  p.signal(0);  // there is one
  CHECK_FALSE(p.try_wait());
  p.signal(9);
  CHECK(p.wait().signal == 9);
}

TEST_CASE("a process of Windows gets each word as it was") {
  const std::vector<std::string> words{"plain", "two words", "",       "\"quoted\"",
                                       "a\\",   "b\\ c\\",   "\\\\\"", "tab\there"};
  std::vector<std::string> line{THRUM_PROGRAMS_PATH, "tell_arguments"};
  line.insert(line.end(), words.begin(), words.end());
  with_runtime([&] {
    process p = process::spawn(line, {.out = redirect::pipe()});
    std::string expected;
    for (const std::string& word : words) {
      expected += word + "\n";
    }
    CHECK(p.out().read_all() == expected);
    CHECK(p.wait().success());
  });
}

TEST_CASE("a process of Windows has the handles that it is given, and no others") {
  thrum::os::handle mine[2];
  REQUIRE(thrum::os::open_pipe(mine) == 0);
  // Another thread may make one inheritable for a child of its own at any time.
  REQUIRE(::SetHandleInformation(reinterpret_cast<::HANDLE>(mine[1]), HANDLE_FLAG_INHERIT,
                                 HANDLE_FLAG_INHERIT) != 0);
  with_runtime([&] {
    process p = process::spawn(support::words_that_wait(), {.in = redirect::pipe()});
    thrum::os::close(mine[1]);
    char byte;
    CHECK(thrum::os::read(mine[0], &byte, 1) == 0);  // nobody can write to it any more
    p.in().close();
    p.wait();
  });
  thrum::os::close(mine[0]);
}

namespace {

/// How a program ends that has a console of its own, without a window; 0: it could not be started.
::DWORD exit_code_in_console(const std::string& name) {
  std::string line = "\"" THRUM_PROGRAMS_PATH "\" " + name;
  ::STARTUPINFOA how{};
  how.cb = sizeof how;
  ::PROCESS_INFORMATION started{};
  if (::CreateProcessA(nullptr, line.data(), nullptr, nullptr, FALSE, CREATE_NO_WINDOW, nullptr,
                       nullptr, &how, &started) == 0) {
    return 0;
  }
  ::DWORD code = 0;
  ::WaitForSingleObject(started.hProcess, INFINITE);
  ::GetExitCodeProcess(started.hProcess, &code);
  ::CloseHandle(started.hThread);
  ::CloseHandle(started.hProcess);
  return code;
}

constexpr ::DWORD as_wanted = 7;

}  // namespace

TEST_CASE("control and C is SIGINT, control and break SIGBREAK") {
  CHECK(exit_code_in_console("hear_control_c") == as_wanted);
  CHECK(exit_code_in_console("hear_control_break") == as_wanted);
}

TEST_CASE("the end of a console is SIGTERM, and there is time to end well") {
  CHECK(exit_code_in_console("hear_close") == as_wanted);
}

TEST_CASE("an event of a console that no set wants ends the program") {
  CHECK(exit_code_in_console("be_closed") != as_wanted);
  CHECK(exit_code_in_console("be_broken_off") != as_wanted);
}
#endif
