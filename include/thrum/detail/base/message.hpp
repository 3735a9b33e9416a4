// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Texts of messages, put together where nothing may allocate: in a signal handler, in a thread that
// holds malloc's lock, on a stack that has nearly overflowed.
#ifndef THRUM_DETAIL_BASE_MESSAGE_HPP
#define THRUM_DETAIL_BASE_MESSAGE_HPP

#include <thrum/detail/base/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// An integer that is meant as a number, not as a truth value or a letter.
template <class T>
concept number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/// Appends to texts of all sizes, so that a compiler has this once. Not inlined: each line of a report calls it
/// several times.
class message_end {
 protected:
  /// Appends what fits into `room` characters at `to`.
  THRUM_COLD void put(char* to, std::size_t room, std::string_view text) noexcept {
    for (std::size_t i = 0; i != text.size() && size_ != room; ++i) {
      to[size_++] = text[i];
    }
  }

  THRUM_COLD void put_number(char* to, std::size_t room, std::uint64_t n, unsigned radix,
                             std::string_view prefix) noexcept {
    char digits[20];
    std::size_t first = sizeof digits;
    do {
      digits[--first] = "0123456789abcdef"[n % radix];
      n /= radix;
    } while (n != 0);
    put(to, room, prefix);
    put(to, room, std::string_view(digits + first, sizeof digits - first));
  }

  /// Appends what does not print as a question mark, and the first 120 characters of a long text.
  THRUM_COLD void put_quoted(char* to, std::size_t room, std::string_view text) noexcept {
    constexpr std::size_t limit = 120;
    put(to, room, "\"");
    for (const char c : text.substr(0, limit)) {
      const char shown = c < ' ' || c > '~' ? '?' : c;
      put(to, room, std::string_view(&shown, 1));
    }
    put(to, room, text.size() > limit ? "...\"" : "\"");
  }

  std::size_t size_ = 0;
};

/// A text built without malloc. What does not fit into N characters is left out.
template <std::size_t N = 256>
class message : message_end {
 public:
  message() noexcept = default;
  explicit message(std::string_view text) noexcept { append(text); }
  explicit message(number auto n) noexcept { append(n); }

  message& append(std::string_view text) noexcept {
    put(text_, N, text);
    return *this;
  }
  message& append(const char* text) noexcept { return append(std::string_view(text)); }

  /// Appends a number in decimal.
  template <number Number>
  message& append(Number n) noexcept {
    const bool negative = n < 0;
    const auto magnitude = static_cast<std::uint64_t>(n);
    put_number(text_, N, negative ? 0 - magnitude : magnitude, 10, negative ? "-" : "");
    return *this;
  }

  /// Appends a number in hexadecimal, with 0x in front.
  message& append_hex(std::uint64_t n) noexcept {
    put_number(text_, N, n, 16, "0x");
    return *this;
  }

  /// Appends an address.
  message& append(const void* address) noexcept {
    return append_hex(reinterpret_cast<std::uintptr_t>(address));
  }

  /// Appends a text from outside, in quotes: what does not print as a question mark, of a long text
  /// the first 120 characters.
  message& append_quoted(std::string_view text) noexcept {
    put_quoted(text_, N, text);
    return *this;
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_, size_}; }
  void clear() noexcept { size_ = 0; }

 private:
  char text_[N] = {};
};

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_MESSAGE_HPP
