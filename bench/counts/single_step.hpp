// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Counting by single steps: the instructions that one thread of a traced process executes between two
// marks, and how many of them lock the bus. Unlike a time, such a count is the same on a busy machine
// and on another one, so that a growth of three of a hundred can be seen. Linux on x86-64.
//
// The traced process marks a region with int3. At the first mark all of its other threads are stopped,
// so that none of them (the monitor, above all) can ask for anything meanwhile: what is counted is one
// processor's work. The thread then goes on one instruction at a time until the second mark.
#ifndef THRUM_BENCH_COUNTS_SINGLE_STEP_HPP
#define THRUM_BENCH_COUNTS_SINGLE_STEP_HPP

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <system_error>
#include <unordered_map>

#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace counts {

/// Begins or ends a counted region: in the traced process only, elsewhere a SIGTRAP that ends it.
[[gnu::always_inline]] inline void mark() { asm volatile("int3" ::: "memory"); }

/// What one region took.
struct totals {
  std::uint64_t instructions = 0;
  std::uint64_t locked = 0;
};

enum class instruction : std::uint8_t { plain, locked, mark };

/// Of the instruction that begins with these bytes: an xchg with memory locks without a prefix.
constexpr instruction classify(const unsigned char (&bytes)[16]) {
  constexpr unsigned char lock = 0xf0;
  constexpr unsigned char other_prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64,
                                              0x65, 0x66, 0x67, 0xf2, 0xf3};
  if (bytes[0] == 0xcc) {
    return instruction::mark;
  }
  std::size_t i = 0;
  while (i != 13 && std::ranges::find(other_prefixes, bytes[i]) != std::end(other_prefixes)) {
    ++i;
  }
  if (bytes[i] == lock) {
    return instruction::locked;
  }
  if ((bytes[i] & 0xf0U) == 0x40) {  // REX
    ++i;
  }
  const bool exchange = bytes[i] == 0x86 || bytes[i] == 0x87;
  const bool with_memory = bytes[i + 1] < 0xc0;
  return exchange && with_memory ? instruction::locked : instruction::plain;
}

namespace classified {
constexpr unsigned char lock_xadd[16] = {0xf0, 0x48, 0x0f, 0xc1, 0x07};
constexpr unsigned char lock_add_of_16_bits[16] = {0x66, 0xf0, 0x01, 0x07};
constexpr unsigned char xchg_memory[16] = {0x48, 0x87, 0x07};
constexpr unsigned char xchg_registers[16] = {0x48, 0x87, 0xc7};
constexpr unsigned char mov[16] = {0x48, 0x8b, 0xf0};
constexpr unsigned char int3[16] = {0xcc};
static_assert(classify(lock_xadd) == instruction::locked);
static_assert(classify(lock_add_of_16_bits) == instruction::locked);
static_assert(classify(xchg_memory) == instruction::locked);
static_assert(classify(xchg_registers) == instruction::plain);
static_assert(classify(mov) == instruction::plain);
static_assert(classify(int3) == instruction::mark);
}  // namespace classified

/// Runs a program as a traced child and counts in it.
class tracer {
 public:
  /// Starts `path` with one argument. std::system_error where tracing is not allowed.
  tracer(const char* path, const char* argument) : process_(::fork()) {
    if (process_ == 0) {
      // The same addresses each time.
      ::personality(ADDR_NO_RANDOMIZE);
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) {
        ::execl(path, path, argument, nullptr);
      }
      ::_exit(cannot_trace);
    }
    check(process_, "fork");
    int status = 0;
    check(::waitpid(process_, &status, 0), "waitpid");
    if (!WIFSTOPPED(status)) {
      throw std::system_error(EPERM, std::generic_category(), "ptrace");
    }
    check(::ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL),
          "PTRACE_SETOPTIONS");
    threads_.insert(process_);
    go_on(process_, 0);
  }

  /// Lets the program run to its end; what its region took. The program is to have one region.
  totals count() {
    totals result;
    for (;;) {
      int status = 0;
      const pid_t thread = ::waitpid(-1, &status, __WALL);
      check(thread, "waitpid");
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        threads_.erase(thread);
        if (thread == process_) {
          if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            throw std::system_error(ECHILD, std::generic_category(), "the counted program failed");
          }
          return result;
        }
        continue;
      }
      threads_.insert(thread);
      const int signal = WSTOPSIG(status);
      if (signal == SIGTRAP && status >> 8 == SIGTRAP && at_mark(thread)) {
        stop_others(thread);
        result = step_to_mark(thread);
        for (const pid_t other : stopped_) {
          go_on(other, 0);
        }
      }
      // A new thread begins with a SIGSTOP, a clone ends with an event: neither is the program's.
      go_on(thread, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
    }
  }

 private:
  static constexpr int cannot_trace = 99;

  static void check(long result, const char* what) {
    if (result < 0) {
      throw std::system_error(errno, std::generic_category(), what);
    }
  }

  /// A thread may have ended meanwhile.
  static void go_on(pid_t thread, int signal) {
    ::ptrace(PTRACE_CONT, thread, nullptr, static_cast<long>(signal));
  }

  static std::uint64_t position(pid_t thread) {
    errno = 0;
    const long at = ::ptrace(PTRACE_PEEKUSER, thread, offsetof(user_regs_struct, rip), nullptr);
    check(errno == 0 ? 0 : -1, "PTRACE_PEEKUSER");
    return static_cast<std::uint64_t>(at);
  }

  instruction look(pid_t thread, std::uint64_t at) {
    const auto [found, is_new] = known_.try_emplace(at);
    if (is_new) {
      unsigned char bytes[16] = {};
      for (std::size_t half = 0; half != 2; ++half) {
        const long word = ::ptrace(PTRACE_PEEKTEXT, thread, at + 8 * half, nullptr);
        std::memcpy(bytes + 8 * half, &word, sizeof word);
      }
      found->second = classify(bytes);
    }
    return found->second;
  }

  bool at_mark(pid_t thread) { return look(thread, position(thread) - 1) == instruction::mark; }

  void stop_others(pid_t counted) {
    stopped_.clear();
    for (const pid_t thread : threads_) {
      int status = 0;
      if (thread == counted || ::syscall(SYS_tgkill, process_, thread, SIGSTOP) != 0) {
        continue;
      }
      check(::waitpid(thread, &status, __WALL), "waitpid");
      if (WIFSTOPPED(status)) {
        stopped_.insert(thread);
      }
    }
  }

  totals step_to_mark(pid_t thread) {
    totals result;
    for (;;) {
      const std::uint64_t at = position(thread);
      const instruction next = look(thread, at);
      if (next == instruction::mark) {
        check(::ptrace(PTRACE_POKEUSER, thread, offsetof(user_regs_struct, rip), at + 1),
              "PTRACE_POKEUSER");
        return result;
      }
      ++result.instructions;
      result.locked += next == instruction::locked ? 1 : 0;
      check(::ptrace(PTRACE_SINGLESTEP, thread, nullptr, nullptr), "PTRACE_SINGLESTEP");
      int status = 0;
      check(::waitpid(thread, &status, __WALL), "waitpid");
      if (!WIFSTOPPED(status)) {
        throw std::system_error(ECHILD, std::generic_category(), "the counted thread ended");
      }
    }
  }

  pid_t process_;
  std::set<pid_t> threads_;
  std::set<pid_t> stopped_;
  std::unordered_map<std::uint64_t, instruction> known_;
};

}  // namespace counts

#endif
