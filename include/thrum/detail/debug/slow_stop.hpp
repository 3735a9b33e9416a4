// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a stop that takes long says: which goroutine it waits for, and where that is.
#ifndef THRUM_DETAIL_DEBUG_SLOW_STOP_HPP
#define THRUM_DETAIL_DEBUG_SLOW_STOP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <cstddef>
#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// One line about a goroutine that runs, else about the first that is left; empty if none is. Stops the
/// goroutines for a moment. Not inside a section.
inline std::string describe_slow_stop(sched::runtime_scheduler& scheduler) {
  goroutine_list all(scheduler);
  all.look(world::stopped);
  std::size_t n = 0;
  goroutine_record chosen;
  all.for_each([&](const goroutine_record& g) {
    const bool is_better = chosen.status == sched::g_status::waiting && g.status != chosen.status;
    if (++n == 1 || is_better) {
      chosen = g;
    }
  });
  if (n == 0) {
    return {};
  }
  os::symbolizer symbols;
  std::string text = "thrum: stop: waits for goroutine " + std::to_string(chosen.id) + " [";
  text.append(chosen.status == sched::g_status::waiting ? sched::describe(chosen.reason)
                                                        : describe(chosen.status));
  text.append("]");
  if (chosen.name[0] != '\0') {
    text.append(" \"").append(chosen.name).append("\"");
  }
  for (std::size_t i = 0; i != chosen.size; ++i) {
    if (!is_internal(symbols.describe(chosen.frames[i]))) {
      text.append(" in ").append(symbols.describe(chosen.frames[i]));
      break;
    }
  }
  text.append(", started in ").append(symbols.describe(chosen.started_at));
  if (n != 1) {
    text.append(", and for ").append(std::to_string(n - 1)).append(n == 2 ? " other" : " others");
  }
  return text.append("; let it return, or call the library in its loop\n");
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
