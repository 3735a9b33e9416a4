// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The files of code in memory, as the loader has put them there: without a lock, for handlers, too.
#ifndef THRUM_OS_WINDOWS_CODE_IMAGE_HPP
#define THRUM_OS_WINDOWS_CODE_IMAGE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A program or a library (DLL) in memory.
struct code_image {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::uintptr_t unwind_table = 0;  // entries of twelve bytes, sorted by address
  std::uint32_t unwind_entries = 0;
};

/// The one that holds an address; false if none does. Takes no lock.
bool find_code_image(std::uintptr_t address, code_image& found) noexcept;

/// What that exports at an address or before it, nearest first; empty if nothing.
std::string_view exported_name(const code_image& image, std::uintptr_t address) noexcept;

/// The path of its file, UTF-8, without a zero at the end; empty if it is longer than `most`.
std::string_view path_of(const code_image& image, char* to, std::size_t most) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/code_image_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_CODE_IMAGE_HPP
