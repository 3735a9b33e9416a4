// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is said when a goroutine has used up its stack.
#ifndef THRUM_DETAIL_DEBUG_OVERFLOW_REPORT_HPP
#define THRUM_DETAIL_DEBUG_OVERFLOW_REPORT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/stack/stack_pool.hpp>

#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// Whether an address lies in the guard below the stack of a goroutine.
[[gnu::cold]] inline bool is_in_guard(const sched::goroutine& g, const void* address) noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(g.stack_low);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at < end && at >= end - g.pool->guard_bytes();
}

/// No malloc: this may be the handler of a fault.
[[gnu::cold]] inline void write_overflow(const sched::goroutine& g, std::string_view how) noexcept {
  base::message<1024> text("fatal error: thrum: stack overflow in goroutine ");
  text.append(g.id);
  if (g.name[0] != '\0') {
    text.append(" [").append(std::string_view(g.name)).append("]");
  }
  text.append(": its stack of ").append(std::uint64_t{1} << g.size_class);
  text.append(" bytes is used up").append(how);
  text.append(g.size_class < sched::max_stack_class
                  ? "; raise options::stack_size, or attributes::stack_size for this goroutine\n"
                  : ", and no stack can be larger; recurse less deeply, and put large arrays on "
                    "the heap\n");
  base::write_error(text.view());  // first: the name is looked for in a file
  text.clear();
  text.append("\tstarted in ");
  os::append_address(text, starting_call(g));
  text.append("\n");
  base::write_error(text.view());
}

inline constexpr std::string_view by_a_large_frame =
    " by a frame that is larger than the guard below it, and other goroutines' stacks may have "
    "been written to";

/// Reports an overflow from the handler of a fault, on the signal stack of its thread. False: the fault
/// is another one.
[[gnu::cold]] inline bool report_overflow(const sched::goroutine& g,
                                          const os::fault& what) noexcept {
  if (is_in_guard(g, what.address)) {
    write_overflow(g, "");
  } else if (sched::is_beyond_stack(g, what.stack_pointer) && g.pool->holds(what.stack_pointer)) {
    write_overflow(g, by_a_large_frame);
  } else {
    return false;
  }
  return true;
}

/// A goroutine has left the processor from a stack that is another's.
[[noreturn]] inline void report_overrun(const void* g) noexcept {
  write_overflow(*static_cast<const sched::goroutine*>(g), by_a_large_frame);
  base::abort_reported();
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
