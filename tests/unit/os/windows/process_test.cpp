// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Children, signals and names of Windows, by its layer and by what stands on it.
#if defined(_WIN32)

#include <thrum/detail/os/os.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>

namespace {

namespace os = thrum::os;
using thrum::io::process;
using thrum::io::redirect;

[[gnu::noinline]] int function_with_a_name() {
  asm volatile("");
  return 1;
}

}  // namespace

TEST_CASE("a child of Windows says how it ended") {
  CHECK(process::spawn({"cmd", "/c", "exit 3"}).wait().code == 3);
  std::error_code error;
  process::spawn({"thrum-has-no-such-program"}, error);
  CHECK(error == std::errc::no_such_file_or_directory);
}

TEST_CASE("a child of Windows writes to a file that it is given, in its folder and environment") {
  const support::folder folder;
  thrum::io::process_options options;
  const std::string path = (folder / "out").string();
  options.out = redirect::to_file(path);
  options.environment = std::vector<std::string>{"THRUM_WORD=a word"};
  CHECK(process::spawn({"cmd", "/c", "echo %THRUM_WORD%"}, options).wait().success());
  std::string line;
  std::getline(std::ifstream(path), line);
  CHECK(line.substr(0, 6) == "a word");
}

TEST_CASE("a child of Windows that is killed ended by that signal") {
  process child = process::spawn({"cmd", "/c", "for /l %i in (0,0,1) do echo %i >nul"});
  CHECK_FALSE(child.wait_for(50ms));
  child.kill();
  const auto end = child.wait();
  CHECK(end.signal == 9);
  std::error_code error;
  child.signal(15, error);
  CHECK(error);  // it was waited for
}

TEST_CASE("SIGTERM of Windows is heard when it is raised, and others cannot be") {
  thrum::io::signal_set set{SIGTERM};
  std::raise(SIGTERM);
  CHECK(set.chan().recv() == SIGTERM);
  std::raise(SIGTERM);
  CHECK(set.chan().recv() == SIGTERM);
  std::error_code error;
  const thrum::io::signal_set none({SIGABRT}, error);
  CHECK(error == std::errc::invalid_argument);
}

TEST_CASE("a function of Windows has its name from the symbol table") {
  CHECK(function_with_a_name() == 1);
  const auto* const address = reinterpret_cast<const char*>(&function_with_a_name) + 1;
  const std::string text = os::describe_address(address);
  INFO(text);
  CHECK(text.find("function_with_a_name") != std::string::npos);
  CHECK(text.find(".exe+0x") != std::string::npos);
  CHECK(os::describe_address(nullptr) == "an unknown place");
}

TEST_CASE("the callers of a goroutine of Windows that is parked are found by its tables") {
  thrum::runtime runtime;
  runtime.block_on([] {
    auto c = thrum::make_chan<int>();
    auto waits = thrum::spawn([c] { c.recv(); });
    REQUIRE(are_waiting(1));
    const support::folder folder;
    const std::string path = (folder / "dump").string();
    std::FILE* const file = std::fopen(path.c_str(), "w");
    thrum::dump_goroutines(file);
    std::fclose(file);
    std::ifstream written(path);
    const std::string dump{std::istreambuf_iterator<char>(written), {}};
    INFO(dump);
    CHECK(dump.find("chan receive") != std::string::npos);
    CHECK(dump.find("recv") != std::string::npos);
    CHECK(dump.find("not walked") == std::string::npos);
    c.close();
    waits.join();
  });
}

#endif  // _WIN32
