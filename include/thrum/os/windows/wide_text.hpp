// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A text as the system takes it: 16 bits a unit.
#ifndef THRUM_OS_WINDOWS_WIDE_TEXT_HPP
#define THRUM_OS_WINDOWS_WIDE_TEXT_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/result.hpp>

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

#if !THRUM_SEPARATE
#include <thrum/os/windows/wide_text_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_WIDE_TEXT_HPP
