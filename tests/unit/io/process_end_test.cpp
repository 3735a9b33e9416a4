// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a process ends: told to, killed, detached, destroyed.

#include <thrum/detail/io/detached_children.hpp>
#include <thrum/io/process.hpp>

#include "support/children.hpp"
#include "support/commands.hpp"
#include "support/system_ways.hpp"
#include "support/test.hpp"
#include "support/waits.hpp"

#include <csignal>

using support::has_children;
using support::trimmed;
using thrum::io::exit_status;
using thrum::io::process;
using thrum::io::redirect;

namespace {

constexpr int sigkill = 9;  // not every system has the name

/// One that runs until its input, or it, is ended.
process running_process(int code = 0) {
  return process::spawn(support::words_that_wait_and_exit(code), {.in = redirect::pipe()});
}

process short_process() { return process::spawn(support::words_that_exit(0)); }

}  // namespace

IN_RUNTIME("a process can be asked to end, and killed") {
  process p = running_process();
  p.terminate();
  CHECK(p.wait().signal == SIGTERM);
  p.terminate();
  p.kill();
  CHECK(error_of([&] { p.signal(SIGTERM); }) == std::errc::no_such_process);
  process q = running_process();
  q.kill();
  CHECK(q.wait().signal == sigkill);
  process r = running_process();
  r.signal(SIGTERM);
  CHECK(r.wait().signal == SIGTERM);
  CHECK(error_of([&] { process().wait(); }) == std::errc::no_child_process);
  process().kill();
}

IN_RUNTIME("a process that ends by itself before it is asked to reports its own code") {
  process p = process::spawn(support::words_that_exit(5));
  while (support::is_running(p.pid()) && !p.try_wait()) {
    thrum::sleep_for(1ms);
  }
  p.terminate();
  CHECK(p.wait() == exit_status{5, 0, false});
}

TEST_CASE("a process that is destroyed is killed, and nothing of it is left") {
  with_runtime([] {
    std::int64_t pid = 0;
    {
      const process p = running_process();
      pid = p.pid();
      CHECK(support::is_running(pid));
    }
    CHECK_FALSE(support::is_running(pid));
    process p = running_process();
    p = process::spawn(support::words_that_exit(1));
    CHECK(p.wait().code == 1);
    { const process ended = short_process(); }
  });
  CHECK(!has_children());
}

TEST_CASE("a stop ends the wait for a process, and the process") {
  if (!support::has_process_handles) {
    return;  // there it blocks one, and nothing ends it: io/process.hpp says so
  }
  CHECK(support::is_unwound_at_stop([] {
    process p = running_process();
    p.wait();
  }));
  CHECK(!has_children());
}

TEST_CASE("a detached process lives on, and is reaped when it ends") {
  with_runtime([] {
    // Its output is an end of a pipe that is meant for a child.
    thrum::os::handle ends[2];
    REQUIRE(thrum::os::open_pipe_to_child(ends, false) == 0);
    thrum::io::pipe_reader line(thrum::io::descriptor(ends[0], "test"));
    process p = process::spawn(support::words_that_answer(),
                               {.in = redirect::pipe(), .out = redirect::to(ends[1])});
    thrum::os::close(ends[1]);
    const std::int64_t pid = p.pid();
    thrum::io::pipe_writer to_child = std::move(p.in());
    p.detach();
    CHECK(!p);
    to_child.write("alive\n");
    CHECK(trimmed(line.read_all()) == "alive");
    CHECK(support::eventually([&] { return !support::is_running(pid); }));
  });
  CHECK(!has_children());
}

TEST_CASE("detached processes are reaped without a runtime, with handles for them and without") {
  for (const bool handles : {true, false}) {
    support::allow_process_handles(handles);
    with_runtime([] { short_process().detach(); });
    short_process().detach();
    {
      process p = running_process();
      thrum::io::pipe_writer input = std::move(p.in());
      p.detach();
    }
    CHECK(support::eventually([] { return !has_children(); }));
    CHECK(support::eventually([] { return thrum::io_detail::detached_children::size() == 0; }));
  }
  support::allow_process_handles(true);
}

TEST_CASE("starting a process asks none of the detached ones whether it has ended") {
  using thrum::io_detail::detached_children;
  with_runtime([] {
    std::vector<thrum::io::pipe_writer> inputs;
    constexpr std::size_t n = 20;
    for (std::size_t i = 0; i != n; ++i) {
      process p = running_process();
      inputs.push_back(std::move(p.in()));
      p.detach();
    }
    CHECK(detached_children::size() == n);
    const std::uint64_t before = detached_children::looks();
    short_process().wait();
    if (support::has_process_handles) {  // else all are asked in intervals
      CHECK(detached_children::looks() == before);
    }
    inputs.clear();
    CHECK(support::eventually([] { return detached_children::size() == 0; }));
    if (support::has_process_handles) {
      CHECK(detached_children::looks() == before + n);
    }
  });
  CHECK(!has_children());
}

TEST_CASE("without handles for children a process is waited for, killed and reaped all the same") {
  support::allow_process_handles(false);
  with_runtime(with_procs(1), [] {
    process p = running_process(5);
    CHECK_FALSE(p.try_wait());
    CHECK_FALSE(p.wait_for(3ms));
    std::atomic<int> sum{0};
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] { sum += p.wait().code; });
    }
    p.in().write("go\n");
    CHECK(p.wait_for(support::long_time) == exit_status{5, 0, false});
    group.wait();
    CHECK(sum == 20);
    process q = running_process();
    q.terminate();
    CHECK(q.wait().signal == SIGTERM);
    { const process killed = running_process(); }
    short_process().detach();
    CHECK(support::eventually([] { return !has_children(); }));
  });
  support::allow_process_handles(true);
  CHECK(!has_children());
}

TEST_CASE("a stop asks a process to end, and kills it after the grace") {
  with_runtime([] {
    process p = running_process();
    std::stop_source stop;
    auto waiting = thrum::spawn([&] {
      std::error_code error;
      const exit_status status = p.wait_or_stop(stop.get_token(), 1min, error);
      return std::pair(status, error);
    });
    thrum::sleep_for(2ms);
    CHECK_FALSE(p.try_wait());
    stop.request_stop();
    const auto [status, error] = waiting.join();
    CHECK(error == std::errc::operation_canceled);
    CHECK_FALSE(status.success());
    CHECK(status.code != exit_status::none);
    process by_itself = short_process();
    std::error_code none;
    CHECK(by_itself.wait_or_stop(thrum::context(), 1min, none).success());
    CHECK_FALSE(none);
  });
  CHECK(!has_children());
}
