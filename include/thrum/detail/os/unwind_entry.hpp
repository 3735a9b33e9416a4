// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Call-frame information as all systems that have it write it down, and its reader: how the registers
// of a caller are found. Where it stands is the system's: unwind_table.hpp of its folder.
//
// Source: the DWARF 5 standard, 6.4.
#ifndef THRUM_DETAIL_OS_UNWIND_ENTRY_HPP
#define THRUM_DETAIL_OS_UNWIND_ENTRY_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A file of code in memory.
struct code_file {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::uintptr_t index = 0;  // of its call-frame information, sorted by address; 0: none
};

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

  /// Room for `own` where a system has other tables, which are translated into these instructions. Then
  /// the entry is not moved.
  static constexpr std::size_t room_bytes = 160;
  std::uint8_t room[room_bytes];
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE void byte_reader::skip(std::uint64_t bytes) noexcept {
  if (end_ < at_ || end_ - at_ < bytes) {
    failed_ = true;
    return;
  }
  at_ += base::convert<std::uintptr_t>(bytes);
}

THRUM_OUT_OF_LINE std::uint64_t byte_reader::unsigned_number() noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = read<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) {
      return value;
    }
  }
  failed_ = true;
  return 0;
}

THRUM_OUT_OF_LINE std::int64_t byte_reader::signed_number() noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = read<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) {
      const unsigned bits = shift + 7;
      const bool negative = (byte & 0x40U) != 0 && bits < 64;
      return static_cast<std::int64_t>(negative ? value | (~std::uint64_t{0} << bits) : value);
    }
  }
  failed_ = true;
  return 0;
}

THRUM_OUT_OF_LINE std::uintptr_t byte_reader::pointer(std::uint8_t form, bool is_length) noexcept {
  const std::uintptr_t here = at_;
  std::uint64_t value = 0;
  switch (form & 0x0FU) {
    // NOLINTNEXTLINE(bugprone-branch-clone): a word has as many bits as the processor says
    case 0x00: value = read<std::uintptr_t>(); break;
    case 0x04:
    case 0x0C: value = read<std::uint64_t>(); break;
    case 0x01: value = unsigned_number(); break;
    case 0x02: value = read<std::uint16_t>(); break;
    case 0x03: value = read<std::uint32_t>(); break;
    case 0x09: value = static_cast<std::uint64_t>(signed_number()); break;
    case 0x0A: value = static_cast<std::uint64_t>(std::int64_t{read<std::int16_t>()}); break;
    case 0x0B: value = static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>()}); break;
    default: failed_ = true; return 0;
  }
  const auto word = base::convert<std::uintptr_t>(value);
  if (is_length) {
    return word;
  }
  switch (form & 0x70U) {
    case 0x00: return word;
    case 0x10: return here + word;  // relative to where it stands
    default: failed_ = true; return 0;
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_DETAIL_OS_UNWIND_ENTRY_HPP
