// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which lines of the source lie at code addresses, on Linux: asked of the system's own tool.
//
// Where a program is compiled with -g there is a tool that reads what the compiler has written
// down: addr2line, or one that takes the same arguments. It is looked for along PATH and started
// once for each file of code, with all addresses. No tool, no answer in time: then there are no
// lines.
//
// The program must not notice
//   SL1  Its own children are its own business: it may count SIGCHLD, or wait for any child. execve
//        makes each child one that sends SIGCHLD. So there is a keeper in between, which starts the
//        tool, reads what it says, ends it and waits for it. The keeper itself never calls execve
//        and ends without a signal; only a wait with __WCLONE or __WALL sees it.
//   SL2  The keeper shares our memory, where it writes the answer, and the calling thread sleeps
//        until it has ended (as in vfork): no page table is copied, and two never use one stack
//        or one errno. Others of our threads go on.
//   SL3  Its table of descriptors is a copy, in which it closes all at once: a socket that is
//        closed here meanwhile is closed.
//   SL4  All signals are blocked in the keeper, so that none of our handlers runs there. The tool
//        has every signal as usual, a process group of its own, and nothing of our environment.
//   SL5  The tool has until a deadline. Then it is killed with all that it has started.
//
// Rejected: to read DWARF here, which is larger than the rest of the library; posix_spawn (SL1); a
// child that is given away to init, which is ourselves in many containers.
#ifndef THRUM_DETAIL_OS_LINUX_SOURCE_LINES_HPP
#define THRUM_DETAIL_OS_LINUX_SOURCE_LINES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_ANDROID

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether reports are to name lines. Off once a tool was too slow: one report waits for it, not
/// all.
inline constinit base::hint<bool> wants_source_lines{true};

/// How long one report may wait for all of its lines.
inline constinit base::hint<std::int64_t> source_lines_patience_ns{2'000'000'000};

/// A tool that tells lines: a file, and whether it must be told to speak as addr2line does.
struct line_tool {
  std::string path;
  bool is_symbolizer = false;
};

/// The first one along PATH; without a path if there is none. Only absolute folders count, and none
/// in a program that has more rights than its caller.
[[gnu::cold]] line_tool find_line_tool();

/// Looks for the first tool of these names along PATH, as find_line_tool does, and writes its path with a
/// zero at the end. Returns its place in the list; -1: there is none. No malloc.
[[gnu::cold]] int find_tool(const std::string_view* names, std::size_t n, char* to,
                            std::size_t room) noexcept;

/// The folder of this library's headers, as the compiler has it.
constexpr std::string_view own_source_folder() noexcept {
  constexpr std::string_view own = __FILE__;
  constexpr std::string_view here = "detail/os/linux/source_lines.hpp";
  return own.substr(0, own.size() - here.size());
}

/// Whether a file of source is this library's or the system's, which says nothing to the user.
inline bool is_foreign_source(std::string_view file) noexcept {
  return file.find(own_source_folder()) != file.npos || file.find("/include/c++/") != file.npos ||
         file.find("/usr/include/") == 0 || file.find("/usr/lib/") == 0;
}

/// The answers, one for each address: of the places that were inlined into one another there, the
/// innermost that is the user's, else the outermost. Empty: unknown.
THRUM_OUT_OF_LINE std::vector<std::string> read_line_answers(std::string_view text,
                                                             std::size_t count);

/// "file:line" for each address, which is relative to the file's own; empty where it is unknown.
/// `late`: the tool was not ready in time. Allocates. Not in the handler of a signal.
[[gnu::cold]] std::vector<std::string> ask_for_lines(const line_tool& tool,
                                                     const std::string& code_file,
                                                     const std::vector<std::uintptr_t>& places,
                                                     std::int64_t deadline, bool& late);

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/append.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/memory.hpp>
#include <thrum/detail/os/posix/large_file.hpp>

#include <cstdlib>
#include <iterator>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_COLD THRUM_OUT_OF_LINE int find_tool(const std::string_view* names, std::size_t n, char* to,
                                           std::size_t room) noexcept {
  const char* const path = ::secure_getenv("PATH");
  for (std::size_t place = 0; place != n; ++place) {
    const std::string_view name = names[place];
    for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(folder.size() == rest.size() ? folder.size() : folder.size() + 1);
      if (folder.empty() || folder.front() != '/' || folder.size() + name.size() + 2 > room) {
        continue;
      }
      char* end = to + folder.copy(to, room);
      *end++ = '/';
      end[name.copy(end, room)] = '\0';
      large_file::status about{};
      if (large_file::stat(to, about) == 0 && S_ISREG(about.st_mode) && ::access(to, X_OK) == 0) {
        return static_cast<int>(place);
      }
    }
  }
  return -1;
}

