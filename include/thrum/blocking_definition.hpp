// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What blocking.hpp declares: the bodies that are not inlined.
#ifndef THRUM_BLOCKING_DEFINITION_HPP
#define THRUM_BLOCKING_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/blocking.hpp>
#include <thrum/sched/run/off_host.hpp>
#include <thrum/sched/run/syscall.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

using namespace sched;

THRUM_OUT_OF_LINE syscall_scope::syscall_scope() noexcept {
  section here;
  if (here.m() == nullptr) {
    return;
  }
  left_host_ = leave_host(here);
  if (machine* const m = here.m()) {  // another one, if it has left a host
    entered_ = true;
    enter_syscall(*m);
  }
}

THRUM_OUT_OF_LINE syscall_scope::~syscall_scope() {
  if (entered_) {
    // First of all: what the call has left there.
    const int error_number = *current_m()->error_number;
    section here;
    machine& m = exit_syscall(*current_m());
    *m.error_number = error_number;
    here.moved_to(m);
    if (left_host_) {
      may_be_on_host(*m.g);
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::go_detail

#endif
