// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/unwind_table.hpp declares, without the tables of aarch64: the calling convention wants each
// function that calls another one to keep a chain of frames, which x29 begins. A frame is two words, the
// caller's x29 and where the function returns to. So a walk finds all functions that stand in a call; of an
// interrupted one that keeps no frame, or not yet, it leaves out the caller.
#ifndef THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_AARCH64_HPP
#define THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_AARCH64_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_ARCH_AARCH64_WIN64

#include <thrum/detail/os/windows/code_image.hpp>
#include <thrum/detail/os/windows/unwind_table.hpp>

#include <cstdint>
#include <cstring>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address,
                                                        const code_file& file,
                                                        unwind_entry& entry) noexcept {
  code_image image;
  if (file.index == 0 || !find_code_image(address, image)) {
    return false;
  }
  // In DWARF's words: the frame lies 16 bytes above x29; x29 and x30 lie 16 and 8 below it.
  constexpr std::uint8_t rules[] = {0x0c, 29, 16, 0x11, 29, 0x70, 0x11, 30, 0x78};
  std::memcpy(entry.room, rules, sizeof rules);
  const auto begin = reinterpret_cast<std::uintptr_t>(entry.room);
  entry.common = byte_reader(begin, begin);
  entry.own = byte_reader(begin, begin + sizeof rules);
  entry.begin = address;
  entry.return_column = 30;
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_ARCH_AARCH64_WIN64
#endif
