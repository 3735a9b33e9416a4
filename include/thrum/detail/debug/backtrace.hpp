// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a goroutine stands, in words.
#ifndef THRUM_DETAIL_DEBUG_BACKTRACE_HPP
#define THRUM_DETAIL_DEBUG_BACKTRACE_HPP

#include <thrum/detail/base/append.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/fork/fork_thief.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

/// The callers of a goroutine that is parked, or stands in a handler without a processor, and stays
/// so meanwhile; none if it has not begun. No malloc.
THRUM_NO_TSAN inline void collect_parked(const sched::goroutine& g, os::call_stack& out) noexcept {
  out.size = 0;
  if ((g.flags & sched::g_started) == 0) {
    return;  // its one return address is where a function begins, which is behind no call
  }
  // [g.status <] acquire: of a preempted one, its thread and what that was interrupted in.
  const bool preempted = g.status.load(acquire) == sched::g_status::preempted;
  if (preempted && g.bound->interruption.context != nullptr) {
    sched::walk_interrupted(g.bound->interruption.context, sched::stack_of(g), out);
    return;
  }
  sched::walk_parked(g.sp.get(), sched::stack_of(g), out);
}

/// An address inside the call that started a goroutine: what lies behind a call may be another line.
THRUM_NO_TSAN inline const void* starting_call(const sched::goroutine& g) noexcept {
  const bool is_call = g.started_at != nullptr && g.entry != &sched::run_forks;
  return is_call ? static_cast<const char*>(g.started_at) - 1 : g.started_at;
}

/// Whether a function belongs to the inside of the library, which says nothing to its user.
[[gnu::cold]] inline bool is_internal(std::string_view function) noexcept {
  for (const std::string_view part :
       {"::sched::", "::os::", "::debug::", "::go_detail::", "::sync_detail::", "::chan_detail::",
        "::select_detail::", "::time_detail::", "::context_detail::", "::testing_detail::",
        "::group_detail::", "::fork_detail::", "::generator_detail::", "::stop_detail::",
        "::trace_detail::", "::coroutine_detail::", "::profile_detail::", "::page_detail::",
        "::asio_detail::", "::execution_detail::", "::tracy_detail::",
        // as mangled, of a name that is too long for the demangler
        "5sched", "9go_detail", "11sync_detail", "11chan_detail", "13select_detail",
        "11time_detail", "14context_detail", "12group_detail", "14testing_detail", "11fork_detail",
        "16generator_detail", "11stop_detail", "12trace_detail", "16coroutine_detail",
        "14profile_detail", "11page_detail", "11asio_detail", "16execution_detail",
        "12tracy_detail",
        // the processor's own
        "thrum_goroutine_entry", "thrum_switch_stack", "thrum_call_as_parked", "thrum_call_watched",
        "thrum_watch_exception"}) {
    if (function.find(part) != function.npos) {
      return true;
    }
  }
  return false;
}

/// Whether a place is one of the user's: also a function of the library's inside, if the compiler has put
/// the user's lines into it.
[[gnu::cold]] inline bool is_users(std::string_view place, std::string_view line) noexcept {
  return !is_internal(place) || (!line.empty() && !os::is_foreign_source(line) &&
                                 place.substr(0, 6) != "thrum_");  // not the processor's own
}

/// "name at program+0x1f" on a line of its own, and the place in the source on the next, if known.
[[gnu::cold]] inline std::string describe_place(os::symbolizer& symbols, const void* address) {
  std::string text;
  base::append(text, {symbols.describe(address), "\n"});
  if (const std::string_view line = symbols.line_of(address); !line.empty()) {
    base::append(text, {"\t\t", line, "\n"});
  }
  return text;
}

/// Whether a place belongs to what throws an exception, or ends the program for one.
[[gnu::cold]] inline bool is_throwing(std::string_view place) noexcept {
  for (const std::string_view first :
       {"_Unwind_", "__cxa_", "__cxxabiv1::", "__gnu_cxx::", "__gxx_personality",
        "__clang_call_terminate", "std::terminate", "std::rethrow_exception", "libstdc++",
        "libgcc_s", "libc++abi", "libunwind"}) {
    if (place.substr(0, first.size()) == first) {
      return true;
    }
  }
  for (const std::string_view part :
       {"::base::throw_", " at libstdc++", " at libgcc_s", " at libc++abi"}) {
    if (place.find(part) != place.npos) {
      return true;
    }
  }
  return false;
}

/// How many of the innermost callers are no place that a user looks for: an exception was thrown there.
[[gnu::cold]] inline std::size_t count_throwing(os::symbolizer& symbols, const void* const* frames,
                                                std::size_t size) {
  std::size_t passed = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view place = symbols.describe(frames[i]);
    if (is_throwing(place)) {
      passed = i + 1;
    } else if (is_users(place, symbols.line_of(frames[i]))) {
      break;
    }
  }
  return passed < size ? passed : 0;
}

/// Describes each caller that is the user's, from where an exception was thrown, as describe_place does;
/// all callers if none is.
[[gnu::cold]] inline std::string describe_callers(os::symbolizer& symbols,
                                                  const void* const* frames, std::size_t size) {
  std::string shown;
  std::string all;
  for (std::size_t i = count_throwing(symbols, frames, size); i < size; ++i) {
    const std::string place = describe_place(symbols, frames[i]);
    base::append(all, {"\t", place});
    if (is_users(symbols.describe(frames[i]), symbols.line_of(frames[i]))) {
      base::append(shown, {"\t", place});
    }
  }
  return shown.empty() ? all : shown;
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
