// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/os/linux/source_lines.hpp>

#include "support/program.hpp"
#include "support/test.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/types.h>
#include <unistd.h>

namespace {

using support::program_result;
using support::run_program;

/// Whether a report of one of the programs can have lines here: it has in no emulator and under no
/// sanitizer, nor where no tool is installed.
bool lines_can_be() {
  return std::getenv("THRUM_TEST_EMULATOR") == nullptr && !THRUM_ASAN && !THRUM_TSAN &&
         !thrum::os::find_line_tool().path.empty();
}

/// Whether the place that the program has announced stands in its report.
bool names_wanted_line(const program_result& r) {
  const std::string mark = "wanted: ";
  const std::size_t begin = r.text.find(mark);
  if (begin == r.text.npos) {
    return false;
  }
  const std::size_t at = begin + mark.size();
  const std::size_t end = r.text.find('\n', at);
  return r.says("/" + r.text.substr(at, end - at) + "\n");
}

/// A folder with a tool in it that says nothing and never ends, nor what it has started.
class folder_of_hanging_tool {
 public:
  folder_of_hanging_tool() {
    std::string name = (std::filesystem::temp_directory_path() / "thrum_lines_XXXXXX").string();
    path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
    const std::string tool = path_ + "/addr2line";
    std::ofstream(tool) << "#!/bin/sh\n/bin/sleep 1000 &\necho $! >>\"${0%/*}/started\"\n"
                           "echo $$ >>\"${0%/*}/started\"\nwait\n";
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  }
  ~folder_of_hanging_tool() {
    if (!path_.empty()) {
      std::filesystem::remove_all(path_);
    }
  }
  folder_of_hanging_tool(const folder_of_hanging_tool&) = delete;
  folder_of_hanging_tool& operator=(const folder_of_hanging_tool&) = delete;

  const std::string& path() const { return path_; }

  std::vector<::pid_t> started() const {
    std::vector<::pid_t> all;
    std::ifstream file(path_ + "/started");
    for (::pid_t each = 0; file >> each;) {
      all.push_back(each);
    }
    return all;
  }

 private:
  std::string path_;
};

/// Dead, though perhaps not yet waited for by init.
bool has_ended(::pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.empty() || text.find(") Z ") != text.npos || text.find(") X ") != text.npos;
}

}  // namespace

TEST_CASE("a dump, and the report of a panic or a deadlock, name lines where lines can be found") {
  constexpr struct {
    const char* program;
    const char* environment;
    int exit_code;  // -1: SIGABRT
    bool has_line;
    const char* says[2];
  } rows[] = {
      {"lines_of_dump", "", 0, true, {"wait_for_bread", ""}},
      {"lines_of_panic", "", -1, true, {"throw_crumbs", ""}},
      {"lines_of_deadlock", "", 2, true, {"", ""}},
      {"lines_of_panic", "PATH=", -1, false, {"thrum: panic in goroutine ", "\tstarted in "}},
      {"lines_of_dump", "THRUM_DEBUG=lines=0", 0, false, {"[chan receive, ", ""}},
  };
  for (const auto& row : rows) {
    // An emulator is looked for along PATH, too.
    if (row.has_line ? !lines_can_be() : std::getenv("THRUM_TEST_EMULATOR") != nullptr) {
      continue;
    }
    const program_result r = run_program(row.program, row.environment);
    INFO(row.program << ": " << r.text);
    CHECK(r.signal == (row.exit_code == -1 ? SIGABRT : 0));
    CHECK(r.exit_code == row.exit_code);
    CHECK((r.says(row.says[0]) && r.says(row.says[1])));
    CHECK(names_wanted_line(r) == row.has_line);
  }
}

TEST_CASE("a program sees nothing of the tool: no child, no SIGCHLD, no descriptor") {
  const program_result r = run_program("lines_unseen");
  INFO(r.text);
  CHECK(r.exit_code == 0);
  CHECK((!lines_can_be() || r.says("source_lines.cpp:")));
  CHECK(r.says("descriptors left: 0\n"));
  CHECK(r.says("heard of children: 0\n"));
  CHECK(r.says("children left: none\n"));
}

TEST_CASE("a program that ignores the end of its children gets lines as well") {
  if (lines_can_be()) {
    const program_result r = run_program("lines_beside_ignored_children");
    INFO(r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.says("source_lines.cpp:"));
  }
}

TEST_CASE("a tool that hangs is killed with what it has started, and is not started again") {
  if (lines_can_be()) {
    const folder_of_hanging_tool folder;
    const program_result r = run_program("lines_late", "PATH='" + folder.path() + "'");
    INFO(r.text);
    CHECK(r.exit_code == 0);
    CHECK(r.says("wait_for_bread"));
    CHECK(r.says("went on\n"));
    const std::vector<::pid_t> started = folder.started();
    CHECK(started.size() <= 2);  // fewer on a machine so slow that it was killed before
    for (const ::pid_t each : started) {
      CHECK(support::eventually([&] { return has_ended(each); }));
    }
  }
}

TEST_CASE("of calls inlined into one another the report names the user's innermost line") {
  const std::string library = std::string(thrum::os::own_source_folder()) + "chan.hpp:7\n";
  const std::vector<std::string> found = thrum::os::read_line_answers(
      "0x1\n/usr/include/c++/12/vector:5\n/a/user.cpp:8 (discriminator 3)\n/a/caller.cpp:9\n"
      "0x2\n" +
          library +
          "/usr/include/stdio.h:3\n"
          "0x3\n??:0\n"
          "0x4\n/a/user.cpp:?\n"
          "0x5\n/a/user.cpp:12\n"
          "0x6\n/a/user.c",
      7);
  CHECK(found == std::vector<std::string>{"/a/user.cpp:8", "/usr/include/stdio.h:3", "", "",
                                          "/a/user.cpp:12", "", ""});
}
