// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Detectors of trouble: goroutines that are blocked for long, and that keep their processor for
// long. They look once in a while, on a thread that may wait and allocate, and report each case
// once.
//
// What a stop that takes long says: which goroutine it waits for, and where that is.
#ifndef THRUM_DETAIL_DEBUG_TROUBLE_HPP
#define THRUM_DETAIL_DEBUG_TROUBLE_HPP

#include <thrum/detail/base/append.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

class trouble_detector {
 public:
  trouble_detector(std::int64_t blocked_ns, std::int64_t kept_ns) noexcept
      : blocked_ns_(blocked_ns), kept_ns_(kept_ns) {}

  /// How often look() wants to be called; 0: not at all.
  std::int64_t period_ns() const noexcept {
    const std::int64_t blocked = blocked_ns_ / 4;
    const std::int64_t kept = kept_ns_ / 2;
    return blocked == 0 ? kept : (kept == 0 ? blocked : (blocked < kept ? blocked : kept));
  }

  void look(sched::runtime_scheduler& scheduler) {
    const std::int64_t now = os::now();
    if (blocked_ns_ != 0) {
      look_for_blocked(scheduler, now);
    }
    if (kept_ns_ != 0) {
      scheduler.for_each_live_p([&](sched::processor& p) { look_at(scheduler, p, now); });
    }
  }

 private:
  struct processor {
    std::uint32_t tick = 0;
    std::int64_t since = 0;
    bool reported = false;
  };

  static void report(const goroutine_record& g, std::string_view trouble) {
    std::string text;
    base::append(text, {"thrum: goroutine ", base::digits(g.id).view()});
    if (g.name[0] != '\0') {
      base::append(text, {" [", g.name, "]"});
    }
    base::append(text, {" ", trouble, "; started in ", os::describe_address(g.started_at), "\n"});
    base::write_error(text);
  }

  void look_for_blocked(sched::runtime_scheduler& scheduler, std::int64_t now) {
    const std::int64_t now_ms = (now - scheduler.started_at) / 1'000'000;
    std::vector<goroutine_id> still;
    scheduler.pool->for_each([&](sched::goroutine& g) {
      goroutine_record record;
      if (!describe_into(record, g, now_ms) || record.status != sched::g_status::waiting ||
          record.reason == sched::wait_reason::sleep ||
          record.waiting_ms * 1'000'000 < blocked_ns_) {
        return;
      }
      still.push_back(record.id);
      if (!was_blocked(record.id)) {
        base::message<160> trouble("has been blocked in ");
        trouble.append(sched::describe(record.reason)).append(" for ").append(record.waiting_ms);
        report(record, trouble.append(" ms").view());
      }
    });
    if (!still.empty()) {
      std::qsort(still.data(), still.size(), sizeof still[0], &order_of_ids);
    }
    blocked_ = std::move(still);
  }

  bool was_blocked(goroutine_id id) const noexcept {
    return !blocked_.empty() && std::bsearch(&id, blocked_.data(), blocked_.size(),
                                             sizeof blocked_[0], &order_of_ids) != nullptr;
  }
  static int order_of_ids(const void* a, const void* b) noexcept {
    const auto one = *static_cast<const goroutine_id*>(a);
    const auto other = *static_cast<const goroutine_id*>(b);
    return one < other ? -1 : one == other ? 0 : 1;
  }

  THRUM_NO_TSAN void look_at(sched::runtime_scheduler& scheduler, sched::processor& p,
                             std::int64_t now) {
    if (processors_.size() <= p.id) {
      processors_.resize(p.id + 1);
    }
    processor& seen = processors_[p.id];
    const std::uint32_t tick = p.schedule_tick.get();  // compared with the last one
    const bool running = p.status.peek() == sched::p_status::running;
    if (!running || tick != seen.tick || (!p.has_queued() && scheduler.global.empty())) {
      seen = {tick, now, false};
      return;
    }
    const sched::machine* const m = p.m.peek();
    const sched::goroutine* const g = m != nullptr ? m->g : nullptr;
    goroutine_record record;
    if (now - seen.since >= kept_ns_ && !seen.reported && g != nullptr &&
        describe_into(record, *g, 0)) {
      seen.reported = true;
      base::message<160> trouble("has kept processor ");
      trouble.append(p.id).append(" for ").append((now - seen.since) / 1'000'000);
      report(record, trouble.append(" ms while others waited").view());
    }
  }

  const std::int64_t blocked_ns_;
  const std::int64_t kept_ns_;
  std::vector<goroutine_id> blocked_;  // at the last look, in their order
  std::vector<processor> processors_;
};

/// One line about a goroutine that runs, else about the first that is left; empty if none is. Stops the
/// goroutines for a moment. Not inside a section.
[[gnu::cold]] inline std::string describe_slow_stop(sched::runtime_scheduler& scheduler) {
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
  std::string text;
  base::append(text, {"thrum: stop: waits for goroutine ", base::digits(chosen.id).view(), " [",
                      chosen.status == sched::g_status::waiting ? sched::describe(chosen.reason)
                                                                : describe(chosen.status),
                      "]"});
  if (chosen.name[0] != '\0') {
    base::append(text, {" \"", chosen.name, "\""});
  }
  for (std::size_t i = 0; i != chosen.size; ++i) {
    if (const std::string_view place = symbols.describe(chosen.frames[i]); !is_internal(place)) {
      base::append(text, {" in ", place});
      break;
    }
  }
  base::append(text, {", started in ", symbols.describe(chosen.started_at)});
  if (n != 1) {
    base::append(text, {", and for ", base::digits(n - 1).view(), n == 2 ? " other" : " others"});
  }
  base::append(text, {"; let it return, or call the library in its loop\n"});
  return text;
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif  // THRUM_DETAIL_DEBUG_TROUBLE_HPP
