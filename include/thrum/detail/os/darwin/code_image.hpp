// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A file of code, as far as reports read it, on macOS: not at all. dladdr reads the whole symbol table
// of an image, those names as well that it does not export.
#ifndef THRUM_DETAIL_OS_DARWIN_CODE_IMAGE_HPP
#define THRUM_DETAIL_OS_DARWIN_CODE_IMAGE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class code_image {
 public:
  explicit code_image(const char*) noexcept {}

  /// Empty: the loader would have known it.
  static std::string_view function_at(std::uintptr_t) noexcept { return {}; }
  /// Lines stand in a file of their own, which only the system's tools read.
  static bool has_lines() noexcept { return false; }
  static std::uintptr_t first_address() noexcept { return 0; }
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_CODE_IMAGE_HPP
