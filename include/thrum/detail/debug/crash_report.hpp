// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is said when a signal ends the program.
//
// The handler runs on the signal stack of its thread, perhaps inside of malloc, perhaps on a heap that is
// written over. So nothing here allocates. Names and lines come from the loader's tables, from the file of
// the program, and from a tool that runs in another process (os/linux/source_lines.hpp). What is sure is
// written first: a fault inside of the handler ends the program at once, with what was written so far.
//
// Other goroutines run on while the report is made, so their callers are not in it.
#ifndef THRUM_DETAIL_DEBUG_CRASH_REPORT_HPP
#define THRUM_DETAIL_DEBUG_CRASH_REPORT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/debug/overflow_report.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>
#include <thrum/detail/sched/run/inherit_labels.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

/// One thread reports. Another one that crashes meanwhile waits: the end of the process ends it.
struct crash_handling {
  static constexpr std::string_view process_name = "debug::crash_handling";
  std::atomic<bool> is_reporting{false};
  std::atomic<bool> is_wanted{false};
};

/// Writes the report of one crash.
class crash_report {
 public:
  explicit crash_report(const os::fault& what) noexcept : what_(what) {}

  /// The thread runs no goroutine.
  THRUM_COLD void write_foreign() noexcept {
    say_head("on a thread that runs no goroutine");
    write();
  }

  THRUM_COLD void write_goroutine(const sched::goroutine& g) noexcept {
    say_head("in goroutine ");
    text_.append(g.id);
    if (g.name[0] != '\0') {
      text_.append(" [").append(std::string_view(g.name)).append("]");
    }
    if (g.labels != nullptr) {
      text_.append(" {").append(g.labels->text.substr(0, longest_name)).append("}");
    }
    write();
    write_callers(g);
  }

  /// Where the goroutine stood, and the others.
  THRUM_COLD void write_callers(const sched::goroutine& g) noexcept {
    walk(g);
    find_others(g);
    for (std::size_t i = 0; i != callers_.size; ++i) {
      places_.add(callers_.frames[i]);
    }
    places_.add(starting_call(g));
    for (std::size_t i = 0; i != shown_; ++i) {
      places_.add(others_[i].started_at);
    }
    places_.ask();
    if (callers_.size == 0) {
      text_.append("\tits callers are unknown: it stood on another stack");
      write();
    }
    say_callers();
    text_.append("\tstarted in ");
    say_place(starting_call(g));
    write();
    say_others();
  }

  /// The innermost callers of a goroutine that has used up its stack.
  THRUM_COLD void write_innermost(const sched::goroutine& g) noexcept {
    constexpr std::size_t most = 8;  // it calls itself, most likely
    walk(g);
    callers_.size = callers_.size < most ? callers_.size : most;
    for (std::size_t i = 0; i != callers_.size; ++i) {
      places_.add(callers_.frames[i]);
    }
    places_.ask();
    say_callers();
  }

 private:
  static constexpr std::size_t most_others = 16;

  void walk(const sched::goroutine& g) noexcept {
    sched::stack_bounds bounds = sched::stack_of(g);
    bounds.below = g.pool->guard_bytes();
    sched::walk_frames(arch::interrupted_registers(os::fault_machine(what_)), true, bounds,
                       callers_);
  }

  void say_head(std::string_view where) noexcept {
    text_.append("fatal error: thrum: ").append(what_.name);
    if (what_.has_address) {
      text_.append(what_.is_memory ? " at address " : " at instruction ").append(what_.address);
    }
    text_.append(" ").append(where);
  }

  /// Ends the line.
  void write() noexcept {
    base::write_error(text_.append("\n").view());
    text_.clear();
  }

  /// "name at program+0x1f", and the place in the source on the next line, if known.
  void say_place(const void* address) noexcept {
    if (const std::string_view name = places_.function_at(address); !name.empty()) {
      text_.append(name.substr(0, longest_name)).append(" at ");
      os::append_file(text_, address);
    } else {
      os::append_address(text_, address);
    }
    if (const std::string_view line = places_.line_of(address); !line.empty()) {
      text_.append("\n\t\t").append(line);
    }
  }

  /// The first caller that a user looks for: behind what aborts, throws or ends the program for an exception.
  std::size_t find_first() noexcept {
    constexpr std::size_t most_of_abort = 8;
    std::size_t first = 0;
    for (std::size_t i = 0; i != callers_.size && i != most_of_abort; ++i) {
      first = is_place(i, [](std::string_view place) { return place.substr(0, 9) == "abort at "; })
                  ? i + 1
                  : first;
    }
    for (std::size_t i = first; i != callers_.size; ++i) {
      if (is_place(i, &is_throwing)) {
        first = i + 1;
      } else if (is_users_place(callers_.frames[i])) {
        break;
      }
    }
    return first < callers_.size ? first : 0;
  }

