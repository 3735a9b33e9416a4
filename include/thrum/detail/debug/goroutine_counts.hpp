// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many goroutines do the same: by state, what they wait for, and where they were started.
#ifndef THRUM_DETAIL_DEBUG_GOROUTINE_COUNTS_HPP
#define THRUM_DETAIL_DEBUG_GOROUTINE_COUNTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/debug/dump_form.hpp>
#include <thrum/detail/debug/tally.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// A line for each kind, the most frequent first. No goroutine is stopped. Not inside a section.
inline std::string count_goroutines(sched::runtime_scheduler& scheduler) {
  tally kinds;
  std::uint64_t total = 0;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    goroutine_record record;
    if (describe_into(record, g, 0)) {
      kinds.add(record.started_at, static_cast<std::uint32_t>(record.status) << 8 |
                                       static_cast<std::uint32_t>(record.reason));
      ++total;
    }
  });
  os::symbolizer symbols;
  std::string text = "goroutines: " + std::to_string(total) + "\n";
  for (const tally::entry& each : kinds.by_frequency()) {
    const auto status = static_cast<sched::g_status>(each.kind >> 8);
    const auto reason = static_cast<sched::wait_reason>(each.kind & 0xFF);
    text.append(std::to_string(each.n)).append(" [");
    text.append(status == sched::g_status::waiting ? sched::describe(reason) : describe(status));
    text.append("] started in ").append(symbols.describe(each.place)).append("\n");
  }
  return text;
}

/// Writes them in one of the two forms. `blocking(f)` returns f(), which may block the thread. Not
/// inside a section.
template <class Blocking>
void write_goroutines(sched::runtime_scheduler& scheduler, std::FILE* to, dump_form form,
                      Blocking blocking) {
  std::string text;
  if (form == dump_form::counts) {
    text = count_goroutines(scheduler);
  } else {
    goroutine_list all(scheduler);
    all.look(world::stopped);
    text = blocking([&all] { return describe_goroutines(all, true); });
  }
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
