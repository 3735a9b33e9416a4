// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Process groups, more descriptors, terminals, and programs that do not want to end.
#include <thrum/io/exec.hpp>

#include <thrum/io/pseudo_terminal.hpp>
#include <thrum/io/temporary.hpp>

#include "support/folder.hpp"
#include "support/system_ways.hpp"
#include "support/test.hpp"

#include <csignal>
#include <filesystem>
#include <tuple>

#include <signal.h>
#include <unistd.h>

namespace io = thrum::io;

namespace {

bool is_gone(std::int64_t pid) {
  return ::kill(static_cast<::pid_t>(pid), 0) != 0 && errno == ESRCH;
}

/// A program that leaves somebody behind who keeps its output open and leaves its group, so that nothing
/// ends it: it ends with this object.
class left_behind {
 public:
  std::string line() const {
    return "command -v setsid > /dev/null || exit 9; setsid sh -c 'while [ -e " + where_.path() +
           " ]; do sleep 0.1; done' & echo done";
  }

 private:
  io::temporary_directory where_ = io::temporary_directory::make();
};

std::string line_from(io::pipe_reader& from) {
  std::string line;
  char each = 0;
  while (from.read(std::span(&each, 1)) == 1 && each != '\n') {
    line += each;
  }
  return line;
}

}  // namespace

IN_RUNTIME("a process group of its own gets a signal as a whole, and ends with its object") {
  for (const bool by_signal : {true, false}) {
    std::optional<io::process> p =
        io::process::spawn({"sh", "-c", "sleep 1000 & echo $!; wait"},
                           {.out = io::redirect::pipe(), .new_group = true});
    const std::int64_t grandchild = std::stoll(line_from(p->out()));
    CHECK_FALSE(is_gone(grandchild));
    CHECK(::getpgid(static_cast<::pid_t>(grandchild)) == p->pid());
    if (by_signal) {
      p->signal_group(SIGTERM);
      CHECK(p->wait().signal == SIGTERM);
      CHECK(error_of([&] { p->signal_group(SIGTERM); }) == std::errc::no_such_process);
    } else {
      p.reset();
    }
    char rest = 0;
    if (by_signal) {
      CHECK(p->out().read(std::span(&rest, 1)) == 0);  // nobody has it open any more
    }
    CHECK(support::eventually([&] { return is_gone(grandchild); }));
  }
  io::process alone = io::process::spawn({"sh", "-c", "read x"}, {.in = io::redirect::pipe()});
  CHECK(error_of([&] { alone.signal_group(SIGTERM); }) == std::errc::no_such_process);
  CHECK(error_of([] { io::process().signal_group(SIGTERM); }) == std::errc::no_such_process);
}

