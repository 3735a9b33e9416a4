// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What machine_state gives: registers by the names and in the order in which the files of arch/ look for
// them, which are those of Linux.
#ifndef THRUM_DETAIL_OS_BSD_MACHINE_REGISTERS_HPP
#define THRUM_DETAIL_OS_BSD_MACHINE_REGISTERS_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

struct x86_64_machine {
  /// r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
  std::uint64_t gregs[17];
};

struct aarch64_machine {
  std::uint64_t regs[31];
  std::uint64_t sp;
  std::uint64_t pc;
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD
#endif  // THRUM_DETAIL_OS_BSD_MACHINE_REGISTERS_HPP
