// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a runtime is to be made, and what the environment says about it.
#ifndef THRUM_OPTIONS_HPP
#define THRUM_OPTIONS_HPP

#include <thrum/base/config.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/g.hpp>
#include <thrum/sched/traits.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

namespace thrum::inline THRUM_ABI {

/// How a goroutine is made to give up its processor when its time slice is over.
enum class preemption {
  none,         ///< not at all: it runs until it blocks or yields
  cooperative,  ///< at its next call into the library, or at this_goroutine::preemption_point()
  async,        ///< wherever it is, where the platform can; elsewhere as cooperative
};

/// How many processors to use: the CPUs that this process may run on, but no more than the cgroup's
/// CPU quota rounded up, and at least 1.
inline unsigned default_procs() noexcept { return os::available_processors(); }

/// The settings of a runtime. Members that are left alone mean what the comments say.
struct options {
  /// Number of P; 0: what THRUM_MAXPROCS says, else default_procs().
  unsigned procs = 0;
  /// Most OS threads; one more is a fatal error that says so.
  unsigned max_threads = 10'000;
  /// Bytes of stack reserved per goroutine, rounded up to a power of two of at least 16 KiB. Pages
  /// are committed as they are touched.
  std::size_t stack_size = 256 * 1024;
  /// How long a goroutine may run while others wait before it is asked to yield.
  std::chrono::nanoseconds time_slice = std::chrono::milliseconds(10);
  preemption preempt = preemption::async;
  /// The period of the line of figures on standard error; 0: off.
  std::chrono::milliseconds schedtrace{0};
  /// Adds the P, M and G lines to it.
  bool scheddetail = false;
  /// Writes all goroutines to standard error on SIGQUIT, and goes on. One runtime of a process.
  bool dump_on_quit = false;
  /// Reports, once, each goroutine that has been blocked for so long; 0: none.
  std::chrono::seconds report_blocked{0};
  /// Reports each goroutine that has kept its processor for so many time slices while others
  /// waited; 0: none.
  unsigned report_hogs = 0;
  /// Ends the program with a report when no goroutine of run() can ever run again.
  bool detect_deadlock = true;
  /// OS threads are called name/0, name/1, ..., name/sysmon. At most 11 characters are used.
  std::string name = "thrum";
  /// Called on each thread of the runtime, first and last; the argument is the thread's number.
  std::function<void(unsigned m)> on_thread_start = {};
  std::function<void(unsigned m)> on_thread_stop = {};
  /// Called on the goroutine that an exception has left. Empty: report it and abort.
  std::function<void(std::exception_ptr, goroutine_id)> on_panic = {};

  /// The defaults, changed by THRUM_MAXPROCS=n and THRUM_DEBUG=key=value,... with the keys
  /// schedtrace (milliseconds), scheddetail (0 or 1), asyncpreemptoff (0 or 1), dump (0 or 1),
  /// blocked (seconds) and hogs (time slices). What cannot be understood is ignored.
  static options from_environment();
};

namespace sched {

/// A number from text; `otherwise` if the text is not one.
template <class Number>
Number parse_number(std::string_view text, Number otherwise) noexcept {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : otherwise;
}

inline unsigned procs_from_environment() noexcept {
  const char* const text = std::getenv("THRUM_MAXPROCS");
  const unsigned n = text == nullptr ? 0 : parse_number<unsigned>(text, 0);
  return n < default_traits::max_procs ? n : default_traits::max_procs;
}

}  // namespace sched

inline options options::from_environment() {
  options result;
  result.procs = sched::procs_from_environment();
  const char* const debug = std::getenv("THRUM_DEBUG");
  std::string_view rest = debug == nullptr ? "" : debug;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view key = item.substr(0, equals);
    const auto value = sched::parse_number<unsigned>(item.substr(equals + 1), 0);
    if (key == "schedtrace") {
      result.schedtrace = std::chrono::milliseconds(value);
    } else if (key == "scheddetail") {
      result.scheddetail = value != 0;
    } else if (key == "dump") {
      result.dump_on_quit = value != 0;
    } else if (key == "blocked") {
      result.report_blocked = std::chrono::seconds(value);
    } else if (key == "hogs") {
      result.report_hogs = value;
    } else if (key == "asyncpreemptoff" && value != 0) {
      result.preempt = preemption::cooperative;
    }
  }
  return result;
}

}  // namespace thrum::inline THRUM_ABI

#endif
