// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The errors that this library decides itself, as std::error_code.
//
// The system has a number for a connection that timed out, ETIMEDOUT: the peer does not answer any
// more. That a caller's own deadline has passed is something else, and another try may be worth it.
// So that has a code of its own, and equals the same std::errc.
#ifndef THRUM_ERRC_HPP
#define THRUM_ERRC_HPP

#include <thrum/detail/base/config.hpp>

#include <system_error>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI {

/// What an operation of this library may fail with, besides the system's errors.
enum class errc {
  /// The deadline or the time-out that the caller has set passed first. As a std::error_code it
  /// equals std::errc::timed_out; so does the system's own ETIMEDOUT, which does not equal this.
  deadline_exceeded = 1,
  /// A stream has ended in the middle of what was to be read from it.
  unexpected_end = 2,
};

/// The category of errc, called "thrum".
THRUM_OUT_OF_LINE const std::error_category& error_category() noexcept;

/// Makes `error == thrum::errc::deadline_exceeded` work.
inline std::error_code make_error_code(errc error) noexcept {
  return {static_cast<int>(error), error_category()};
}

}}  // namespace thrum::THRUM_ABI

template <>
struct std::is_error_code_enum<thrum::errc> : std::true_type {};

#if THRUM_BODIES
#include <thrum/detail/os/memory_parts.hpp>

#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

namespace base {

/// One for all shared objects of the process: categories are compared by their addresses.
class error_category_type final : public std::error_category {
 public:
  static constexpr std::string_view process_name = "base::error_category_type";

  const char* name() const noexcept override { return "thrum"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::deadline_exceeded: return "the deadline has passed";
      case errc::unexpected_end: return "the stream has ended too early";
    }
    return "unknown error";
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    return static_cast<errc>(value) == errc::deadline_exceeded
               ? std::make_error_condition(std::errc::timed_out)
               : std::error_condition(value, *this);
  }
};

}  // namespace base

THRUM_OUT_OF_LINE const std::error_category& error_category() noexcept {
  return os::process_wide<base::error_category_type>::get();
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif  // THRUM_ERRC_HPP
