// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The bodies of debug/profile.hpp.
#ifndef THRUM_DETAIL_PROFILE_PROFILE_PARTS_HPP
#define THRUM_DETAIL_PROFILE_PROFILE_PARTS_HPP

#include <thrum/blocking.hpp>
#include <thrum/debug/profile.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/profile/cpu_sampler.hpp>
#include <thrum/detail/profile/goroutine_samples.hpp>
#include <thrum/detail/profile/samples.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/life/registry.hpp>
#include <thrum/runtime.hpp>  // IWYU pragma: keep: what a call of blocking() needs

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace profile_detail {

inline void count_goroutines(samples& to, sched::runtime_scheduler& scheduler) {
  debug::goroutine_list all(scheduler);
  all.look(debug::world::stopped);
  all.for_each([&to](const debug::goroutine_record& g) {
    const bool waits = g.status == sched::g_status::waiting;
    to.add(kind_of(g), 1, waits ? static_cast<std::uint64_t>(g.waiting_ms) : 0);
  });
}

}  // namespace profile_detail

namespace debug {

inline std::string goroutine_profile(profile_form form) {
  using namespace profile_detail;
  samples all;
  all.first = {"goroutines", "count"};
  all.second = {"waiting", "milliseconds"};
  all.taken_at_ns = wall_clock_ns();
  const sched::machine* const m = sched::current_m();
  if (m != nullptr && m->g != nullptr) {
    count_goroutines(all, *m->scheduler);
  } else {
    sched::registry::for_each([&all](auto& scheduler) { count_goroutines(all, scheduler); });
  }
  return thrum::blocking([&] { return write(all, form == profile_form::folded); });
}

inline void start_cpu_profile(unsigned rate) { profile_detail::cpu_sampler::get().begin(rate); }

inline std::string stop_cpu_profile(profile_form form) {
  using namespace profile_detail;
  return thrum::blocking([form] {
    samples all = cpu_sampler::get().end();
    return write(all, form == profile_form::folded);
  });
}

inline std::string cpu_profile(std::chrono::nanoseconds duration, profile_form form) {
  start_cpu_profile();
  thrum::blocking([duration] { os::sleep_ns(duration.count()); });
  return stop_cpu_profile(form);
}

}  // namespace debug

}}  // namespace thrum::THRUM_ABI

#endif
