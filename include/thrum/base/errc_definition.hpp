// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What base/errc.hpp declares: the bodies that are not inlined.
#ifndef THRUM_BASE_ERRC_DEFINITION_HPP
#define THRUM_BASE_ERRC_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>

#include <atomic>
#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE const std::error_category& error_category() noexcept {
  class category final : public std::error_category {
   public:
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
  static const category the_category;
  // [errc.one <] acquire: the other object's category
  const auto* const first = base::error_category_of_process.load(std::memory_order_acquire);
  return first != nullptr ? *first : the_category;
}

}}  // namespace thrum::THRUM_ABI

#endif
