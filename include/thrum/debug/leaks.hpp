// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Leaks: the goroutines that wait for ever, because nothing that could wake them is left.
//
//   thrum::io::write_file("leaks.pb", thrum::debug::leak_profile());
//   $ go tool pprof -top leaks.pb
//
// Include it in the source files that call it: it is no part of <thrum.hpp> nor of <thrum/implementation.hpp>.
#ifndef THRUM_DEBUG_LEAKS_HPP
#define THRUM_DEBUG_LEAKS_HPP

#include <thrum/debug/profile.hpp>
#include <thrum/detail/base/config.hpp>

#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// Counts the goroutines of the caller's runtime that certainly wait for ever: for the nil channel; or for a channel, a
/// mutex, a wait_group or another object of the library that no thread and no other goroutine can reach any more. Samples
/// are those of goroutine_profile.
///
/// A goroutine is counted if no word of the process's memory leads to its stack or to its channel, but words on the stacks of
/// such goroutines. All threads stop while all memory is read: see docs/limits.md. A real-time signal stops them, so a
/// system call of other code may return EINTR. A word that a dead handle has left behind hides a leak. It
/// never makes one, unless the program hides the only pointer to a channel: as a sum, a difference, in a file.
///
/// Only Linux shows all memory, and not beside a sanitizer. Elsewhere, and where a thread does not stop within 0.2 s, only waits
/// for nothing are counted; a comment in the profile says so.
///
/// usage_error outside of a goroutine; std::system_error if there is no memory. Then the thread asks for source lines,
/// inside blocking(), for 2 s at most. Not inside a section or a handler of a signal.
inline std::string leak_profile(profile_form form = profile_form::pprof);

}}}  // namespace thrum::THRUM_ABI::debug

#include <thrum/detail/profile/leak_parts.hpp>  // IWYU pragma: keep: the bodies

#endif