/// The tools that tell lines. The last one must be told to speak as the first does.
inline constexpr std::string_view line_tools[] = {"addr2line", "llvm-addr2line", "eu-addr2line",
                                                  "llvm-symbolizer"};
inline constexpr int place_of_symbolizer = 3;

THRUM_COLD THRUM_OUT_OF_LINE line_tool find_line_tool() {
  char path[1024];
  const int found = find_tool(line_tools, std::size(line_tools), path, sizeof path);
  return {found < 0 ? std::string() : std::string(path), found == place_of_symbolizer};
}

/// What the keeper is to run, and what it has read.
struct line_question {
  static constexpr std::size_t stack_bytes = 64 * 1024;

  char* const* arguments = nullptr;  ///< the first one is the tool's file
  std::int64_t deadline = 0;
  char* answer = nullptr;
  std::size_t capacity = 0;
  char* tool_stack_end = nullptr;
  int tool_output = -1;

  std::size_t size = 0;  ///< of the answer
  bool complete = false;
};

/// Runs in the tool's process, which shares our memory until it calls execve.
THRUM_NOINLINE inline int become_tool(void* argument) noexcept {
  const auto& question = *static_cast<const line_question*>(argument);
  ::setpgid(0, 0);
  struct ::sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    // SIGABRT would take a lock of the C library, which a dying thread of ours may hold.
    if (signal != SIGABRT) {
      ::sigaction(signal, &usual, nullptr);
    }
  }
  ::sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  static char language[] = "LC_ALL=C";
  static char* const environment[] = {language, nullptr};
  if (::dup2(question.tool_output, STDOUT_FILENO) == STDOUT_FILENO) {
    ::execve(question.arguments[0], question.arguments, environment);
  }
  ::_exit(127);
}

/// Only in a process that shares its table of descriptors with no other.
inline void close_all_descriptors() noexcept {  // SL3
  constexpr long close_range = 436;             // the same on every processor; since Linux 5.9
  if (::syscall(close_range, 0U, ~0U, 0U) == 0) {
    return;
  }
  struct ::rlimit most {};
  ::getrlimit(RLIMIT_NOFILE, &most);
  for (::rlim_t fd = 0; fd < most.rlim_cur && fd < 65'536; ++fd) {
    ::close(static_cast<int>(fd));
  }
}

/// Reads until the end, the deadline, or until there is no more room.
inline void hear_tool(line_question& question, int from) noexcept {
  while (question.size < question.capacity) {
    const std::int64_t left_ms = (question.deadline - now()) / 1'000'000;
    ::pollfd readable{from, POLLIN, 0};
    if (left_ms <= 0 || ::poll(&readable, 1, static_cast<int>(left_ms)) <= 0) {
      return;
    }
    const ::ssize_t n =
        ::read(from, question.answer + question.size, question.capacity - question.size);
    if (n <= 0) {
      question.complete = n == 0;
      return;
    }
    question.size += static_cast<std::size_t>(n);
  }
  question.complete = true;
}

