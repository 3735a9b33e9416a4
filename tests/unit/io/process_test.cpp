// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/process.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/program.hpp"
#include "support/scale.hpp"
#include "support/shell.hpp"
#include "support/system_ways.hpp"
#include "support/waits.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

using namespace std::chrono_literals;
using support::error_of;
using support::has_children;
using support::output_of;
using support::shell;
using support::with_procs;
using support::with_runtime;
using thrum::io::exit_status;
using thrum::io::process;
using thrum::io::redirect;

TEST_CASE("a process tells how it ended: by a number or by a signal") {
  with_runtime([] {
    CHECK(shell("exit 0").wait().success());
    const exit_status three = shell("exit 3").wait();
    CHECK(three == exit_status{3, 0, false});
    CHECK(three.exited());
    CHECK(three.to_string() == "exit status 3");
    const exit_status killed = shell("kill -9 $$").wait();
    CHECK(killed.signal == SIGKILL);
    CHECK(!killed.success());
    CHECK(!killed.exited());
    CHECK(killed.to_string() == "signal 9");
  });
  CHECK(!has_children());
}

TEST_CASE("a process can be waited for on a thread without a runtime") {
  CHECK(shell("exit 4").wait().code == 4);
  CHECK_FALSE(shell("sleep 60").wait_for(1ms));
}

TEST_CASE("waiting for a process blocks no thread") {
  if (!support::has_process_handles) {
    return;  // there it blocks one, and nothing ends it: io/process.hpp says so
  }
  with_runtime(with_procs(1), [] {
    constexpr int children = 20;
    std::vector<process> all;
    for (int i = 0; i != children; ++i) {
      all.push_back(shell("read line", {.in = redirect::pipe()}));
    }
    std::atomic<int> ended{0};
    thrum::wait_group group;
    for (process& p : all) {
      group.go([&] { ended += p.wait().code; });
    }
    REQUIRE(support::eventually([&] { return thrum::stats().waiting >= children; }));
    CHECK(support::thread_count() < children);
    for (process& p : all) {
      p.in().close();
    }
    group.wait();
    CHECK(ended == children);  // read fails at the end of its input
  });
}

TEST_CASE("several goroutines may wait for the same process, and again afterwards") {
  with_runtime([] {
    process p = shell("read line; exit 5", {.in = redirect::pipe()});
    std::atomic<int> sum{0};
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] { sum += p.wait().code; });
    }
    p.in().write("go\n");
    group.wait();
    CHECK(sum == 20);
    CHECK(p.wait().code == 5);
    CHECK(p.try_wait() == exit_status{5, 0, false});
  });
}

TEST_CASE("a wait with a deadline gives up when that has passed") {
  with_runtime([] {
    process p = shell("read line", {.in = redirect::pipe()});
    CHECK_FALSE(p.try_wait());
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(p.wait_for(5ms));
    CHECK(std::chrono::steady_clock::now() - start >= 5ms);
    std::error_code error;
    p.wait_until(std::chrono::steady_clock::now() + 1ms, error);
    CHECK(error == std::errc::timed_out);
    p.in().write("x\n");
    CHECK(p.wait_for(support::long_time) == exit_status{});
  });
}

TEST_CASE("a wait for a process takes every duration, and one that is too long has no end") {
  with_runtime([] {
    const auto waits_for_it = [](auto time) {
      process p = shell("read line", {.in = redirect::pipe()});
      auto writer = thrum::spawn([&] {
        thrum::sleep_for(2ms);
        p.in().write("x\n");
      });
      const bool ended = p.wait_for(time) == exit_status{};
      writer.join();
      return ended;
    };
    CHECK(waits_for_it(std::chrono::nanoseconds::max()));
    CHECK(waits_for_it(std::chrono::hours::max()));
    CHECK(waits_for_it(std::chrono::duration<double>(support::long_time)));
    process p = shell("read line", {.in = redirect::pipe()});
    CHECK_FALSE(p.wait_for(0.0015s));
    CHECK_FALSE(p.wait_for(std::chrono::hours::min()));
    CHECK_FALSE(p.wait_for(-1ns));
  });
}

TEST_CASE("waiting for a process without exceptions tells time-out and failure by a code") {
  with_runtime([] {
    process p = shell("read line; exit 3", {.in = redirect::pipe()});
    std::error_code error = std::make_error_code(std::errc::interrupted);
    CHECK_FALSE(p.try_wait(error));
    CHECK(!error);
    const exit_status runs_on = p.wait_for(1ms, error);
    CHECK(error == std::errc::timed_out);
    CHECK_FALSE(runs_on.success());
    CHECK_FALSE(runs_on.exited());
    CHECK(runs_on.code == exit_status::none);
    CHECK(runs_on.to_string() == "no end");
    p.in().close();
    CHECK(p.wait_for(support::long_time, error).code == 3);
    CHECK(!error);
    CHECK(p.try_wait(error) == exit_status{3, 0, false});
    CHECK_FALSE(process().try_wait(error));
    CHECK(error == std::errc::no_child_process);
    CHECK_FALSE(process().wait_for(1ms, error).success());
    CHECK(error == std::errc::no_child_process);
  });
}

