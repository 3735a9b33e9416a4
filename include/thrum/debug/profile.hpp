// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Profiles: where the goroutines of a program are, for `go tool pprof` and for flame graphs.
//
//   thrum::io::write_file("goroutines.pb", thrum::debug::goroutine_profile());
//   $ go tool pprof -top goroutines.pb
//
// Include it in the source files that call it: it is no part of <thrum.hpp> nor of <thrum/implementation.hpp>.
#ifndef THRUM_DEBUG_PROFILE_HPP
#define THRUM_DEBUG_PROFILE_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>
#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// What a profile is written as.
enum class profile_form : std::uint8_t {
  pprof,   ///< the protobuf of `go tool pprof`, not compressed
  folded,  ///< a line for each stack, as programs that draw flame graphs read it
};

/// Counts the goroutines of the caller's runtime by state and callers: how many there are, and for how many
/// milliseconds they have waited so far, in sum. Outside of a goroutine: those of all runtimes.
///
/// Each goroutine stops for a moment, as for dump_goroutines. Then the calling thread asks the system's tool for source
/// lines, inside blocking(), for 2 s at most. Labels of a sample: `state` (what it waits for), `name`, and `started`
/// (where). Not inside a section or a handler of a signal.
inline std::string goroutine_profile(profile_form form = profile_form::pprof);

}}}  // namespace thrum::THRUM_ABI::debug

#include <thrum/detail/profile/profile_parts.hpp>  // IWYU pragma: keep: the bodies

#endif
