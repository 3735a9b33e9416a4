// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What may be said about a goroutine before it starts.
#ifndef THRUM_ATTRIBUTES_HPP
#define THRUM_ATTRIBUTES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g_state.hpp>

#include <cstddef>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

class runtime;

/// For `go(attributes{.stack_size = 65536, .name = "loader"}, f)`.
struct attributes {
  /// Bytes of stack, rounded up to a power of two between 16 KiB and 1 GiB; 0: the runtime's. A smaller one
  /// saves address space and page tables: what is parked keeps a page, however small its stack.
  std::size_t stack_size = 0;
  /// Shown in reports and dumps; the first 23 characters are kept.
  std::string_view name = {};
  /// How urgent it is. Not inherited: what a background goroutine starts is normal unless it says so. Without
  /// effect on one that is bound to a host (on_host).
  thrum::priority priority = thrum::priority::normal;
  /// Where it runs; null: the caller's runtime. runtime::go and runtime::spawn take their own.
  thrum::runtime* runtime = nullptr;
  /// Whether it runs on the host's thread only: see thrum::on_host.
  bool on_host = false;
};

}}  // namespace thrum::THRUM_ABI

#endif
