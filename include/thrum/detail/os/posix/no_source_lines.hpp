// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Lines of the source in reports: none. What Linux does to ask a tool unseen by the program
// (os/linux/source_lines.hpp) takes a child that sends no SIGCHLD and shares our memory.
#ifndef THRUM_DETAIL_OS_POSIX_NO_SOURCE_LINES_HPP
#define THRUM_DETAIL_OS_POSIX_NO_SOURCE_LINES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

#if THRUM_OS_BSD || THRUM_OS_ANDROID

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Without effect, as the next one.
inline constinit base::hint<bool> wants_source_lines{true};
inline constinit base::hint<std::int64_t> source_lines_patience_ns{2'000'000'000};

struct line_tool {
  std::string path;
};

/// Without a path: there is none.
inline line_tool find_line_tool() { return {}; }

inline std::vector<std::string> ask_for_lines(const line_tool&, const std::string&,
                                              const std::vector<std::uintptr_t>& places,
                                              std::int64_t, bool&) {
  return std::vector<std::string>(places.size());
}

/// There is none.
inline bool is_foreign_source(std::string_view) noexcept { return true; }

/// Knows no names and no lines.
class bare_places {
 public:
  void add(const void*) noexcept {}
  void ask() noexcept {}
  std::string_view function_at(const void*) const noexcept { return {}; }
  std::string_view line_of(const void*) const noexcept { return {}; }
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD || THRUM_OS_ANDROID
#endif  // THRUM_DETAIL_OS_POSIX_NO_SOURCE_LINES_HPP
