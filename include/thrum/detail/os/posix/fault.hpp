// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Signals by which a program crashes: a look at each before it takes its course.
#ifndef THRUM_DETAIL_OS_POSIX_FAULT_HPP
#define THRUM_DETAIL_OS_POSIX_FAULT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/parts.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What is known of a fault in its handler.
struct fault {
  const char* name = nullptr;           ///< of the signal
  bool is_memory = false;               ///< an access to memory: SIGSEGV or SIGBUS
  bool has_address = false;             ///< no program has sent it
  bool is_last = false;                 ///< no other handler sees it: it ends the process
  const void* address = nullptr;        ///< of the memory, else of the instruction
  const void* stack_pointer = nullptr;  ///< where the interrupted code had it
  const void* context = nullptr;        ///< for fault_machine
};

/// Called in the handler, on the thread that faulted, with all signals blocked if the fault is the last.
using fault_observer = void (*)(const fault& what) noexcept;

/// Which faults are seen.
enum class fault_kinds : std::uint8_t {
  memory,  ///< SIGSEGV and SIGBUS
  all,     ///< also SIGFPE, SIGILL and SIGABRT, of which the program has set no action
};

/// Has `observer` see each fault first. Then the handler that was there before, or the default
/// action, sees it as if we were not there. The first observer of a process stays.
void install_fault_observer(fault_observer observer, fault_kinds kinds) noexcept;

/// The registers of what has faulted.
inline decltype(auto) fault_machine(const fault& what) noexcept {
  return machine_state(what.context);
}

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/memory_parts.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string_view>

#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// The stack pointer of an interrupted thread. A template, as each processor has other members.
template <class Context>
const void* stack_pointer_of(const Context& context) noexcept {
  const auto& machine = context.uc_mcontext;
  if constexpr (requires { machine->__ss.__rsp; }) {
    return reinterpret_cast<const void*>(machine->__ss.__rsp);  // macOS on x86-64
  } else if constexpr (requires { machine->__ss.__sp; }) {
    return reinterpret_cast<const void*>(machine->__ss.__sp);  // macOS on arm64
  } else if constexpr (requires { machine.mc_rsp; }) {
    return reinterpret_cast<const void*>(machine.mc_rsp);  // FreeBSD on x86-64
  } else if constexpr (requires { machine.mc_gpregs; }) {
    return reinterpret_cast<const void*>(machine.mc_gpregs.gp_sp);  // FreeBSD on arm64
  } else if constexpr (requires { machine.sp; }) {
    return reinterpret_cast<const void*>(machine.sp);  // aarch64
  } else if constexpr (requires { machine.arm_sp; }) {
    return reinterpret_cast<const void*>(machine.arm_sp);
  } else if constexpr (requires { machine.__pc; }) {
    return reinterpret_cast<const void*>(machine.__gregs[3]);  // loongarch64
  } else if constexpr (requires { machine.__gregs; }) {
    return reinterpret_cast<const void*>(machine.__gregs[2]);  // riscv64
  } else if constexpr (requires { machine.gp_regs; }) {
    return reinterpret_cast<const void*>(machine.gp_regs[1]);  // ppc64le
  } else {
    // x86-64's REG_RSP, which not every header names, and s390x's r15; i686's REG_ESP.
    constexpr int number = sizeof(void*) == 8 ? 15 : 7;
    return reinterpret_cast<const void*>(machine.gregs[number]);
  }
}

struct fault_signal {
  int number;
  const char* name;
  bool is_memory;
};

inline constexpr fault_signal fault_signals[] = {{SIGSEGV, "SIGSEGV", true},
                                                 {SIGBUS, "SIGBUS", true},
                                                 {SIGFPE, "SIGFPE", false},
                                                 {SIGILL, "SIGILL", false},
                                                 {SIGABRT, "SIGABRT", false}};

struct fault_handling {
  static constexpr std::string_view process_name = "os::fault_handling";
  std::atomic<fault_observer> observe{nullptr};
  /// What is known of each signal, in the order of fault_signals.
  struct handled {
    std::atomic<bool> taken{false};
    struct ::sigaction earlier {
    };  // the handler that was there before. Written once, before ours is there.
  } of[std::size(fault_signals)];
};

inline bool is_default(const struct ::sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

/// Whether a program has sent the signal: the instruction at which it came is not its cause.
inline bool was_sent(int number, const ::siginfo_t& info) noexcept {
  return info.si_code <= 0 || info.si_code == SI_USER || number == SIGABRT;
}

THRUM_NOINLINE inline void handle_fault(int number, ::siginfo_t* info, void* context) {
  const int kept = errno;
  const auto& known = process_wide<fault_handling>::get();
  std::size_t place = 0;
  while (place + 1 != std::size(fault_signals) && fault_signals[place].number != number) {
    ++place;
  }
  const struct ::sigaction& earlier = known.of[place].earlier;
  const bool is_last = (earlier.sa_flags & SA_SIGINFO) == 0 &&
                       (earlier.sa_handler == SIG_DFL || earlier.sa_handler == SIG_IGN);
  // relaxed: set before the handler is installed
  if (const fault_observer observe = known.observe.load(relaxed)) {
    ::sigset_t all;
    ::sigset_t before;
    if (is_last) {
      sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    observe({.name = fault_signals[place].name,
             .is_memory = fault_signals[place].is_memory,
             .has_address = !was_sent(number, *info),
             .is_last = is_last,
             .address = info->si_addr,
             .stack_pointer = stack_pointer_of(*static_cast<const ::ucontext_t*>(context)),
             .context = context});
    if (is_last) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  }
  errno = kept;
  if ((earlier.sa_flags & SA_SIGINFO) != 0) {
    earlier.sa_sigaction(number, info, context);
  } else if (!is_last) {
    earlier.sa_handler(number);
  } else {
    // The instruction is tried again, faults again, and takes the default's course. A signal that a
    // program sent is sent again.
    ::signal(number, SIG_DFL);
    if (was_sent(number, *info)) {
      ::raise(number);
    }
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_fault_observer(fault_observer observer,
                                                             fault_kinds kinds) noexcept {
  auto& known = process_wide<fault_handling>::get();
  fault_observer none = nullptr;
  known.observe.compare_exchange_strong(none, observer, relaxed,
                                        relaxed);  // relaxed: before the handler
  for (std::size_t i = 0; i != std::size(fault_signals); ++i) {
    const fault_signal& each = fault_signals[i];
    struct ::sigaction found {};
    // relaxed: only one goes on
    if ((!each.is_memory && kinds == fault_kinds::memory) ||
        ::sigaction(each.number, nullptr, &found) != 0 || (!each.is_memory && !is_default(found)) ||
        known.of[i].taken.exchange(true, relaxed)) {
      continue;
    }
    known.of[i].earlier = found;
    struct ::sigaction ours {};
    ours.sa_sigaction = &handle_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (found.sa_flags & SA_NODEFER);
    ours.sa_mask = found.sa_mask;
    ::sigaction(each.number, &ours, nullptr);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_FAULT_HPP
