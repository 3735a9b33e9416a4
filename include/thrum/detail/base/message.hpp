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

/// A text built without malloc. What does not fit into N characters is left out.
template <std::size_t N = 256>
class message {
 public:
  constexpr message() noexcept = default;
  constexpr explicit message(std::string_view text) noexcept { append(text); }

  constexpr message& append(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ == N) {
        break;
      }
      text_[size_++] = c;
    }
    return *this;
  }

  /// Appends a number in decimal.
  template <number Number>
  constexpr message& append(Number n) noexcept {
    const bool negative = n < 0;
    const auto magnitude = static_cast<std::uint64_t>(n);
    return append_digits(negative ? 0 - magnitude : magnitude, 10, negative ? "-" : "");
  }

  /// Appends a number in hexadecimal, with 0x in front.
  constexpr message& append_hex(std::uint64_t n) noexcept { return append_digits(n, 16, "0x"); }

  /// Appends an address.
  message& append(const void* address) noexcept {
    return append_hex(reinterpret_cast<std::uintptr_t>(address));
  }
  constexpr message& append(const char* text) noexcept { return append(std::string_view(text)); }

  /// Appends a text from outside, in quotes: what does not print as a question mark, of a long text
  /// the first 120 characters.
  constexpr message& append_quoted(std::string_view text) noexcept {
    constexpr std::size_t limit = 120;
    append("\"");
    for (const char c : text.substr(0, limit)) {
      const char shown = c < ' ' || c > '~' ? '?' : c;
      append(std::string_view(&shown, 1));
    }
    return append(text.size() > limit ? "...\"" : "\"");
  }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text_, size_}; }
  constexpr void clear() noexcept { size_ = 0; }

 private:
  constexpr message& append_digits(std::uint64_t n, unsigned radix,
                                   std::string_view prefix) noexcept {
    char digits[20] = {};
    std::size_t first = sizeof digits;
    do {
      digits[--first] = "0123456789abcdef"[n % radix];
      n /= radix;
    } while (n != 0);
    append(prefix);
    return append(std::string_view(digits + first, sizeof digits - first));
  }

  char text_[N] = {};
  std::size_t size_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_MESSAGE_HPP
