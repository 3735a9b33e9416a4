// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What on_host.hpp declares: the bodies that are not inlined.
#ifndef THRUM_ON_HOST_DEFINITION_HPP
#define THRUM_ON_HOST_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/on_host.hpp>
#include <thrum/sched/run/attach.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

THRUM_OUT_OF_LINE host_thread* host_for_start(runtime_scheduler& scheduler) {
  if (scheduler.clock.is_virtual()) {
    return nullptr;
  }
  host_thread* const first = first_host(scheduler);
  if (first == nullptr) {
    base::throw_system(os::error_code_of(os::no_memory), "go: no memory for the host of on_host");
  }
  return first;
}

}}}  // namespace thrum::THRUM_ABI::go_detail

#endif
