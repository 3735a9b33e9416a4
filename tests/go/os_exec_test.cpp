// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of os/exec, re-created from their descriptions on io::process and io::exec. What Go's
// helper program does, the shell does here.
//
// Not here: Cmd.String and LookPath (process::spawn takes words, and looks for the program itself),
// duplicates in an environment (which is given as it is), a second Start (a process object has one).

#include <thrum/io/directory.hpp>
#include <thrum/io/temporary.hpp>

#include "support/children.hpp"
#include "support/test.hpp"

#include <csignal>
#include <filesystem>

using thrum::io::exec;
using thrum::io::exec_options;
using thrum::io::exec_result;
using thrum::io::exit_status;
using thrum::io::process;
using thrum::io::redirect;

namespace {

/// What a child writes to its standard output once it can be talked to.
void wait_until_ready(process& of) {
  char each = 0;
  while (of.out().read(std::span(&each, 1)) == 1 && each != '\n') {
  }
}

}  // namespace

IN_RUNTIME(
    "Go os/exec CommandRelativeName, ImplicitPWD: a relative name counts from the directory") {
  const auto where = thrum::io::temporary_directory::make();
  thrum::io::write_file(where / "program", "#!/bin/sh\npwd -P\n", {.permissions = 0700});
  const std::string real = std::filesystem::canonical(where.path()).string();
  CHECK(exec({"./program"}, {.directory = where.path()}).output == real + "\n");
  if (support::emulated()) {
    return;  // qemu makes a fork of vfork, whose failure nobody hears of
  }
  std::error_code error;
  exec({"./program"}, {}, error);
  CHECK(error == std::errc::no_such_file_or_directory);
  exec({"pwd"}, {.directory = where / "none"}, error);
  CHECK(error == std::errc::no_such_file_or_directory);
}

IN_RUNTIME("Go os/exec Pipes: a program is talked to line by line, and ends with its input") {
  process p = process::spawn(
      {"sh", "-c", "while read x; do echo \"O:$x\"; echo \"E:$x\" >&2; done; exit 3"},
      {.in = redirect::pipe(), .out = redirect::pipe(), .err = redirect::pipe()});
  thrum::io::buffered_reader out(p.out());
  thrum::io::buffered_reader err(p.err());
  for (const char* const line : {"first", "second", "third"}) {
    p.in().write(std::string(line) + "\n");
    CHECK(std::string(out.read_line().value()) == std::string("O:") + line);
    CHECK(std::string(err.read_line().value()) == std::string("E:") + line);
  }
  p.in().close();
  CHECK(p.wait().code == 3);
}

IN_RUNTIME("Go os/exec StdinClose, StdinCloseRace: input is closed while the program ends") {
  for (int i = 0; i != support::scaled(20); ++i) {
    process p = process::spawn({"cat"}, {.in = redirect::pipe(), .out = redirect::pipe()});
    auto killer = thrum::spawn([&] { p.kill(); });
    auto closer = thrum::spawn([&] {
      std::error_code broken;
      p.in().write("unexpected", broken);
      p.in().close();
    });
    const exit_status status = p.wait();
    CHECK((status.signal == SIGKILL || status.success()));  // whichever came first
    killer.join();
    closer.join();
  }
}

IN_RUNTIME(
    "Go os/exec ExtraFiles, ExtraFilesFDShuffle: a child gets those, and none of ours else") {
  const auto file = thrum::io::temporary_file::make();
  thrum::io::write_file(file.path(), "extra");
  thrum::io::file extra = thrum::io::file::open(file.path());
  process p = process::spawn({"cat", "/dev/fd/3"},
                             {.out = redirect::pipe(), .extra = {extra.native_handle()}});
  CHECK(p.out().read_all() == "extra");
  CHECK(p.wait().success());
  if (std::filesystem::exists("/proc/self/fd")) {
    // One more than without it, whatever we have inherited ourselves.
    const auto count = [](std::vector<thrum::io::native_handle_type> given) {
      process lists = process::spawn({"ls", "/proc/self/fd"},
                                     {.out = redirect::pipe(), .extra = std::move(given)});
      const std::string names = lists.out().read_all();
      return std::count(names.begin(), names.end(), '\n');
    };
    const auto before = count({});
    std::vector<thrum::net::listener> many;
    for (int i = 0; i != 10; ++i) {
      many.push_back(thrum::net::listener::listen("127.0.0.1:0"));
    }
    CHECK(count({extra.native_handle()}) <= before + 1);
  }

  // The child reads its descriptors backwards.
  std::array<thrum::io::pipe, 3> pipes;
  std::vector<thrum::io::native_handle_type> handles;
  for (std::size_t i = 0; i != pipes.size(); ++i) {
    pipes[i].write(std::to_string(i));
    handles.push_back(pipes[i].reader().native_handle());
    pipes[i].close_write();
  }
  process shuffled = process::spawn({"sh", "-c", "cat <&5; cat <&4; cat <&3"},
                                    {.out = redirect::pipe(), .extra = handles});
  CHECK(shuffled.out().read_all() == "210");
  CHECK(shuffled.wait().success());
}

