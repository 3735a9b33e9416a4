// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the caller's registers are found at a place in the code: the tables that the system unwinds by,
// told in the words of DWARF's call-frame information, which the walk along a stack understands
// (sched/freeze/frame_walk.hpp).
//
// A function's entry lists what its prologue does, each step with the place behind it. At a place in the
// body all of that has been done, and the rules follow: where the frame lies from a register on, and
// where below it the registers do. In an epilogue, where some of it has been undone, they are wrong; the
// walk checks each step, and says less then.
//
// The unwinder of the system may not be called where a thread stands still: it may take locks, and
// believes what it reads from the stack. This takes no lock and reads the image alone.
#ifndef THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_HPP
#define THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/unwind_entry.hpp>  // IWYU pragma: export

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nothing to do: images can be asked for at any time.
inline void prepare_walks() noexcept {}

/// The file that holds an address; false if none is known to. For handlers, too.
bool find_code_file(std::uintptr_t address, code_file& found) noexcept;

/// What is written down about the function that holds an address; false if nothing is.
bool find_unwind_entry(std::uintptr_t address, const code_file& file, unwind_entry& entry) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/code_image.hpp>
#include <thrum/detail/os/windows/unwind_table_x86_64.hpp>  // IWYU pragma: export

#include <cstring>

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

#if THRUM_ARCH_AARCH64_WIN64
// Without the tables of aarch64: the calling convention wants each
// function that calls another one to keep a chain of frames, which x29 begins. A frame is two words, the
// caller's x29 and where the function returns to. So a walk finds all functions that stand in a call; of an
// interrupted one that keeps no frame, or not yet, it leaves out the caller.
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
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_HPP
