// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is said when a goroutine has used up its stack.
#ifndef THRUM_DEBUG_OVERFLOW_REPORT_HPP
#define THRUM_DEBUG_OVERFLOW_REPORT_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/current.hpp>

#include <cstdint>
#include <string_view>

namespace thrum::inline THRUM_ABI::debug {

/// Whether an address lies in the guard below the stack of a goroutine.
template <class Traits>
bool is_in_guard(const sched::basic_g<Traits>& g, const void* address) noexcept {
  const auto slot_bytes = std::uintptr_t{1} << g.size_class;
  const auto low = reinterpret_cast<std::uintptr_t>(&g) & ~(slot_bytes - 1);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= low && at < reinterpret_cast<std::uintptr_t>(g.stack_low);
}

/// In the handler of a fault, on the signal stack of its thread: no malloc.
template <class Traits>
void report_overflow(const void* address) noexcept {
  const sched::basic_m<Traits>* const m = sched::current_m<Traits>();
  if (m == nullptr || m->g == nullptr || !is_in_guard(*m->g, address)) {
    return;
  }
  const sched::basic_g<Traits>& g = *m->g;
  base::message<1024> text("fatal error: thrum: stack overflow in goroutine ");
  text.append(g.id);
  if (g.name[0] != '\0') {
    text.append(" [").append(std::string_view(g.name)).append("]");
  }
  text.append(": its stack of ").append(std::uint64_t{1} << g.size_class);
  text.append(" bytes is used up; raise options::stack_size, or attributes::stack_size for this ");
  text.append("goroutine\n\tstarted in ");
  os::append_address(text, g.started_at);
  text.append("\n");
  base::write_error(text.view());
}

}  // namespace thrum::inline THRUM_ABI::debug

#endif
