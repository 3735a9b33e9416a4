// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Writes messages of protobuf: traces and profiles have that form.
#ifndef THRUM_DETAIL_BASE_PROTOBUF_HPP
#define THRUM_DETAIL_BASE_PROTOBUF_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// One message of protobuf, in the making.
class message_writer {
 public:
  message_writer& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  message_writer& fixed(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    for (int i = 0; i != 8; ++i) {
      bytes_.push_back(static_cast<char>(value >> 8 * i & 0xFF));
    }
    return *this;
  }
  message_writer& text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  message_writer& message(std::uint32_t field, const message_writer& value) {
    return text(field, value.bytes_);
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_.push_back(static_cast<char>((value & 0x7F) | 0x80));
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}}}  // namespace thrum::THRUM_ABI::base

#endif
