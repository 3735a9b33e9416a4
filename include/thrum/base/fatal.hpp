// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Ends the program with one line on standard error, and asserts invariants by name.
//
// Nothing here allocates, locks or uses stdio: a report may come from a signal handler, from a
// thread that holds malloc's lock, or from a stack that has nearly overflowed.
#ifndef THRUM_BASE_FATAL_HPP
#define THRUM_BASE_FATAL_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <thrum/base/config.hpp>

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

/// Writes all of `text` to standard error; gives up on an error, since there is nowhere to report
/// it. May be called from a signal handler.
void write_error(std::string_view text) noexcept;

/// Prints "fatal error: thrum: MESSAGE" and aborts. May be called from anywhere, also from a signal
/// handler.
[[noreturn]] [[gnu::cold]] void fatal(std::string_view what) noexcept;

/// Reports an invariant that does not hold.
[[noreturn]] [[gnu::cold]] void invariant_failed(std::string_view name,
                                                 std::string_view condition) noexcept;

}}}  // namespace thrum::THRUM_ABI::base

/// THRUM_ASSERT(NAME, condition) states the invariant NAME of the file's head. With THRUM_CHECKS a
/// violation ends the program with the name and the condition; without, the condition is compiled
/// but not evaluated.
#if THRUM_CHECKS
#define THRUM_ASSERT(NAME, ...) \
  ((__VA_ARGS__) ? static_cast<void>(0) : ::thrum::base::invariant_failed(#NAME, #__VA_ARGS__))
#else
#define THRUM_ASSERT(NAME, ...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
#endif

#if !THRUM_SEPARATE
#include <thrum/base/fatal_definition.hpp>
#endif

#endif  // THRUM_BASE_FATAL_HPP
