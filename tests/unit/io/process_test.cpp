// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Waiting for a process, what it is given, what goes through its streams, and why it may not start.

#include <thrum/io/process.hpp>

#include "support/children.hpp"
#include "support/commands.hpp"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/program.hpp"
#include "support/system_ways.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <filesystem>

using support::has_children;
using support::trimmed;
using thrum::io::exit_status;
using thrum::io::process;
using thrum::io::redirect;

namespace {

/// One that ends when its input does.
process process_that_waits(int code = 0) {
  return process::spawn(support::words_that_wait_and_exit(code), {.in = redirect::pipe()});
}

/// What a process writes that ends well.
std::string output_of(const support::command_words& words,
                      thrum::io::process_options options = {}) {
  options.out = redirect::pipe();
  process p = process::spawn(words, std::move(options));
  std::string text = p.out().read_all();
  CHECK(p.wait().success());
  return trimmed(text);
}

}  // namespace

TEST_CASE("a process tells by a number how it ended") {
  with_runtime([] {
    CHECK(process::spawn(support::words_that_exit(0)).wait().success());
    const exit_status three = process::spawn(support::words_that_exit(3)).wait();
    CHECK(three == exit_status{3, 0, false});
    CHECK(three.exited());
    CHECK_FALSE(three.success());
    CHECK(three.to_string() == "exit status 3");
  });
  CHECK(!has_children());
}

TEST_CASE("a process can be waited for on a thread without a runtime") {
  CHECK(process::spawn(support::words_that_exit(4)).wait().code == 4);
  CHECK_FALSE(process_that_waits().wait_for(1ms));
}

TEST_CASE("waiting for a process blocks no thread") {
  if (!support::has_process_handles) {
    return;  // there it blocks one, and nothing ends it: io/process.hpp says so
  }
  with_runtime(with_procs(1), [] {
    constexpr int children = 20;
    const std::size_t before = support::thread_count();
    std::vector<process> all;
    for (int i = 0; i != children; ++i) {
      all.push_back(process_that_waits(1));
    }
    std::atomic<int> ended{0};
    thrum::wait_group group;
    for (process& p : all) {
      group.go([&] { ended += p.wait().code; });
    }
    REQUIRE(support::eventually([&] { return thrum::stats().waiting >= children; }));
    CHECK(support::thread_count() < before + children);
    for (process& p : all) {
      p.in().close();
    }
    group.wait();
    CHECK(ended == children);
  });
}

IN_RUNTIME("a goroutine that waits for a process takes no processor, and hears of its end",
           with_procs(1)) {
  process p = process_that_waits();
  CHECK_FALSE(p.try_wait());
  CHECK_FALSE(p.wait_for(5ms));
  std::atomic<bool> ended{false};
  auto waiter = thrum::spawn([&] {
    const bool success = p.wait().exited();
    ended = true;
    return success;
  });
  if (support::has_process_handles) {
    REQUIRE(support::eventually([] { return thrum::stats().waiting >= 1; }));
    const auto before = thrum::stats().switches;
    thrum::sleep_for(100ms);
    CHECK(thrum::stats().switches - before < 20);
  }
  CHECK_FALSE(ended);
  p.in().close();
  CHECK(waiter.join());
}

IN_RUNTIME("several goroutines may wait for the same process, and again afterwards") {
  process p = process_that_waits(5);
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
}

IN_RUNTIME("a wait with a deadline gives up when that has passed") {
  process p = process_that_waits();
  CHECK_FALSE(p.try_wait());
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(p.wait_for(5ms));
  CHECK(std::chrono::steady_clock::now() - start >= 5ms);
  std::error_code error;
  p.wait_until(std::chrono::steady_clock::now() + 1ms, error);
  CHECK(error == std::errc::timed_out);
  p.in().write("x\n");
  CHECK(p.wait_for(support::long_time) == exit_status{});
}

