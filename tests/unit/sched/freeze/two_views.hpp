// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers of one place as the unwinder of exceptions sees them, and as the walk along stacks does.
#ifndef THRUM_TESTS_UNIT_SCHED_FREEZE_TWO_VIEWS_HPP
#define THRUM_TESTS_UNIT_SCHED_FREEZE_TWO_VIEWS_HPP

#include "support/process.hpp"

#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace support {

using thrum::os::call_stack;
using thrum::sched::stack_bounds;

inline stack_bounds bounds_of_this_thread() {
  const void* low = nullptr;
  std::size_t bytes = 0;
  this_stack(low, bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {begin, begin + bytes};
}

inline bool walk_names(const call_stack& callers, std::string_view function) {
  thrum::os::symbolizer symbols;
  return thrum::debug::describe_callers(symbols, callers.frames, callers.size).find(function) !=
         std::string::npos;
}

/// The callers of one place, by the unwinder of exceptions and by the walk.
struct two_views {
  call_stack unwound;
  call_stack walked;
};

[[gnu::noinline]] inline void walk_from_here(two_views& views) {
  thrum::os::collect_callers(views.unwound, 0);
  void* sp = nullptr;
  struct call {
    void** sp;
    call_stack& to;
  } own{&sp, views.walked};
  thrum::arch::call_as_parked(
      &sp,
      [](void* argument) {
        auto& c = *static_cast<call*>(argument);
        thrum::sched::walk_parked(*c.sp, bounds_of_this_thread(), c.to);
      },
      &own);
  asm volatile("");
}

template <int Depth>
[[gnu::noinline]] int walk_with_much_on_the_stack(two_views& views, int n) {
  volatile char fill[Depth * 40 + 8] = {};
  fill[n % 7] = 1;
  if constexpr (Depth == 0) {
    walk_from_here(views);
  } else {
    n += walk_with_much_on_the_stack<Depth - 1>(views, n + fill[3]);
  }
  return n + fill[n % 7];
}

inline std::vector<const void*> all_but_innermost(const call_stack& callers) {
  return std::vector<const void*>(callers.frames + 1, callers.frames + callers.size);
}

/// Whether both name the same. The walk may name one more, the outermost, for which musl has no
/// table.
inline bool agree(const two_views& views) {
  std::vector<const void*> walked = all_but_innermost(views.walked);
  const std::vector<const void*> unwound = all_but_innermost(views.unwound);
#if !defined(__GLIBC__)
  if (walked.size() == unwound.size() + 1) {
    walked.pop_back();
  }
#endif
  return walked == unwound;
}

}  // namespace support

#endif
