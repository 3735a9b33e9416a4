// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors of a parent process in its child, where none of the parent's goroutines runs.

#include "support/net.hpp"
#include "support/test.hpp"

#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

namespace {

/// ThreadSanitizer and qemu-user start no threads in the child of a process that has some.
bool child_may_have_threads() {
  return !THRUM_TSAN && std::getenv("THRUM_TEST_EMULATOR") == nullptr;
}

/// Whether all threads but this one sleep in the system.
bool all_others_sleep() {
#if defined(__linux__)
  bool sleep = true;
  support::for_each_entry("/proc/self/task", [&](const std::filesystem::path& thread) {
    std::string line;
    std::getline(std::ifstream(thread / "stat"), line);
    sleep = sleep && (thread.filename() == std::to_string(support::os_thread()) || line.empty() ||
                      line.find(") S ") != std::string::npos);
  });
  return sleep;
#else
  std::this_thread::sleep_for(50ms);  // nobody says
  return true;
#endif
}

/// The exit status of a child that calls f; 0 for true.
template <class F>
int status_of_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    support::end_with_parent();
    ::alarm(static_cast<unsigned>(support::long_time.count()));
    ::_exit(f() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

/// Whether something is read after a wait for it.
bool reads_what_comes_later(thrum::net::conn& reader, thrum::net::conn& writer) {
  thrum::go([&] {
    thrum::sleep_for(20ms);
    writer.write("x");
  });
  char byte;
  std::error_code error;
  reader.set_read_deadline(support::steady::now() + support::long_time / 2);
  return reader.read(std::span(&byte, 1), error) == 1;
}

}  // namespace

TEST_CASE("a runtime in a child process is woken by descriptors for which its parent has waited") {
  if (!child_may_have_threads()) {
    return;
  }
  support::conn_pair pair;
  thrum::runtime runtime(with_procs(1));
  runtime.block_on([&] {
    pair = support::local_pair();
    CHECK(reads_what_comes_later(pair.client, pair.server));
  });
  const int status = status_of_child([&] {
    thrum::runtime own(with_procs(1));
    return own.block_on([&] { return reads_what_comes_later(pair.client, pair.server); });
  });
  CHECK(status == 0);
  CHECK(runtime.block_on([&] { return reads_what_comes_later(pair.client, pair.server); }));
}

TEST_CASE("a thread in a child process waits for a descriptor for which its parent has waited") {
  support::conn_pair pair;
  thrum::runtime runtime(with_procs(1));
  runtime.block_on([&] {
    pair = support::local_pair();
    CHECK(reads_what_comes_later(pair.client, pair.server));
  });
  const int status = status_of_child([&] {
    std::error_code error;
    char byte;
    pair.client.set_read_deadline(support::steady::now() + 20ms);
    pair.client.read(std::span(&byte, 1), error);
    return error == std::errc::timed_out && ::write(pair.server.native_handle(), "x", 1) == 1 &&
           (pair.client.set_read_deadline(thrum::time_point::max()),
            pair.client.read(std::span(&byte, 1), error) == 1);
  });
  CHECK(status == 0);
}

TEST_CASE("a child process writes to a connection from which its parent reads, and closes it") {
  if (!child_may_have_threads()) {
    return;
  }
  support::conn_pair pair = support::local_pair();
  thrum::runtime runtime(with_procs(1));
  auto reader = runtime.spawn([&] {
    char byte;
    return pair.client.read(std::span(&byte, 1));
  });
  support::eventually([&] { return runtime.stats().waiting == 1; });
  // Its thread may still hold locks, which a child would inherit.
  support::eventually([&] { return runtime.stats().idle_procs == 1 && all_others_sleep(); });
  const int status = status_of_child([&] {
    thrum::runtime own(with_procs(1));
    return own.block_on([&] {
      support::fill(pair.client);  // which has to wait
      pair.client.close();
      return true;
    });
  });
  CHECK(status == 0);
  CHECK(::write(pair.server.native_handle(), "x", 1) == 1);
  CHECK(reader.join() == 1);
}
