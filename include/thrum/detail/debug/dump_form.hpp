// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a dump of goroutines shows.
#ifndef THRUM_DETAIL_DEBUG_DUMP_FORM_HPP
#define THRUM_DETAIL_DEBUG_DUMP_FORM_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// What dump_goroutines writes.
enum class dump_form : std::uint8_t {
  full,    ///< each goroutine with its callers
  counts,  ///< how many there are of each kind
};

}}  // namespace thrum::THRUM_ABI

#endif
