// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Processes of Windows: what they inherit, how words become a command line, what is left of them.
#if defined(_WIN32)

#include <thrum/detail/os/windows/api.hpp>

#include "support/commands.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <cstdio>

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

#endif  // _WIN32
