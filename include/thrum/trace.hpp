// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// trace: a record of what the scheduler did, for ui.perfetto.dev and chrome://tracing.
//
//   // in every source file: -DTHRUM_TRACE=1
//   thrum::trace::start("run.json");
//   ...
//   thrum::trace::stop();
//
// THRUM_TRACE=1 is part of the library's inline namespace, so all files of a program agree or do not link together; without
// it this header still compiles, marks and regions do nothing, and start() throws.
//
// A file whose name ends with .json has Chrome's format, another one Perfetto's, which is shorter.
//
// While the recorder is on it keeps the last events of all threads, as many as its memory holds: it is a flight recorder.
// An M writes its events without a lock, an allocation or a wait. snapshot() writes what there is, and the
// record goes on.
#ifndef THRUM_TRACE_HPP
#define THRUM_TRACE_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace trace {

/// What a trace file holds.
struct summary {
  std::uint64_t events = 0;  ///< in the file
  std::uint64_t lost = 0;  ///< overwritten by newer ones, or without room, since the program began
};

/// A text that stays: made from a string literal alone.
class literal {
 public:
  /// Not at run time: the text is there as long as the program.
  template <std::size_t N>
  consteval literal(const char (&text)[N]) noexcept
      : text_(text, N - 1) {}  // not explicit: mark("x")

  /// The text.
  constexpr std::string_view view() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Begins to record, and keeps the last `bytes` of events. stop() writes them to `path`; an empty path keeps them
/// for snapshot() only. Before a panic, a deadlock or the crash of a goroutine ends the program, the events go to
/// `path`, too. Memory is taken at the first start, and stays. usage_error if the recorder is on, or the program is
/// compiled without THRUM_TRACE=1; std::system_error if there is no memory or the file cannot be written. One thread
/// at a time starts, stops or writes.
void start(std::string path = {}, std::size_t bytes = std::size_t{16} << 20);

/// Ends the record and writes the file. Does nothing if the recorder is off. std::system_error if the file cannot
/// be written. Blocks the thread, in blocking(), for as long as the writing takes.
summary stop();

/// Writes what the recorder has, and goes on recording. Does nothing if the recorder is off.
/// std::system_error and blocking as in stop().
summary snapshot(const std::string& path);

/// Whether the recorder is on.
bool is_on() noexcept;

/// Puts a mark on the calling goroutine's processor. Any thread; does nothing outside of a runtime.
void mark(literal name) noexcept;

/// A stretch of the calling goroutine's time, from its construction to its destruction. Several nest.
class region {
 public:
  /// Begins.
  explicit region(literal name) noexcept;
  region(const region&) = delete;
  region& operator=(const region&) = delete;
  /// Ends, in the goroutine that has begun it.
  ~region();

 private:
  [[maybe_unused]] literal name_;
};

/// A goroutine enters or leaves a thread: what the hook of on_switch() gets.
struct switch_step {
  /// What the goroutine does.
  enum class kind : std::uint8_t {
    enters,  ///< runs on the calling thread from now on
    leaves,  ///< waits, or lets others run
    ends,    ///< leaves for good
  };
  kind what;                ///< enters, leaves or ends
  std::uint64_t goroutine;  ///< its number in its runtime
  std::string_view name;    ///< empty: it has none
  std::string_view labels;  ///< as "path=/, user=7"; empty: it has none
  void*& own;  ///< a word that the hook may write; null when the goroutine first enters
};

/// A function that on_switch() takes. The views end with the call.
using switch_hook = void (*)(const switch_step& step) noexcept;

/// Makes every runtime call `hook` when a goroutine enters or leaves a thread: on that thread, each `enters`
/// followed by one `leaves` or `ends`. A goroutine that is in a blocking call stays on its thread. Null: no hook.
/// usage_error if there is a runtime, or the program is compiled without THRUM_TRACE=1.
///
/// The hook runs inside the scheduler, on the stack of a goroutine. So it must not throw, call the library, wait
/// for a goroutine or use much stack. It may allocate and take locks that are held for a moment: with a hook, goroutines are
/// not interrupted, as with preemption::cooperative. A process that ends by exit() calls it no more.
void on_switch(switch_hook hook);

}}}  // namespace thrum::THRUM_ABI::trace

#if THRUM_BODIES || !THRUM_TRACE
#include <thrum/detail/trace/trace_parts.hpp>  // IWYU pragma: keep: the bodies
#endif

#endif
