// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What base/fatal.hpp declares: the bodies that are not inlined.
#ifndef THRUM_BASE_FATAL_DEFINITION_HPP
#define THRUM_BASE_FATAL_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/message.hpp>
#include <thrum/base/stderr.hpp>

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace base {

THRUM_NOINLINE THRUM_OUT_OF_LINE void write_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::ptrdiff_t written = write_to_standard_error(text.data(), text.size());
    if (written <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void fatal(std::string_view what) noexcept {
  constexpr std::size_t limit = 1024;
  message<limit> line("fatal error: thrum: ");
  line.append(what.substr(0, limit - line.view().size() - 1)).append("\n");
  write_error(line.view());
  std::abort();
}

THRUM_COLD THRUM_OUT_OF_LINE void invariant_failed(std::string_view name,
                                                   std::string_view condition) noexcept {
  message<512> text("invariant ");
  text.append(name).append(" does not hold: ").append(condition);
  fatal(text.view());
}

}}}  // namespace thrum::THRUM_ABI::base

#endif
