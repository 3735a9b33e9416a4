// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/wide_text.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_WIDE_TEXT_DEFINITION_HPP
#define THRUM_OS_WINDOWS_WIDE_TEXT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/result.hpp>
#include <thrum/os/windows/wide_text.hpp>

#include <cstddef>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE wide_text::wide_text(const char* utf8) noexcept {
  const auto convert = [&](wchar_t* to, int units) {
    return ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, to, units);
  };
  if (convert(own_, static_cast<int>(few)) != 0) {
    return;
  }
  const int needed = convert(nullptr, 0);
  own_[0] = L'\0';
  if (needed == 0) {
    error_ = invalid;
    return;
  }
  auto* const fresh = new (std::nothrow) wchar_t[static_cast<std::size_t>(needed)];
  if (fresh == nullptr) {
    error_ = no_memory;
    return;
  }
  text_ = fresh;
  convert(text_, needed);
}

THRUM_OUT_OF_LINE wide_text::~wide_text() {
  if (text_ != own_) {
    delete[] text_;
  }
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
