// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the compiler has written down about each place in the code: how its caller's registers are
// found. Tables of call-frame information, as ELF files carry them for exceptions.
//
// The unwinder of exceptions reads the same tables, but it may not be called where somebody has
// been interrupted or stands still: it takes locks that may be held there, and it believes what it
// reads from the stack. So here is a reader that takes no lock, calls nothing but
// _dl_find_object, which is made for handlers, and does not leave the file that holds the code.
//
// Sources: the DWARF 5 standard, 6.4; the Linux Standard Base, Exception Frames.
#ifndef THRUM_OS_LINUX_UNWIND_TABLE_HPP
#define THRUM_OS_LINUX_UNWIND_TABLE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <link.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A file of code in memory.
struct code_file {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::uintptr_t index = 0;  // of its call-frame information, sorted by address; 0: none
};

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

/// Reads bytes between two addresses; what lies outside is read as zero, and noted.
class byte_reader {
 public:
  constexpr byte_reader() noexcept = default;
  byte_reader(std::uintptr_t at, std::uintptr_t end) noexcept : at_(at), end_(end) {}

  std::uintptr_t at() const noexcept { return at_; }
  std::uintptr_t end() const noexcept { return end_; }
  bool failed() const noexcept { return failed_; }
  bool at_end() const noexcept { return failed_ || at_ >= end_; }

  template <class T>
  T read() noexcept {
    T value{};
    if (end_ < at_ || end_ - at_ < sizeof(T)) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  void skip(std::uint64_t bytes) noexcept;

  std::uint64_t unsigned_number() noexcept;

  std::int64_t signed_number() noexcept;

  /// A pointer in one of the forms that the low seven bits of `form` name.
  std::uintptr_t pointer(std::uint8_t form, bool is_length = false) noexcept;

 private:
  std::uintptr_t at_ = 0;
  std::uintptr_t end_ = 0;
  bool failed_ = false;
};

/// What is written down about one function.
struct unwind_entry {
  byte_reader common;  // instructions that it shares with others
  byte_reader own;     // its own, behind those
  std::uintptr_t begin = 0;
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint64_t return_column = 0;
  std::uint8_t pointer_form = 0;
  bool has_details = false;
  bool is_signal = false;  // where the handler of a signal returns to: its caller was interrupted
};

/// What is written down about the function that holds an address; false if nothing is.
THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address, const code_file& file,
                                         unwind_entry& entry) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/unwind_table_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_UNWIND_TABLE_HPP
