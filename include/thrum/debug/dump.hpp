// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Every goroutine in words: who, in what state, since when, from where.
#ifndef THRUM_DEBUG_DUMP_HPP
#define THRUM_DEBUG_DUMP_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/scheduler.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::inline THRUM_ABI::debug {

using namespace base::orders;

/// One goroutine. As exact as something can be that goes on meanwhile.
struct goroutine_record {
  goroutine_id id = 0;
  std::string name;
  sched::g_status status = sched::g_status::idle;
  sched::wait_reason reason = sched::wait_reason::none;
  std::int64_t waiting_ms = 0;  // known to about 10 ms
  const void* started_at = nullptr;
};

constexpr std::string_view describe(sched::g_status status) noexcept {
  switch (status) {
    case sched::g_status::idle: return "idle";
    case sched::g_status::runnable: return "runnable";
    case sched::g_status::running: return "running";
    case sched::g_status::syscall: return "syscall";
    case sched::g_status::waiting: return "waiting";
    case sched::g_status::dead: return "dead";
    case sched::g_status::preempted: return "preempted";
  }
  return "";
}

/// Those that are alive, by id.
template <class Traits>
std::vector<goroutine_record> collect_goroutines(sched::basic_scheduler<Traits>& scheduler) {
  std::vector<goroutine_record> all;
  const std::int64_t now_ms = (os::now() - scheduler.started_at) / 1'000'000;
  scheduler.pool->for_each([&](sched::basic_g<Traits>& g) {
    const sched::g_status status =
        g.status.load(relaxed);  // relaxed: exact only while all is quiet
    if (status == sched::g_status::idle || status == sched::g_status::dead) {
      return;
    }
    goroutine_record record;
    record.id = g.id;
    record.name = g.name;
    record.status = status;
    record.started_at = g.started_at;
    if (status == sched::g_status::waiting) {
      record.reason = g.reason.load(relaxed);  // relaxed: for display
      // relaxed: for display
      record.waiting_ms = std::max<std::int64_t>(now_ms - g.parked_ms.load(relaxed), 0);
    }
    all.push_back(std::move(record));
  });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return all;
}

/// Two lines, Go's with the name: goroutine 7 [chan receive, 120 ms] "loader":
inline std::string describe(const goroutine_record& g) {
  std::string text = "goroutine " + std::to_string(g.id) + " [";
  if (g.status == sched::g_status::waiting) {
    text.append(sched::describe(g.reason)).append(", ");
    constexpr std::int64_t minute = 60'000;
    if (g.waiting_ms < minute) {
      text.append(std::to_string(g.waiting_ms)).append(" ms");
    } else {
      text.append(std::to_string(g.waiting_ms / minute)).append(" minutes");
    }
  } else {
    text.append(describe(g.status));
  }
  text.append("]");
  if (!g.name.empty()) {
    text.append(" \"").append(g.name).append("\"");
  }
  text.append(":\n\tstarted in ").append(os::describe_address(g.started_at)).append("\n");
  return text;
}

/// All of them, an empty line between two.
template <class Traits>
std::string describe_goroutines(sched::basic_scheduler<Traits>& scheduler) {
  std::string text;
  for (const goroutine_record& g : collect_goroutines(scheduler)) {
    text.append(text.empty() ? "" : "\n").append(describe(g));
  }
  return text;
}

}  // namespace thrum::inline THRUM_ABI::debug

#endif
