// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Lines of the source, which no tool of the system tells.
#ifndef THRUM_DETAIL_OS_WINDOWS_SOURCE_LINES_HPP
#define THRUM_DETAIL_OS_WINDOWS_SOURCE_LINES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

#if THRUM_OS_WINDOWS

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether reports are to name lines. Nothing reads it here.
inline constinit base::hint<bool> wants_source_lines{false};

/// How long one report may wait for all of its lines.
inline constinit base::hint<std::int64_t> source_lines_patience_ns{2'000'000'000};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_SOURCE_LINES_HPP
