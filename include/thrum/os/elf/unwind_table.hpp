// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the compiler has written down about each place in the code: how its caller's registers are
// found. Tables of call-frame information, as ELF files carry them for exceptions.
//
// The unwinder of exceptions reads the same tables, but it may not be called where somebody has
// been interrupted or stands still: it takes locks that may be held there, and it believes what it
// reads from the stack. So here is a reader that takes no lock, calls nothing but
// _dl_find_object, which is made for handlers, and does not leave the file that holds the code. Where there
// is no such call it knows the files that the process began with.
//
// Sources: the DWARF 5 standard, 6.4; the Linux Standard Base, Exception Frames.
#ifndef THRUM_OS_ELF_UNWIND_TABLE_HPP
#define THRUM_OS_ELF_UNWIND_TABLE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_ELF

#include <thrum/os/unwind_entry.hpp>  // IWYU pragma: export

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <link.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The files that the process began with, as far as there is room; they stay. For C libraries that
/// cannot be asked in a handler: with those, what is loaded later is not walked through.
struct first_code_files {
  static constexpr std::size_t capacity = 128;
  code_file files[capacity];
  std::atomic<std::size_t> size{0};
  std::atomic<bool> begun{false};

  /// Once, early. Takes the lock of the loader.
  void remember() noexcept;

  bool find(std::uintptr_t address, code_file& found) const noexcept;

 private:
  void add(const ::dl_phdr_info& info) noexcept;
};

inline constinit first_code_files code_files_at_start;

/// Before the first walk, outside of handlers.
THRUM_OUT_OF_LINE void prepare_walks() noexcept;

/// The file that holds an address; false if none is known to. For handlers, too.
THRUM_OUT_OF_LINE bool find_code_file(std::uintptr_t address, code_file& found) noexcept;

/// What is written down about the function that holds an address; false if nothing is.
THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address, const code_file& file,
                                         unwind_entry& entry) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/elf/unwind_table_definition.hpp>
#endif

#endif  // THRUM_OS_ELF
#endif  // THRUM_OS_ELF_UNWIND_TABLE_HPP
