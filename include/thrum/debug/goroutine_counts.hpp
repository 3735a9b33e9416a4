// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many goroutines do the same: by state, what they wait for, and where they were started.
#ifndef THRUM_DEBUG_GOROUTINE_COUNTS_HPP
#define THRUM_DEBUG_GOROUTINE_COUNTS_HPP

#include <thrum/base/config.hpp>
#include <thrum/debug/dump.hpp>
#include <thrum/debug/dump_form.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/scheduler.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// A line for each kind, the most frequent first. Nobody is stopped. Not inside a section.
inline std::string count_goroutines(sched::runtime_scheduler& scheduler) {
  using kind = std::tuple<sched::g_status, sched::wait_reason, const void*>;
  std::map<kind, std::uint64_t> counts;
  std::uint64_t total = 0;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    goroutine_record record;
    if (describe_into(record, g, 0)) {
      ++counts[{record.status, record.reason, record.started_at}];
      ++total;
    }
  });
  std::vector<std::pair<kind, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  os::symbolizer symbols;
  std::string text = "goroutines: " + std::to_string(total) + "\n";
  for (const auto& [what, n] : sorted) {
    const auto& [status, reason, started_at] = what;
    text.append(std::to_string(n)).append(" [");
    text.append(status == sched::g_status::waiting ? sched::describe(reason) : describe(status));
    text.append("] started in ").append(symbols.describe(started_at)).append("\n");
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
