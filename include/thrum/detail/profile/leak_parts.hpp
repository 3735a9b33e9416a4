// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The body of debug/leaks.hpp.
#ifndef THRUM_DETAIL_PROFILE_LEAK_PARTS_HPP
#define THRUM_DETAIL_PROFILE_LEAK_PARTS_HPP

#include <thrum/blocking.hpp>
#include <thrum/debug/leaks.hpp>
#include <thrum/debug/profile.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/profile/goroutine_samples.hpp>
#include <thrum/detail/profile/leak_search.hpp>
#include <thrum/detail/profile/samples.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/freeze/freeze.hpp>
#include <thrum/runtime.hpp>  // IWYU pragma: keep: what a call of blocking() needs

#include <cstdint>
#include <set>
#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI {

namespace profile_detail {

/// Stops all goroutines, and searches. False: one of them does not stop.
THRUM_NOINLINE inline bool search_once(leak_search& search, sched::runtime_scheduler& scheduler) {
  constexpr std::int64_t patience_ns = 50'000'000;
  bool complete = false;
  scheduler.freeze.begin_exclusive();
  {
    sched::section here;
    const sched::freezer frozen(scheduler, here.m(), patience_ns);
    complete = frozen.complete();
    if (complete) {
      search.look(*here.m());
    }
  }
  scheduler.freeze.end_exclusive();
  return complete;
}

/// Clears the stack below the caller's frame. Calls that have ended left handles there, and the frames of the search would
/// keep those that it does not overwrite.
THRUM_NOINLINE inline void clear_stack() noexcept {
  volatile std::uintptr_t words[4096 / sizeof(std::uintptr_t)];
  for (volatile std::uintptr_t& each : words) {
    each = 0;
  }
}

/// The numbers of the goroutines that are lost.
inline std::set<goroutine_id> find_lost(sched::runtime_scheduler& scheduler, bool& is_complete) {
  std::set<goroutine_id> found;
  constexpr int most_tries = 20;
  for (int tries = 0; tries != most_tries; ++tries) {
    leak_search search(scheduler);
    if (!search.has_memory()) {
      base::throw_system(std::make_error_code(std::errc::not_enough_memory),
                         "leak_profile: no memory for the search");
    }
    const bool is_last = tries + 1 == most_tries;
    if (search_once(search, scheduler) && (is_last || !search.has_changed())) {
      search.for_each_lost([&found](goroutine_id id) { found.insert(id); });
      is_complete = search.is_complete();
      break;
    }
  }
  return found;
}

THRUM_NOINLINE inline std::string leaks_as(debug::profile_form form) {
  using namespace debug;
  sched::machine* const m = sched::current_m();
  if (m == nullptr || m->g == nullptr) {
    base::throw_usage(
        "leak_profile: the caller is no goroutine; call it inside one, which go() starts");
  }
  sched::runtime_scheduler& scheduler = *m->scheduler;
  bool is_complete = false;
  const std::set<goroutine_id> lost = find_lost(scheduler, is_complete);
  samples all;
  all.first = {"goroutines", "count"};
  all.second = {"waiting", "milliseconds"};
  all.taken_at_ns = wall_clock_ns();
  if (!is_complete) {
    all.comments.emplace_back("not all memory was seen: only waits for nothing are counted");
  }
  if (!lost.empty()) {
    goroutine_list seen(scheduler);
    seen.look(world::stopped);
    seen.for_each([&](const goroutine_record& g) {
      if (g.status == sched::g_status::waiting && lost.count(g.id) != 0) {
        all.add(kind_of(g), 1, static_cast<std::uint64_t>(g.waiting_ms));
      }
    });
  }
  return thrum::blocking([&] { return write(all, form == profile_form::folded); });
}

}  // namespace profile_detail

namespace debug {

inline std::string leak_profile(profile_form form) {
  profile_detail::clear_stack();
  return profile_detail::leaks_as(form);
}

}  // namespace debug

}}  // namespace thrum::THRUM_ABI

#endif
