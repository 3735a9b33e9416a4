// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/unwind_table.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_UNWIND_TABLE_DEFINITION_HPP
#define THRUM_OS_WINDOWS_UNWIND_TABLE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/code_image.hpp>
#include <thrum/os/windows/unwind_table.hpp>
#include <thrum/os/windows/unwind_table_aarch64_definition.hpp>  // IWYU pragma: export
#include <thrum/os/windows/unwind_table_x86_64_definition.hpp>   // IWYU pragma: export

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE bool find_code_file(std::uintptr_t address,
                                                     code_file& found) noexcept {
  code_image image;
  if (!find_code_image(address, image)) {
    return false;
  }
  found.low = image.low;
  found.high = image.high;
  found.index = image.unwind_table;
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