IN_RUNTIME("Go os/exec ExtraFilesRace, ConcurrentExec: many are started and ended side by side") {
  std::atomic<int> right{0};
  const int n = support::scaled(40);
  {
    thrum::task_group group;
    for (int i = 0; i != n; ++i) {
      group.go([&, i] {
        // A file, which is in blocking mode, as programs expect it.
        auto file = thrum::io::temporary_file::make();
        file->write(std::to_string(i));
        file->seek(0);
        process p = process::spawn({"sh", "-c", "cat <&3"},
                                   {.out = redirect::pipe(), .extra = {file->native_handle()}});
        right += p.out().read_all() == std::to_string(i) && p.wait().success() ? 1 : 0;
      });
      group.go([&, i] {
        right += exec({"echo", std::to_string(i)}).output == std::to_string(i) + "\n" ? 1 : 0;
      });
    }
    group.wait();
  }
  CHECK(right == 2 * n);
  CHECK(support::eventually([] { return !support::has_children(); }));
}

IN_RUNTIME(
    "Go os/exec WaitInterrupt: a program is interrupted, killed after a delay, or ends itself") {
  const auto spawn_tail = [](const std::string& trap) {
    process p = process::spawn({"sh", "-c", trap + "echo ready; while :; do sleep 0.01; done"},
                               {.out = redirect::pipe()});
    wait_until_ready(p);
    return p;
  };
  {
    process waits = spawn_tail("");
    CHECK(waits.wait_for(5ms) == std::nullopt);
    waits.signal(SIGINT);
    CHECK_FALSE(waits.wait().success());
  }
  {
    process handles = spawn_tail("trap 'exit 0' TERM; ");
    std::error_code error;
    CHECK(handles.wait_or_stop(std::chrono::steady_clock::now() + 5ms, 1min, error).success());
    CHECK(error == thrum::errc::deadline_exceeded);
  }
  {
    process ignores = spawn_tail("trap '' TERM INT; ");
    std::error_code error;
    CHECK(ignores.wait_or_stop(std::chrono::steady_clock::now() + 5ms, 5ms, error).signal ==
          SIGKILL);
    CHECK(error == thrum::errc::deadline_exceeded);
  }
  {
    process ends = process::spawn({"true"});
    std::error_code error;
    CHECK(ends.wait_or_stop(std::chrono::steady_clock::now() + 10min, 1ms, error).success());
    CHECK_FALSE(error);
  }
}

IN_RUNTIME(
    "Go os/exec WaitDelay: output that a grandchild keeps open is not waited for without end") {
  const auto there = thrum::io::temporary_directory::make();  // for as long as the grandchild stays
  exec_options how;
  how.deadline = std::chrono::steady_clock::now() + 300ms;
  how.grace = 10ms;
  std::error_code error;
  // In a group of its own, which job control makes: our signal does not reach it.
  const exec_result r = exec(
      {"sh", "-c", "set -m; while [ -e " + there.path() + " ]; do sleep 0.1; done & echo begun"},
      how, error);
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK((r.output == "begun\n" || r.output.empty()));
}

IN_RUNTIME(
    "Go os/exec DedupEnvEcho, EnvNULCharacter: an environment is given, without zero bytes") {
  CHECK(exec({"sh", "-c", "echo $FOO"}, {.environment = {{"FOO=good", "PATH=/usr/bin:/bin"}}})
            .output == "good\n");
  std::error_code error;
  exec({"echo"}, {.environment = {{std::string("FOO=foo\0BAR=bar", 15)}}}, error);
  CHECK(error == std::errc::invalid_argument);
  exec({"echo", std::string("a\0b", 3)}, {}, error);
  CHECK(error == std::errc::invalid_argument);
}

IN_RUNTIME("Go os/exec ClosedInput: a program that does not read its input is no failure") {
  const exec_result r = exec({"true"}, {.input = std::string(1'000'000, 'x')});
  CHECK(r.status.success());
  CHECK(
      exec({"sh", "-c", "exec <&-; exit 2"}, {.input = std::string(1'000'000, 'x')}).status.code ==
      2);
}

IN_RUNTIME("Go os/exec Waitid: a process that is stopped and goes on is waited for until its end") {
  process p = process::spawn({"cat"}, {.in = redirect::pipe(), .out = redirect::pipe()});
  p.signal(SIGSTOP);
  auto waiter = thrum::spawn([&] { return p.wait(); });
  p.signal(SIGCONT);
  CHECK_FALSE(waiter.done());
  p.in().close();
  CHECK(waiter.join().success());
  CHECK(p.wait().success());  // again
  CHECK(error_of([&] { p.signal(SIGCONT); }) == std::errc::no_such_process);
}

IN_RUNTIME("Go os/exec Terminal streams: what a child inherits, and what goes nowhere") {
  process quiet =
      process::spawn({"sh", "-c", "cat; echo lost; echo lost >&2"},
                     {.in = redirect::null(), .out = redirect::null(), .err = redirect::null()});
  CHECK(quiet.wait().success());
  const auto where = thrum::io::temporary_directory::make();
  process writes =
      process::spawn({"sh", "-c", "echo said; echo complained >&2"},
                     {.out = redirect::to_file(where / "out"), .err = redirect::to_output()});
  CHECK(writes.wait().success());
  CHECK(thrum::io::read_file(where / "out") == "said\ncomplained\n");
  CHECK(exec({"cat", where / "out"}).output == "said\ncomplained\n");
}