IN_RUNTIME("a wait for a process takes every duration, and one that is too long has no end") {
  const auto waits_for_it = [](auto time) {
    process p = process_that_waits();
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
  process p = process_that_waits();
  CHECK_FALSE(p.wait_for(0.0015s));
  CHECK_FALSE(p.wait_for(std::chrono::hours::min()));
  CHECK_FALSE(p.wait_for(-1ns));
}

IN_RUNTIME("waiting for a process without exceptions tells time-out and failure by a code") {
  process p = process_that_waits(3);
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
}

TEST_CASE("the streams of a process are pipes, files, nothing or each other") {
  const support::folder folder;
  const std::string path = (folder / "a").string();
  with_runtime([&] {
    process p = process::spawn(support::words_that_answer(),
                               {.in = redirect::pipe(), .out = redirect::pipe()});
    p.in().write("through a pipe\n");
    CHECK(trimmed(p.out().read_all()) == "through a pipe");
    CHECK(p.wait().success());
    CHECK(!p.err());

    CHECK(process::spawn(support::words_that_say("to a file"), {.out = redirect::to_file(path)})
              .wait()
              .success());
    CHECK(output_of(support::words_that_answer(), {.in = redirect::from_file(path)}) ==
          "to a file");
    process silent = process::spawn(support::words_that_wait(), {.in = redirect::null()});
    CHECK(silent.wait().exited());
    const support::command_words both = support::words_that_do_both("a", "b");
    const std::string together = output_of(both, {.err = redirect::to_output()});
    CHECK(trimmed(together.substr(0, together.find('\n'))) == "a");
    CHECK(together.substr(together.find('\n') + 1) == "b");
    CHECK(output_of(both, {.err = redirect::null()}) == "a");

    process apart = process::spawn(both, {.out = redirect::pipe(), .err = redirect::pipe()});
    CHECK(trimmed(apart.out().read_all()) == "a");
    CHECK(trimmed(apart.err().read_all()) == "b");
    CHECK(apart.wait().success());

    thrum::io::file file = thrum::io::file::open(
        path, thrum::io::open_mode::read_write | thrum::io::open_mode::truncate);
    CHECK(process::spawn(support::words_that_say("x"), {.out = redirect::to(file.native_handle())})
              .wait()
              .success());
    file.seek(0);
    CHECK(trimmed(file.read_all()) == "x");
  });
}

TEST_CASE("a process has the environment and the directory that it is given") {
  const support::folder folder;
  with_runtime([&] {
    // A program may need some of what is always there to start at all.
    std::vector<std::string> given{"THRUM_TEST_GIVEN=1"};
    for (const char* const name : {"PATH", "SystemRoot"}) {
      if (const char* const value = std::getenv(name)) {
        given.push_back(std::string(name) + "=" + value);
      }
    }
    CHECK(output_of(support::words_that_tell("THRUM_TEST_GIVEN"), {.environment = given}) == "1");
    support::set_environment("THRUM_TEST_INHERITED", "yes");
    CHECK(output_of(support::words_that_tell("THRUM_TEST_INHERITED")) == "yes");
    CHECK(output_of(support::words_that_tell("THRUM_TEST_INHERITED"), {.environment = given}) !=
          "yes");
    support::remove_environment("THRUM_TEST_INHERITED");
    const std::filesystem::path path = (folder / "a").parent_path();
    const std::string told =
        output_of(support::words_that_tell_folder(), {.directory = path.string()});
    CHECK(std::filesystem::path(told).filename() == path.filename());
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
    const support::command_words words = support::words_that_exit(0);
    std::error_code error;
    CHECK(!process::spawn({}, error));
    CHECK(error == std::errc::invalid_argument);
    CHECK(!process::spawn(words, {.directory = "/nowhere"}, error));
    CHECK(error ==
          (THRUM_OS_WINDOWS ? std::errc::not_a_directory : std::errc::no_such_file_or_directory));
    CHECK(error_of([&] { process::spawn(words, {.in = redirect::from_file("/nowhere")}); }) ==
          std::errc::no_such_file_or_directory);
    CHECK(!process::spawn(words, {.out = redirect::to(thrum::os::no_handle)}, error));
    CHECK(error == std::errc::bad_file_descriptor);
    CHECK(!process::spawn(words, {.out = redirect::to_output()}, error));
    CHECK(error == std::errc::invalid_argument);
    CHECK(!process::spawn({words[0], std::string("a\0b", 3)}, error));
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

TEST_CASE("many processes at once are all started, heard and reaped, and leave no handle behind") {
  with_runtime([] {
    const std::size_t before = support::open_descriptors();
    const int n = support::scaled(100, 20);
    std::atomic<int> right{0};
    in_goroutines(n, [&](int i) {
      const std::string text = std::to_string(i);
      process p = process::spawn(support::words_that_say(text), {.out = redirect::pipe()});
      const bool heard = trimmed(p.out().read_all()) == text;
      right += p.wait().success() && heard;
    });
    CHECK(right == n);
    CHECK(support::open_descriptors() <= before + 6);  // the poller's own
  });
  CHECK(!has_children());
}

TEST_CASE(
    "a stop ends a wait for a process, which runs on, with handles for children and without") {
  for (const bool handles : {true, false}) {
    support::allow_process_handles(handles);
    with_runtime([] {
      process p = process_that_waits(3);
      std::stop_source stop;
      auto waiting = thrum::spawn([&] {
        std::error_code error;
        const exit_status status = p.wait(stop.get_token(), error);
        return error == std::errc::operation_canceled && status.code == exit_status::none;
      });
      thrum::sleep_for(5ms);
      stop.request_stop();
      CHECK(waiting.join());
      const auto call = [&] { p.wait(stop.get_token()); };
      CHECK(error_of(call) == std::errc::operation_canceled);
      CHECK_FALSE(p.try_wait());
      std::error_code error;
      const auto soon = thrum::context().with_timeout(1ms);
      p.wait(soon, error);
      CHECK(error == std::errc::operation_canceled);
      const auto now = std::chrono::steady_clock::now();
      p.wait_until(now + 1ms, std::stop_token(), error);
      CHECK(error == thrum::errc::deadline_exceeded);
      p.in().write("x\n");
      CHECK(p.wait(thrum::context()).code == 3);
      CHECK(p.wait(std::stop_token(), error).code == 3);
      CHECK_FALSE(error);
    });
    support::allow_process_handles(true);
  }
  CHECK(!has_children());
}

TEST_CASE(
    "a stop that came before a wait for a process asks nothing, also if the process has ended") {
  process p = process::spawn(support::words_that_exit(4));
  std::stop_source stop;
  stop.request_stop();
  std::error_code error;
  CHECK(p.wait(stop.get_token(), error).code == exit_status::none);
  CHECK(error == std::errc::operation_canceled);
  CHECK(p.wait().code == 4);
}
