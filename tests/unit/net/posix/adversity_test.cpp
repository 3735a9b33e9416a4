// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Connections in adversity that only some systems know: a full queue of a Unix listener, a child
// process with the same descriptors.

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/dial.hpp>
#include <thrum/net/listener.hpp>

#include "support/descriptors.hpp"
#include "support/local_name.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <sys/wait.h>
#include <unistd.h>

using support::stream_pair;
using thrum::net::conn;
using thrum::net::dial;
using thrum::net::listener;

IN_RUNTIME("dialling a Unix listener whose queue is full fails at once") {
  const thrum::net::endpoint where = support::unused_local_name();
  const listener full = listener::listen(where, {.backlog = 0});
  std::vector<conn> waiting;
  std::error_code error;
  while (!error && waiting.size() < 10) {
    waiting.push_back(dial(where, support::long_time, error));
  }
  CHECK(error == std::errc::resource_unavailable_try_again);  // and not timed_out
}

TEST_CASE("a descriptor that a child process closes stays registered with its parent") {
  stream_pair pair;
  thrum::runtime runtime(with_procs(1));
  conn made(thrum::io::descriptor(pair.ends[0], "test"), false);
  const auto read_one = [&] {
    thrum::go([&] {
      thrum::sleep_for(10ms);
      support::put(pair.ends[1], "x");
    });
    char byte;
    std::error_code error;
    made.set_read_deadline(std::chrono::steady_clock::now() + support::long_time);
    return made.read({&byte, 1}, error);
  };
  CHECK(runtime.block_on(read_one) == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    support::end_with_parent();
    made.close();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(runtime.block_on(read_one) == 1);
  thrum::os::close(pair.ends[1]);
}

TEST_CASE(
    "in a child process no descriptor is locked, whichever thread held its lock in the parent") {
  const thrum::runtime runtime(with_procs(1));  // has the system tell of children
  thrum::sched::poll_desc* d = nullptr;
  {
    const thrum::sched::section here;
    d = thrum::sched::poll_table::take();
  }
  REQUIRE(d != nullptr);
  std::atomic<bool> is_held{false};
  std::atomic<bool> is_over{false};
  std::thread holder([&] {
    const thrum::sched::section here;
    const thrum::sched::scoped guard(d->lock);
    is_held = true;
    while (!is_over) {
      thrum::os::yield_thread();
    }
  });
  support::eventually([&] { return is_held.load(); });
  const pid_t child = ::fork();
  if (child == 0) {
    support::end_with_parent();
    const thrum::sched::section here;
    ::_exit(d->lock.try_lock() ? 0 : 1);
  }
  is_over = true;
  holder.join();
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  const thrum::sched::section here;
  thrum::sched::poll_table::give_back(*d);
}

TEST_CASE("a child process closes a descriptor for which its parent waits, and opens others") {
  stream_pair pair;
  thrum::runtime runtime(with_procs(1));
  conn made(thrum::io::descriptor(pair.ends[0], "test"), false);
  auto reader = runtime.spawn([&] {
    char byte;
    return made.read({&byte, 1});
  });
  support::eventually([&] { return runtime.stats().waiting == 1; });
  const pid_t child = ::fork();
  if (child == 0) {
    support::end_with_parent();
    ::alarm(static_cast<unsigned>(support::long_time.count()));
    made.close();
    const stream_pair own;
    made = conn();  // so that the next one comes in its place
    made = conn(thrum::io::descriptor(own.ends[0], "test"), false);
    char byte = 0;
    ::_exit(support::put(own.ends[1], "x") && made.read({&byte, 1}) == 1 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(support::put(pair.ends[1], "x"));
  CHECK(reader.join() == 1);
  thrum::os::close(pair.ends[1]);
}
