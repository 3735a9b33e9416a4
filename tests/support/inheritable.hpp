// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which descriptors of a program a child would hold that is started at the worst moment.
//
// A child gets each descriptor that has no close-on-exec flag when the child is started. So the program runs
// traced: it stops after each system call, and the number that the call has returned is looked up. A
// descriptor whose flag is set by a second call is found between the two calls, without any child and on any
// machine.
#ifndef THRUM_TESTS_SUPPORT_INHERITABLE_HPP
#define THRUM_TESTS_SUPPORT_INHERITABLE_HPP

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

struct inheritable_result {
  bool is_traced = false;          ///< the system allows it
  int status = -1;                 ///< of the program
  int opened = 0;                  ///< descriptors that the program has opened
  std::vector<std::string> found;  ///< what the ones lead to that a child would hold
};

/// Traces a program from its first instruction to its end.
class inheritable_watch {
 public:
  /// `variable` is set for the program: NAME=VALUE.
  static inheritable_result run(const std::string& program, const char* argument, char* variable) {
    inheritable_watch watch;
    const ::pid_t child = ::fork();
    if (child == 0) {
      // Nothing of ours, whatever its flags are.
      for (int fd = 3; fd != 1024; ++fd) {
        ::close(fd);
      }
      ::putenv(variable);
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) {
        ::execl(program.c_str(), program.c_str(), argument, nullptr);
      }
      ::_exit(cannot_trace);
    }
    watch.program_ = child;
    watch.follow();
    return watch.result_;
  }

 private:
  static constexpr int cannot_trace = 99;

  void follow() {
    int status = 0;
    if (::waitpid(program_, &status, 0) != program_ || !WIFSTOPPED(status)) {
      return;
    }
    result_.is_traced = true;
    // What a child of the program does is the child's.
    constexpr long how = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    ::ptrace(PTRACE_SETOPTIONS, program_, nullptr, how);
    threads_.insert(program_);
    go_on(program_, 0);
    while (!threads_.empty()) {
      const ::pid_t thread = ::waitpid(-1, &status, __WALL);
      if (thread < 0) {
        return;
      }
      if (WIFSTOPPED(status)) {
        threads_.insert(thread);
        stopped(thread, status);
      } else {
        threads_.erase(thread);
        if (thread == program_) {
          result_.status = status;
        }
      }
    }
  }

  static void go_on(::pid_t thread, int signal) {
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<long>(signal));
  }

  void stopped(::pid_t thread, int status) {
    constexpr int at_call = SIGTRAP | 0x80;
    const int signal = WSTOPSIG(status);
    if (signal == at_call) {
      look(thread);
      go_on(thread, 0);
    } else {
      const bool is_ours = signal == SIGTRAP || signal == SIGSTOP;
      go_on(thread, is_ours ? 0 : signal);
    }
  }

  void look(::pid_t thread) {
    ::__ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) {
      return;
    }
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      calls_[thread] = made_by(info.entry.nr, info.entry.args[1]);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && info.exit.is_error == 0) {
      if (calls_[thread] == makes::two) {
        look_at_all();
      } else if (calls_[thread] == makes::one) {
        ++result_.opened;
        look_at(static_cast<int>(info.exit.rval));
      }
    }
  }

  /// What a system call makes.
  enum class makes { none, one, two };

  static makes made_by(std::uint64_t call, std::uint64_t second) {
    constexpr std::uint64_t pidfd_open = 434, io_uring_setup = 425;
    switch (call) {
      case SYS_pipe2:
      case SYS_socketpair: return makes::two;
#if defined(SYS_fcntl64)
      case SYS_fcntl64:
#else
      case SYS_fcntl:
#endif
        return second == F_DUPFD || second == F_DUPFD_CLOEXEC ? makes::one : makes::none;
#if defined(SYS_open)
      case SYS_open:
      case SYS_creat:
#endif
#if defined(SYS_accept)
      case SYS_accept:
#endif
      case SYS_openat:
      case SYS_socket:
      case SYS_accept4:
      case SYS_dup:
      case SYS_epoll_create1:
      case SYS_eventfd2:
      case SYS_inotify_init1:
      case pidfd_open:
      case io_uring_setup: return makes::one;
      default: return makes::none;
    }
  }

  std::string in_proc(const char* what) const {
    return "/proc/" + std::to_string(program_) + "/" + what;
  }

  void look_at_all() {
    std::error_code gone;
    for (const auto& each : std::filesystem::directory_iterator(in_proc("fd"), gone)) {
      const int fd = std::atoi(each.path().filename().c_str());
      if (fd > 2) {
        result_.opened += seen_.insert(fd).second ? 1 : 0;
        look_at(fd);
      }
    }
  }

  void look_at(int fd) {
    const std::string number = std::to_string(fd);
    std::FILE* const about = std::fopen(in_proc(("fdinfo/" + number).c_str()).c_str(), "re");
    if (about == nullptr || fd <= 2) {  // closed by another thread; or a program's own stream
      return;
    }
    char line[128];
    while (std::fgets(line, sizeof line, about) != nullptr) {
      unsigned flags = 0;
      if (std::sscanf(line, "flags: %o", &flags) == 1 && (flags & O_CLOEXEC) == 0) {
        std::error_code gone;
        result_.found.push_back(
            std::filesystem::read_symlink(in_proc(("fd/" + number).c_str()), gone).string());
      }
    }
    std::fclose(about);
  }

  ::pid_t program_ = 0;
  std::set<::pid_t> threads_;
  std::map<::pid_t, makes> calls_;  // that a thread is in
  std::set<int> seen_;
  inheritable_result result_;
};

}  // namespace support

#endif