TEST_CASE("the streams of a process are pipes, files, nothing or each other") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("thrum-" + std::to_string(::getpid()))).string();
  with_runtime([&] {
    process p = process::spawn({"cat"}, {.in = redirect::pipe(), .out = redirect::pipe()});
    p.in().write("through a pipe");
    p.in().close();
    CHECK(p.out().read_all() == "through a pipe");
    CHECK(p.wait().success());
    CHECK(!p.err());

    CHECK(shell("echo to a file", {.out = redirect::to_file(path)}).wait().success());
    CHECK(output_of("cat", {.in = redirect::from_file(path)}) == "to a file\n");
    CHECK(output_of("cat", {.in = redirect::null()}).empty());
    CHECK(output_of("echo a; echo b >&2", {.err = redirect::to_output()}) == "a\nb\n");
    CHECK(output_of("echo a; echo b >&2", {.err = redirect::null()}) == "a\n");

    process both = shell("echo a; echo b >&2", {.out = redirect::pipe(), .err = redirect::pipe()});
    CHECK(both.out().read_all() == "a\n");
    CHECK(both.err().read_all() == "b\n");
    CHECK(both.wait().success());

    thrum::io::file file = thrum::io::file::open(
        path, thrum::io::open_mode::read_write | thrum::io::open_mode::truncate);
    CHECK(shell("echo x", {.out = redirect::to(file.native_handle())}).wait().success());
    CHECK(file.size() == 2);
  });
  std::filesystem::remove(path);
}

TEST_CASE("standard streams of ours can be given to a process in any order") {
  with_runtime([] {
    // Its output is our error, its error our output: each must be read before it is replaced.
    thrum::io::pipe out;
    thrum::io::pipe err;
    const int saved[2] = {::fcntl(1, F_DUPFD_CLOEXEC, 3), ::fcntl(2, F_DUPFD_CLOEXEC, 3)};
    ::dup2(out.writer().native_handle(), 1);
    ::dup2(err.writer().native_handle(), 2);
    std::error_code error;
    process p = process::spawn({"sh", "-c", "echo o; echo e >&2"},
                               {.out = redirect::to(2), .err = redirect::to(1)}, error);
    ::dup2(saved[0], 1);
    ::dup2(saved[1], 2);
    ::close(saved[0]);
    ::close(saved[1]);
    CHECK(!error);
    CHECK(p.wait().success());
    out.close_write();
    err.close_write();
    CHECK(out.reader().read_all() == "e\n");
    CHECK(err.reader().read_all() == "o\n");
  });
}

TEST_CASE("a process has the environment and the directory that it is given") {
  with_runtime([] {
    CHECK(output_of("echo $A-$HOME", {.environment = {{"A=1", "PATH=/usr/bin:/bin"}}}) == "1-\n");
    ::setenv("THRUM_TEST_INHERITED", "yes", 1);
    CHECK(output_of("echo $THRUM_TEST_INHERITED") == "yes\n");
    ::unsetenv("THRUM_TEST_INHERITED");
    CHECK(output_of("pwd", {.directory = "/usr"}) == "/usr\n");
  });
}

TEST_CASE("a process that cannot be started is an error with a reason, and leaves nothing behind") {
  if (std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
    return;  // qemu-user makes a fork of the vfork by which the reason would come back
  }
  with_runtime([] {
    try {
      process::spawn({"thrum-no-such-program"});
      FAIL("it was started");
    } catch (const std::system_error& error) {
      CHECK(error.code() == std::errc::no_such_file_or_directory);
      CHECK(std::string(error.what()).find("process::spawn thrum-no-such-program: ") == 0);
    }
    std::error_code error;
    CHECK(!process::spawn({"/"}, error));
    CHECK(error == std::errc::permission_denied);
    CHECK(!process::spawn({}, error));
    CHECK(error == std::errc::invalid_argument);
    CHECK(!process::spawn({"sh"}, {.directory = "/nowhere"}, error));
    CHECK(error == std::errc::no_such_file_or_directory);
    CHECK(error_of([] { shell("", {.in = redirect::from_file("/nowhere")}); }) ==
          std::errc::no_such_file_or_directory);
    CHECK(!process::spawn({"sh"}, {.out = redirect::to(-1)}, error));
    CHECK(error == std::errc::bad_file_descriptor);
    CHECK(!process::spawn({"sh"}, {.out = redirect::to_output()}, error));
    CHECK(error == std::errc::invalid_argument);
  });
  CHECK(!has_children());
}

#ifdef THRUM_MEMORY_PATH  // sanitizers have an operator new of their own
TEST_CASE("without memory no process is started, whichever allocation fails") {
  const auto result = support::run_file(THRUM_MEMORY_PATH, "start_processes_without_memory");
  INFO(result.text);
  CHECK(result.exit_code == 0);
}
#endif

TEST_CASE("many processes at once are all started, heard and reaped") {
  with_runtime([] {
    const int n = support::scaled(100, 20);
    std::atomic<int> right{0};
    thrum::wait_group group;
    for (int i = 0; i != n; ++i) {
      group.go([&, i] {
        process p = shell("echo " + std::to_string(i), {.out = redirect::pipe()});
        const bool heard = p.out().read_all() == std::to_string(i) + "\n";
        right += p.wait().success() && heard;
      });
    }
    group.wait();
    CHECK(right == n);
  });
  CHECK(!has_children());
}
