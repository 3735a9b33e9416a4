// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Profiles: where the goroutines of a program are, and where it computes, for `go tool pprof` and for flame graphs.
//
//   thrum::io::write_file("goroutines.pb", thrum::debug::goroutine_profile());
//   $ go tool pprof -top goroutines.pb
//
// Include it in the source files that call it: it is no part of <thrum.hpp> nor of <thrum/implementation.hpp>.
#ifndef THRUM_DEBUG_PROFILE_HPP
#define THRUM_DEBUG_PROFILE_HPP

#include <thrum/detail/base/config.hpp>

#include <chrono>
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
/// (where), and the goroutine's own labels (label_scope). Not inside a section or a handler of a signal.
inline std::string goroutine_profile(profile_form form = profile_form::pprof);

/// Begins to note where the threads of all runtimes compute: `rate` samples for a second of each thread's CPU time, but no more than
/// the kernel has ticks. New threads take part within 10 ms.
///
/// Each thread has a timer, whose signal is a real-time signal that the program does not handle; SIGPROF stays the program's. usage_error: a profile is
/// being made, or the rate is not between 1 and 10,000. std::system_error: not supported on this system (only
/// Linux, without ThreadSanitizer), or the program handles each real-time signal. Threads of hosts
/// (runtime::poll) are left out. One thread at a time begins and ends. Not inside a section or a handler of a signal.
inline void start_cpu_profile(unsigned rate = 100);

/// Ends what start_cpu_profile began and returns the profile: the samples and the CPU time at each stack, with the labels `name`
/// and `started` (where) of the goroutine, and its own. `state` is "scheduler" if there was none, and "dropped" for samples without
/// room. Asks the system's tool for source lines, inside blocking(), for 2 s at most. usage_error: no profile is being made.
inline std::string stop_cpu_profile(profile_form form = profile_form::pprof);

/// A CPU profile of so long a time from now on. Blocks the thread, inside blocking(). Errors as start_cpu_profile.
inline std::string cpu_profile(std::chrono::nanoseconds duration,
                               profile_form form = profile_form::pprof);

}}}  // namespace thrum::THRUM_ABI::debug

#include <thrum/detail/profile/profile_parts.hpp>  // IWYU pragma: keep: the bodies

#endif
