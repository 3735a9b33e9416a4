// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a goroutine stands, in words.
#ifndef THRUM_DEBUG_BACKTRACE_HPP
#define THRUM_DEBUG_BACKTRACE_HPP

#include <thrum/arch/arch.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/g.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace thrum::inline THRUM_ABI::debug {

using namespace base::orders;

/// The callers of a goroutine that is parked, and stays so meanwhile; none if it has not begun. No
/// malloc.
template <class Traits>
void collect_parked(const sched::basic_g<Traits>& g, os::call_stack& out) noexcept {
  if ((g.flags & sched::g_started) == 0) {
    // Its one return address is where a function begins, which is behind no call: an unwinder that
    // looks before it finds the rules of another function.
    out.size = 0;
    return;
  }
  // relaxed: it is parked
  arch::visit_parked(
      g.sp.load(relaxed),
      [](void* to) noexcept { os::collect_callers(*static_cast<os::call_stack*>(to), 0); }, &out);
}

/// Whether a function belongs to the inside of the library, which says nothing to its user.
inline bool is_internal(std::string_view function) noexcept {
  for (const std::string_view part :
       {"::sched::", "::os::", "::debug::", "5sched", "thrum_goroutine_entry", "thrum_visit_parked",
        "thrum_switch_stack", "thrum_call_as_parked"}) {
    if (function.find(part) != function.npos) {
      return true;
    }
  }
  return false;
}

/// A line for each caller that is the user's; all of them if none is.
inline std::string describe_callers(os::symbolizer& symbols, const void* const* frames,
                                    std::size_t size) {
  std::string shown;
  std::string all;
  for (std::size_t i = 0; i < size; ++i) {
    const std::string line = symbols.describe(frames[i]);
    const std::string text = "\t" + line + "\n";
    all.append(text);
    if (!is_internal(line)) {
      shown.append(text);
    }
  }
  return shown.empty() ? all : shown;
}

}  // namespace thrum::inline THRUM_ABI::debug

#endif
