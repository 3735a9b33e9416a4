// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A text as the system takes it: 16 bits a unit.
#ifndef THRUM_DETAIL_OS_WINDOWS_WIDE_TEXT_HPP
#define THRUM_DETAIL_OS_WINDOWS_WIDE_TEXT_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Made of UTF-8; of longer ones on the heap.
class wide_text {
 public:
  explicit wide_text(const char* utf8) noexcept;
  ~wide_text();
  wide_text(const wide_text&) = delete;
  wide_text& operator=(const wide_text&) = delete;

  /// 0; no_memory; or `invalid` where it is no UTF-8.
  io_result error() const noexcept { return error_; }
  const wchar_t* c_str() const noexcept { return text_; }
  wchar_t* data() noexcept { return text_; }

 private:
  static constexpr std::size_t few = 264;
  io_result error_ = 0;
  wchar_t* text_ = own_;
  wchar_t own_[few];
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

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
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_WIDE_TEXT_HPP