/// The keeper (SL1); all in it is on its own stack or in the question (SL2).
THRUM_NOINLINE inline int keep_tool(void* argument) noexcept {
  auto& question = *static_cast<line_question*>(argument);
  struct ::sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, nullptr);  // if it is ignored, no child can be waited for
  close_all_descriptors();
  int ends[2];
  if (::open("/dev/null", O_RDWR | O_CLOEXEC) != 0 || ::dup2(0, 1) != 1 || ::dup2(0, 2) != 2 ||
      ::fcntl(0, F_SETFD, 0) != 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    ::_exit(1);
  }
  question.tool_output = ends[1];
  const int tool =
      ::clone(&become_tool, question.tool_stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  if (tool <= 0) {
    ::_exit(1);
  }
  ::close(ends[1]);
  hear_tool(question, ends[0]);
  ::kill(-tool, SIGKILL);  // SL5: it has said all, or is too late
  ::kill(tool, SIGKILL);
  // Waits for the tool, but not for ever: it may hang in a file system that does not answer.
  for (int i = 0; i != 100 && ::waitpid(tool, nullptr, WNOHANG) == 0; ++i) {
    const ::timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
  ::_exit(0);
}

/// Has a keeper ask it; false if there can be none. Blocks the thread until the deadline at most.
THRUM_NOINLINE inline bool run_keeper(line_question& question) noexcept {
  constexpr std::size_t bytes = 2 * line_question::stack_bytes;
  auto* const stacks = static_cast<char*>(map(bytes));
  if (stacks == nullptr) {
    return false;
  }
  question.tool_stack_end = stacks + bytes;
  int cancelling = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);  // SL4
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int keeper =
      ::clone(&keep_tool, stacks + line_question::stack_bytes, CLONE_VM | CLONE_VFORK, &question);
  if (keeper > 0) {
    ::waitpid(keeper, nullptr, static_cast<int>(__WCLONE));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setcancelstate(cancelling, nullptr);
  unmap(stacks, bytes);
  return keeper > 0;
}

/// Reads what a tool says line by line: an address, then the places that were inlined into one another
/// there, the innermost first.
class line_reader {
 public:
  explicit line_reader(std::size_t count) noexcept : count_(count), which_(count) {}

  struct found {
    bool is_better = false;  // than what was found for that address before
    std::size_t which = 0;
    std::string_view line;
  };

  found read(std::string_view line) noexcept {
    if (line.substr(0, 2) == "0x") {
      which_ = has_begun_ ? which_ + 1 : 0;
      has_begun_ = true;
      is_users_ = false;
      return {};
    }
    line = line.substr(0, line.find(" (discriminator"));
    const std::size_t colon = line.rfind(':');
    const std::string_view number = colon == line.npos ? "" : line.substr(colon + 1);
    const bool is_known = !number.empty() && number != "0" && number != "?" &&
                          number.find_first_not_of("0123456789") == number.npos &&
                          line.substr(0, 2) != "??";
    if (which_ >= count_ || !is_known || is_users_) {
      return {};
    }
    is_users_ = !is_foreign_source(line);
    return {true, which_, line};
  }

 private:
  std::size_t count_;
  std::size_t which_;
  bool has_begun_ = false;
  bool is_users_ = false;
};

THRUM_OUT_OF_LINE std::vector<std::string> read_line_answers(std::string_view text,
                                                             std::size_t count) {
  std::vector<std::string> found(count);
  line_reader reader(count);
  while (text.find('\n') != text.npos) {  // what is behind the last one is cut off
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    if (const auto answer = reader.read(line); answer.is_better) {
      found[answer.which] = answer.line;
    }
  }
  return found;
}

THRUM_COLD THRUM_OUT_OF_LINE std::vector<std::string> ask_for_lines(
    const line_tool& tool, const std::string& code_file, const std::vector<std::uintptr_t>& places,
    std::int64_t deadline, bool& late) {
  constexpr std::string_view end("\0", 1);
  std::string words;  // with a zero behind each
  base::append(words, {tool.path, end});
  if (tool.is_symbolizer) {
    base::append(words, {"--output-style=GNU", end, "--functions=none", end});
  }
  base::append(words, {"-a", end, "-i", end, "-e", end, code_file, end});
  for (const std::uintptr_t place : places) {
    base::append(words, {base::digits().append_hex(place).view(), end});
  }
  std::vector<char*> arguments;
  for (std::size_t i = 0; i != words.size(); i = words.find('\0', i) + 1) {
    arguments.push_back(words.data() + i);
  }
  arguments.push_back(nullptr);
  line_question question;
  question.arguments = arguments.data();
  question.deadline = deadline;
  question.capacity = 4 * 1024 * 1024;  // only what is touched counts
  question.answer = static_cast<char*>(map(question.capacity));
  if (question.answer == nullptr) {
    return std::vector<std::string>(places.size());
  }
  const bool asked = run_keeper(question);
  late = asked && !question.complete && now() >= deadline - 1'000'000;
  std::vector<std::string> found =
      read_line_answers({question.answer, question.size}, places.size());
  unmap(question.answer, question.capacity);
  return found;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_ANDROID
#endif  // THRUM_DETAIL_OS_LINUX_SOURCE_LINES_HPP
