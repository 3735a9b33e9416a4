// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Child processes, as every system has them: how they end, and what goes through their streams.

#include <thrum/io/detached_children.hpp>
#include <thrum/io/process.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/error_of.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/scale.hpp"
#include "support/system_ways.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using support::trimmed;
using support::with_procs;
using support::with_runtime;
using thrum::io::process;
using thrum::io::redirect;

TEST_CASE("a child's exit code is told, from a thread and from a goroutine") {
  const auto check = [] {
    for (const int code : {0, 1, 42}) {
      process p = process::spawn(support::words_that_exit(code));
      CHECK(p.wait().code == code);
    }
  };
  check();
  with_runtime(check);
}

TEST_CASE(
    "what a child writes to its output and its errors is read from its pipes, then their end") {
  with_runtime([] {
    process p = process::spawn(support::words_that_say("hello"), {.out = redirect::pipe()});
    CHECK(trimmed(p.out().read_all()) == "hello");
    CHECK(p.wait().success());
    process q = process::spawn(support::words_that_complain("alas"),
                               {.out = redirect::pipe(), .err = redirect::pipe()});
    CHECK(trimmed(q.err().read_all()) == "alas");
    CHECK(trimmed(q.out().read_all()).empty());
    CHECK(q.wait().success());
    process both = process::spawn(support::words_that_complain("alas"),
                                  {.out = redirect::pipe(), .err = redirect::to_output()});
    CHECK(trimmed(both.out().read_all()) == "alas");
    CHECK(both.wait().success());
  });
}

TEST_CASE("a child reads what is written to its pipe") {
  with_runtime([] {
    process p = process::spawn(support::words_that_answer(),
                               {.in = redirect::pipe(), .out = redirect::pipe()});
    p.in().write("over there\n");
    CHECK(trimmed(p.out().read_all()) == "over there");
    CHECK(p.wait().success());
  });
}

TEST_CASE("a goroutine that waits for a child takes no processor, and hears of its end") {
  with_runtime(with_procs(1), [] {
    process p = process::spawn(support::words_that_wait(), {.in = redirect::pipe()});
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
  });
}

TEST_CASE("a child that is told to end ends, and one whose object is destroyed") {
  with_runtime([] {
    process p = process::spawn(support::words_that_wait(), {.in = redirect::pipe()});
    p.terminate();
    CHECK(p.wait().signal != 0);
    process q = process::spawn(support::words_that_wait(), {.in = redirect::pipe()});
    q.kill();
    CHECK(q.wait().signal != 0);
    q.kill();
    const auto start = std::chrono::steady_clock::now();
    { const process r = process::spawn(support::words_that_wait(), {.in = redirect::pipe()}); }
    CHECK(std::chrono::steady_clock::now() - start < support::long_time);
  });
}

TEST_CASE("a child has the environment and the files that it is given") {
  const support::folder folder;
  const std::string path = (folder / "out").string();
  with_runtime([&] {
    process p =
        process::spawn(support::words_that_say("to a file"), {.out = redirect::to_file(path)});
    CHECK(p.wait().success());
    CHECK(trimmed(thrum::io::file::open(path).read_all()) == "to a file");
  });
}

TEST_CASE("detached children are reaped when they end, by a thread that sleeps until then") {
  using thrum::io_detail::detached_children;
  CHECK(support::eventually([] { return detached_children::size() == 0; }));  // of earlier tests
  with_runtime([] {
    std::vector<thrum::io::pipe_writer> inputs;
    constexpr std::size_t n = 4;
    for (std::size_t i = 0; i != n; ++i) {
      process p = process::spawn(support::words_that_wait(), {.in = redirect::pipe()});
      inputs.push_back(std::move(p.in()));
      p.detach();
    }
    CHECK(detached_children::size() == n);
    const auto before = detached_children::looks();
    thrum::sleep_for(150ms);
    if (support::has_process_handles) {
      CHECK(detached_children::looks() == before);
    }
    inputs.clear();
    CHECK(support::eventually([] { return detached_children::size() == 0; }));
  });
}

TEST_CASE("a child that cannot be started is an error with a reason") {
  with_runtime([] {
    if (std::getenv("THRUM_TEST_EMULATOR") ==
        nullptr) {  // qemu-user makes a fork of the vfork by which the reason would come back
      CHECK(support::error_of([] { process::spawn({"thrum-no-such-program"}); }) ==
            std::errc::no_such_file_or_directory);
    }
    std::error_code error;
    CHECK(!process::spawn({}, error));
    CHECK(error == std::errc::invalid_argument);
  });
}

TEST_CASE("many children at once are all heard and reaped") {
  with_runtime([] {
    const int n = support::scaled(50, 8);
    std::atomic<int> right{0};
    thrum::wait_group group;
    for (int i = 0; i != n; ++i) {
      group.go([&, i] {
        process p =
            process::spawn(support::words_that_say(std::to_string(i)), {.out = redirect::pipe()});
        const bool heard = trimmed(p.out().read_all()) == std::to_string(i);
        right += p.wait().success() && heard;
      });
    }
    group.wait();
    CHECK(right == n);
  });
}
