// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/unwind_entry.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_UNWIND_ENTRY_DEFINITION_HPP
#define THRUM_OS_UNWIND_ENTRY_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/convert.hpp>
#include <thrum/os/unwind_entry.hpp>

#include <cstdint>

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
