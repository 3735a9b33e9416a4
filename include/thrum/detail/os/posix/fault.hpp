// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Access to memory that is not there: a look at each fault before it takes its course.
#ifndef THRUM_DETAIL_OS_POSIX_FAULT_HPP
#define THRUM_DETAIL_OS_POSIX_FAULT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Called in the handler, on the thread that faulted, with the address, and where its stack pointer
/// was.
using fault_observer = void (*)(const void* address, const void* stack_pointer) noexcept;

/// Has `observer` see each fault first. Then the handler that was there before, or the default
/// action, sees it as if we were not there. Once in a process; later calls do nothing.
void install_fault_observer(fault_observer observer) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/memory_parts.hpp>

#include <atomic>
#include <cerrno>
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

struct fault_handling {
  static constexpr std::string_view process_name = "os::fault_handling";
  std::atomic<fault_observer> observe{nullptr};
  /// The handlers of SIGSEGV and SIGBUS that were there before ours. Written once, before the
  /// handler is installed.
  struct ::sigaction earlier[2] = {};
};

inline struct ::sigaction& earlier_fault_action(int number) noexcept {
  return process_wide<fault_handling>::get().earlier[number == SIGSEGV ? 0 : 1];
}

THRUM_NOINLINE inline void handle_fault(int number, ::siginfo_t* info, void* context) {
  const int kept = errno;
  // relaxed: set before the handler is installed
  if (const fault_observer observe = process_wide<fault_handling>::get().observe.load(relaxed)) {
    observe(info->si_addr, stack_pointer_of(*static_cast<const ::ucontext_t*>(context)));
  }
  errno = kept;
  const struct ::sigaction& earlier = earlier_fault_action(number);
  if ((earlier.sa_flags & SA_SIGINFO) != 0) {
    earlier.sa_sigaction(number, info, context);
  } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(number);
  } else {
    // The instruction is tried again, faults again, and takes the default's course. A signal that a
    // program sent is sent again.
    ::signal(number, SIG_DFL);
    if (info->si_code <= 0) {
      ::raise(number);
    }
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void install_fault_observer(fault_observer observer) noexcept {
  fault_observer none = nullptr;
  auto& known = process_wide<fault_handling>::get().observe;
  // relaxed: only one goes on
  if (!known.compare_exchange_strong(none, observer, relaxed, relaxed)) {
    return;
  }
  for (const int number : {SIGSEGV, SIGBUS}) {
    ::sigaction(number, nullptr, &earlier_fault_action(number));
    struct ::sigaction ours {};
    ours.sa_sigaction = &handle_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (earlier_fault_action(number).sa_flags & SA_NODEFER);
    ours.sa_mask = earlier_fault_action(number).sa_mask;
    ::sigaction(number, &ours, nullptr);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_FAULT_HPP