  template <class Test>
  bool is_place(std::size_t caller, Test test) noexcept {
    say_place(callers_.frames[caller]);
    const bool is = test(text_.view());
    text_.clear();
    return is;
  }

  bool is_users_place(const void* address) noexcept {
    say_place(address);
    const bool is = is_users(text_.view(), places_.line_of(address));
    text_.clear();
    return is;
  }

  void say_callers() noexcept {
    const std::size_t first = find_first();
    bool any = false;
    for (std::size_t i = first; i != callers_.size; ++i) {
      any = say_caller(callers_.frames[i], false) || any;
    }
    for (std::size_t i = first; i != callers_.size && !any; ++i) {
      say_caller(callers_.frames[i], true);
    }
  }

  bool say_caller(const void* address, bool anyway) noexcept {
    const bool is_shown = anyway || is_users_place(address);
    if (is_shown) {
      text_.append("\t");
      say_place(address);
      write();
    }
    return is_shown;
  }

  void find_others(const sched::goroutine& own) noexcept {
    const std::int64_t now_ms = (os::now() - own.scheduler->started_at) / 1'000'000;
    own.scheduler->pool->for_each([&](sched::goroutine& g) noexcept {
      goroutine_record not_shown;
      const bool has_room = shown_ != most_others;
      if (&g != &own && describe_into(has_room ? others_[shown_] : not_shown, g, now_ms)) {
        shown_ += has_room;
        ++alive_;
      }
    });
  }

  void say_others() noexcept {
    for (std::size_t i = 0; i != shown_; ++i) {
      const goroutine_record& g = others_[i];
      text_.append("goroutine ").append(g.id).append(" [");
      text_.append(g.status == sched::g_status::waiting ? sched::describe(g.reason)
                                                        : describe(g.status));
      text_.append("]");
      if (g.name[0] != '\0') {
        text_.append(" \"").append(std::string_view(g.name)).append("\"");
      }
      text_.append(" started in ");
      say_place(g.started_at);
      write();
    }
    if (alive_ > shown_) {
      text_.append("and ").append(alive_ - shown_).append(" more goroutines");
      write();
    }
  }

  static constexpr std::size_t longest_name = 1'000;

  const os::fault& what_;
  base::message<2'048> text_;
  os::call_stack callers_;
  goroutine_record others_[most_others];
  std::size_t shown_ = 0;
  std::size_t alive_ = 0;
  os::bare_places places_;
};

/// Looks at each fault in its handler.
[[gnu::cold]] inline void report_fault(const os::fault& what) noexcept {
  const sched::machine* const m = sched::current_m();
  const sched::goroutine* const g = m != nullptr ? m->g : nullptr;
  auto& known = os::process_wide<crash_handling>::get();
  if (base::is_end_reported()) {
    return;
  }
  const bool is_overflow = what.is_memory && g != nullptr && report_overflow(*g, what);
  if (is_overflow) {
    base::note_reported();
  }
  // relaxed: set before the handler is installed
  if (THRUM_ASAN || THRUM_TSAN || !what.is_last || !known.is_wanted.load(relaxed) ||
      (g != nullptr && !g->scheduler->config().reports_crashes)) {
    return;
  }
  if (known.is_reporting.exchange(true, relaxed)) {  // relaxed: only one reports
    os::sleep_ns(10'000'000'000);
    return;
  }
  crash_report report(what);
  if (is_overflow) {
    report.write_innermost(*g);
  } else if (g != nullptr) {
    report.write_goroutine(*g);
  } else {
    report.write_foreign();
  }
  if (m != nullptr) {
    trace_detail::end_with_crash(*m->scheduler);
  }
}

/// Makes crashes reported from now on, if that is wanted, and in any case overflows of stacks.
inline void install_crash_report(bool is_wanted) noexcept {
  const bool all = is_wanted && !THRUM_ASAN && !THRUM_TSAN;
  if (all) {
    // relaxed: the installation of the handler orders it
    os::process_wide<crash_handling>::get().is_wanted.store(true, relaxed);
  }
  os::install_fault_observer(&report_fault, all ? os::fault_kinds::all : os::fault_kinds::memory);
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