IN_RUNTIME("a program that does not want to end is asked, and ended after the grace") {
  io::process deaf =
      io::process::spawn({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"},
                         {.out = io::redirect::pipe()});
  CHECK(line_from(deaf.out()) == "ready");
  CHECK(deaf.stop(10ms).signal == SIGKILL);
  io::process polite = io::process::spawn(
      {"sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"},
      {.out = io::redirect::pipe()});
  CHECK(line_from(polite.out()) == "ready");
  CHECK(polite.stop(1min).code == 3);
}

TEST_CASE("exec at its deadline ends what the program has started, and returns what came") {
  const auto check = [] {
    io::exec_options how;
    how.deadline = std::chrono::steady_clock::now() + 200ms;
    how.grace = support::long_time;  // for which it would wait for a child that holds the output
    std::error_code error;
    const auto begin = std::chrono::steady_clock::now();
    const io::exec_result r =
        io::exec({"sh", "-c", "echo begun; sleep 1000 & sleep 1000"}, how, error);
    CHECK(error == thrum::errc::deadline_exceeded);
    CHECK(r.status.signal == SIGTERM);
    CHECK(std::chrono::steady_clock::now() - begin < support::long_time);
    CHECK((r.output.empty() || r.output == "begun\n"));  // a slow machine may not have come so far
    CHECK(error_of([&] { io::exec({"sleep", "1000"}, how); }) == thrum::errc::deadline_exceeded);
  };
  check();
  with_runtime(check);
}

IN_RUNTIME("exec does not wait for ever for output that another process keeps open") {
  const left_behind stays;
  io::exec_options how;
  how.deadline = std::chrono::steady_clock::now() + 500ms;
  how.grace = 1ms;
  std::error_code error;
  const io::exec_result r = io::exec({"sh", "-c", stays.line()}, how, error);
  if (r.status.code == 9) {
    return;  // a system without that command
  }
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK((r.output == "done\n" || r.output.empty()));
}

namespace {

/// Runs a line of a shell that leaves somebody behind, whose number it writes into the file whose name is
/// $0; ends him afterwards.
io::exec_result exec_leaving_behind(const char* line, const io::exec_options& how,
                                    std::error_code& error) {
  const support::folder here;
  const std::string file = (here / "number").string();
  const auto begin = std::chrono::steady_clock::now();
  io::exec_result result = io::exec({"sh", "-c", line, file}, how, error);
  CHECK(std::chrono::steady_clock::now() - begin < 100s);  // he stays for longer
  std::error_code none;
  const std::string number = io::read_file(file, none);
  if (!number.empty()) {
    ::kill(static_cast<::pid_t>(std::stol(number)), SIGKILL);
  }
  return result;
}

}  // namespace

TEST_CASE("exec without a deadline does not wait for what the program has left behind") {
  const auto check = [] {
    std::error_code error;
    const io::exec_result r = exec_leaving_behind("sleep 300 & echo $! > \"$0\"; echo all; exit 3",
                                                  {.grace = 1ms}, error);
    CHECK(error == thrum::errc::deadline_exceeded);
    CHECK(r.status.code == 3);
    CHECK(r.output == "all\n");
  };
  check();
  with_runtime(check);
}

IN_RUNTIME("exec whose output exceeds its limit does not wait for the holder of the other stream") {
  std::error_code error;
  const io::exec_result r = exec_leaving_behind(
      "command -v setsid > /dev/null || exit 9; setsid sleep 300 > /dev/null & echo $! > \"$0\"; "
      "while :; do echo 0123456789; done",
      {.most_output = 4, .grace = 1ms}, error);
  if (r.status.code == 9) {
    return;  // a system without that command
  }
  CHECK(error == std::errc::message_size);
  CHECK(r.output == "0123");
}

IN_RUNTIME("exec of a program that writes without end, and of one that does not read") {
  std::error_code error;
  const io::exec_result r =
      io::exec({"sh", "-c", "while :; do echo 0123456789; done"}, {.most_output = 100'000}, error);
  CHECK(error == std::errc::message_size);
  CHECK(r.output.size() == 100'000);
  const io::exec_result deaf = io::exec({"true"}, {.input = std::string(1'000'000, 'x')});
  CHECK(deaf.status.success());
  const io::exec_result cat = io::exec({"cat"}, {.input = std::string(1'000'000, 'x')});
  CHECK(cat.output.size() == 1'000'000);
}

TEST_CASE(
    "a goroutine that is stopped in exec ends the program, with handles for children and without") {
  for (const bool handles : {true, false}) {
    support::allow_process_handles(handles);
    const auto where = io::temporary_directory::make();
    const std::string path = where / "pid";
    {
      thrum::runtime runtime;
      runtime.go([&] { io::exec({"sh", "-c", "echo $$ > " + path + "; exec sleep 1000"}); });
      std::error_code error;
      CHECK(support::eventually([&] { return io::read_file(path, error).ends_with('\n'); }));
    }
    support::allow_process_handles(true);
    CHECK(is_gone(std::stoll(io::read_file(path))));
  }
}

IN_RUNTIME("a child gets more descriptors from 3 on, in whatever order ours are") {
  io::pipe first;
  io::pipe second;
  const int a = first.reader().native_handle();
  const int b = second.reader().native_handle();
  first.write("first");
  second.write("second");
  first.close_write();
  second.close_write();
  for (const auto& [one, other, expected] :
       {std::tuple(b, a, "second first"), std::tuple(a, b, " ")}) {
    io::process p = io::process::spawn({"sh", "-c", "printf '%s %s' \"$(cat <&3)\" \"$(cat <&4)\""},
                                       {.out = io::redirect::pipe(), .extra = {one, other}});
    CHECK(p.out().read_all() == expected);
    CHECK(p.wait().success());
  }
  std::error_code error;
  io::process::spawn({"true"}, {.extra = {-1}}, error);
  CHECK(error == std::errc::bad_file_descriptor);
  io::process::spawn({"true"}, {.extra = std::vector<io::native_handle_type>(300, a)}, error);
  CHECK(error == std::errc::too_many_files_open);
}

IN_RUNTIME("a child takes a pseudo-terminal for its terminal, of the size that it was given") {
  std::error_code error;
  io::pseudo_terminal terminal(error);
  if (error) {
    return;  // a container may have none
  }
  CHECK(terminal.path().starts_with("/dev/"));
  terminal.resize(30, 100);
  io::process p = io::process::spawn(
      {"sh", "-c",
       "test -t 0 && test -t 1 && test -t 2 && echo tty; stty size; read x; echo got $x; "
       "test \"$(ps -o tty= -p $$ 2> /dev/null)\" != '?' && echo own"},
      {.terminal = &terminal});
  terminal.write("hello\n");
  const std::string shown = terminal.read_all();
  CHECK(p.wait().success());
  INFO(shown);
  CHECK(shown.find("tty\r\n") != std::string::npos);
  CHECK(shown.find("30 100") != std::string::npos);
  CHECK(shown.find("got hello\r\n") != std::string::npos);
  CHECK(shown.find("own\r\n") != std::string::npos);
  CHECK(error_of([&] { terminal.resize(100'000, 1); }) == std::errc::invalid_argument);
  terminal.close();
  CHECK(error_of([&] { terminal.resize(1, 1); }) == std::errc::operation_canceled);
}

IN_RUNTIME("a child whose streams are all redirected has its pseudo-terminal, too") {
  std::error_code error;
  io::pseudo_terminal terminal(error);
  if (error || THRUM_OS_FREEBSD) {
    return;  // a container may have none; there a session does not get one by opening it
  }
  io::pipe extra;
  io::process p = io::process::spawn(
      {"sh", "-c", "read x < /dev/tty && echo to $x > /dev/tty && echo from $x && echo ok >&3"},
      {.in = io::redirect::null(),
       .out = io::redirect::pipe(),
       .err = io::redirect::null(),
       .extra = {extra.writer().native_handle()},
       .terminal = &terminal});
  extra.close_write();
  terminal.write("me\n");
  CHECK(p.out().read_all() == "from me\n");
  CHECK(extra.reader().read_all() == "ok\n");
  CHECK(p.wait().success());
  CHECK(terminal.read_all().find("to me\r\n") != std::string::npos);
}

TEST_CASE(
    "the interrupt key of a pseudo-terminal ends its child, and so does closing the terminal") {
  // A child ignores what its parent does: SIGINT below a shell that ran us in the background, SIGHUP
  // below nohup.
  const auto interrupt = ::signal(SIGINT, SIG_DFL);
  const auto hang_up = ::signal(SIGHUP, SIG_DFL);
  with_runtime([] {
    for (const bool types : {true, false}) {
      std::error_code error;
      io::pseudo_terminal terminal(error);
      if (error) {
        return;
      }
      io::process p =
          io::process::spawn({"sh", "-c", "echo ready; sleep 1000"}, {.terminal = &terminal});
      std::string shown;
      char each = 0;
      while (shown.find("ready") == std::string::npos && terminal.read(std::span(&each, 1)) == 1) {
        shown += each;
      }
      if (!types) {
        terminal.close();
      }
      std::optional<io::exit_status> status;
      while (!(status = p.wait_for(20ms))) {
        if (types) {
          terminal.write("\x03");  // again: a shell may miss it that is about to start something
        }
      }
      CHECK_FALSE(status->success());
    }
  });
  ::signal(SIGINT, interrupt);
  ::signal(SIGHUP, hang_up);
}

IN_RUNTIME("reading a pseudo-terminal ends at its deadline") {
  std::error_code error;
  io::pseudo_terminal terminal(error);
  if (error) {
    return;
  }
  io::process p = io::process::spawn({"sh", "-c", "echo x; read y"}, {.terminal = &terminal});
  char each = 0;
  CHECK(terminal.read(std::span(&each, 1)) == 1);
  terminal.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
  CHECK(error_of([&] {
          while (terminal.read(std::span(&each, 1)) != 0) {
          }
        }) == thrum::errc::deadline_exceeded);
}

TEST_CASE("exec at a stop ends what the program has started, and returns what came") {
  const auto check = [] {
    const auto where = io::temporary_directory::make();
    const std::string runs = where / "runs";
    std::stop_source stop;
    const std::jthread later([&] {
      support::eventually([&] { return std::filesystem::exists(runs); });
      stop.request_stop();
    });
    std::error_code error;
    const io::exec_result r =
        io::exec({"sh", "-c", ": > '" + runs + "'; echo begun; sleep 1000 & sleep 1000"},
                 {.grace = support::long_time}, stop.get_token(), error);
    CHECK(error == std::errc::operation_canceled);
    CHECK(r.status.signal == SIGTERM);
    CHECK((r.output.empty() || r.output == "begun\n"));
    const auto call = [] { io::exec({"sleep", "1000"}, {}, thrum::context().with_timeout(10ms)); };
    CHECK(error_of(call) == std::errc::operation_canceled);
  };
  check();
  with_runtime(check);
}

TEST_CASE("a stop ends exec while a process that the program left behind keeps its output open") {
  const auto check = [] {
    const left_behind stays;
    io::exec_options how;
    how.grace = 20s;  // from the program's end; the stop comes sooner
    std::error_code error;
    const auto begin = std::chrono::steady_clock::now();
    const io::exec_result r =
        io::exec({"sh", "-c", stays.line()}, how, thrum::context().with_timeout(500ms), error);
    if (r.status.code == 9) {
      return;  // a system without that command
    }
    CHECK((error == std::errc::operation_canceled ||
           std::chrono::steady_clock::now() - begin > how.grace));
    CHECK((r.output == "done\n" || r.output.empty()));
  };
  check();
  with_runtime(check);
}
