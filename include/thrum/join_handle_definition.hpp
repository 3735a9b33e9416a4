// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What join_handle.hpp declares: the bodies that are not inlined.
#ifndef THRUM_JOIN_HANDLE_DEFINITION_HPP
#define THRUM_JOIN_HANDLE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_EXCEPTIONS

#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/debug/panic_report.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/os/os.hpp>

#include <atomic>
#include <exception>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

struct lost_exceptions {
  static constexpr std::string_view process_name = "go_detail::lost_exceptions";
  std::atomic<bool> is_told{false};
};

THRUM_COLD THRUM_OUT_OF_LINE void report_lost(const goroutine& g,
                                              const std::exception_ptr& error) noexcept {
  // relaxed: one says it
  if (os::process_wide<lost_exceptions>::get().is_told.exchange(true, relaxed)) {
    return;
  }
  try {
    debug::exception_text exception;
    try {
      std::rethrow_exception(error);
    } catch (...) {
      exception = debug::describe_current_exception();
    }
    std::string text = "thrum: spawn: the exception that left goroutine " + std::to_string(g.id);
    if (g.name[0] != '\0') {
      text.append(" [").append(g.name).append("]");
    }
    text.append(" was dropped with its join_handle: ").append(exception.what).append(" (type ");
    text.append(exception.type).append("), started in ").append(os::describe_address(g.started_at));
    base::write_error(text.append("; join() the handle, or catch it in the goroutine\n"));
  } catch (...) {
    // without memory it is not said
  }
}

}}}  // namespace thrum::THRUM_ABI::go_detail

#endif  // THRUM_EXCEPTIONS
#endif
