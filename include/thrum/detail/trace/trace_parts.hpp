// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The bodies of trace.hpp: for a build that records, and for one that does not.
#ifndef THRUM_DETAIL_TRACE_TRACE_PARTS_HPP
#define THRUM_DETAIL_TRACE_TRACE_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/trace.hpp>

#if THRUM_TRACE

#include <thrum/blocking.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/life/registry.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>
#include <thrum/detail/sched/run/inherit_labels.hpp>
#include <thrum/detail/trace/chrome.hpp>
#include <thrum/detail/trace/goroutine_names.hpp>
#include <thrum/detail/trace/hooks.hpp>
#include <thrum/detail/trace/perfetto.hpp>
#include <thrum/detail/trace/recorder.hpp>
#include <thrum/detail/trace/story.hpp>

#include <thrum/options.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace trace_detail {

/// The record that is being made. The thread that starts and stops uses it.
struct record {
  /// What asks for it. The environment's is written by itself: that of the whole run at the end of the
  /// process, a flight record when something goes wrong.
  enum class origin : std::uint8_t { program, whole_run, flight };

  std::string path;
  time_scale scale;
  origin from = origin::program;
  std::int64_t process = 0;  // the copy after a fork() has no events
  std::timed_mutex writing;
};

inline record& the_record() {
  static record* const only = new record();  // for ever: an exit may write the file
  return *only;
}

/// Both at one moment.
inline void read_both(std::uint64_t& count, std::int64_t& ns) noexcept {
  count = the_recorder.now();
  ns = os::now();
}

inline void add_living(story_teller& to, sched::runtime_scheduler& scheduler) {
  debug::goroutine_record record;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    if (debug::describe_into(record, g, 0)) {
      to.add_living({number_of(scheduler), record.id}, record.name, record.started_at);
    }
  });
}

/// What changes seldom, at the begin of the record: the number of Ps, and which of them idle.
inline void note_beginning(sched::runtime_scheduler& scheduler) noexcept {
  sched::scoped guard(scheduler.idle.lock());
  procs_changed(scheduler, scheduler.procs());
  scheduler.idle.for_each_p_locked([&](sched::processor& p) { idle_began(scheduler, p); });
}

inline std::error_code write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  bool is_good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error_number = is_good ? 0 : errno;
  if (file != nullptr && std::fclose(file) != 0 && is_good) {
    is_good = false;
    error_number = errno;
  }
  return is_good ? std::error_code() : std::error_code(error_number, std::generic_category());
}

inline void throw_unless_written(const std::error_code& error) {
  if (error) {
    base::throw_system(error, "trace: the file cannot be written");
  }
}

inline trace::summary write_story(const std::string& path, record& of, std::error_code& error) {
  // Another thread that writes needs seconds at most, but its goroutine may be stopped for good.
  const std::unique_lock alone(of.writing, std::chrono::seconds(10));
  read_both(of.scale.count_at_last, of.scale.ns_at_last);
  story_teller teller(the_recorder, of.scale.count_at_first, of.scale.count_at_last);
  sched::registry::for_each(
      [&](sched::runtime_scheduler& scheduler) { add_living(teller, scheduler); });
  const story told = teller.tell();
  goroutine_names names(told);
  error =
      write_file(path, path.ends_with(".json") ? chrome_writer(told, names, of.scale).write()
                                               : perfetto_writer(told, names, of.scale).write());
  return {told.events, told.lost};
}

/// write_story() for a caller outside of the scheduler, which blocks.
inline trace::summary write_blocking(const std::string& path) {
  std::error_code error;
  const trace::summary written =
      thrum::blocking([&] { return write_story(path, the_record(), error); });
  throw_unless_written(error);
  return written;
}

/// Writes the file of the record, and says so.
inline void write_and_tell(record& of) noexcept {
  THRUM_TRY {
    std::error_code error;
    write_story(of.path, of, error);
    base::write_error(error ? "thrum: the trace cannot be written to " + of.path + ": " +
                                  error.message() + "\n"
                            : "thrum: the trace is in " + of.path + "\n");
  }
  THRUM_CATCH_ALL { base::write_error("thrum: the trace is not written: there is no memory\n"); }
}

/// What write_at_trouble does.
inline void write_before_end() noexcept {
  record& of = the_record();
  if (!the_recorder.is_on() || of.process != os::own_process()) {
    return;
  }
  the_recorder.turn(false);
  if (!of.path.empty()) {
    write_and_tell(of);
  }
}

/// Begins a record. False: there is no memory.
inline bool begin_record(std::string path, std::size_t bytes, record::origin from) {
  if (!the_recorder.make(bytes)) {
    return false;
  }
  write_at_trouble.set(&write_before_end);
  record& of = the_record();
  of.path = std::move(path);
  of.from = from;
  of.process = os::own_process();
  read_both(of.scale.count_at_first, of.scale.ns_at_first);
  the_recorder.turn(true);
  thrum::blocking([] { sched::registry::for_each(&note_beginning); });
  return true;
}

/// Sets the wait after which the flight record is written.
inline void limit_waits(unsigned milliseconds) noexcept {
  time_scale scale;
  read_both(scale.count_at_first, scale.ns_at_first);
  os::sleep_ns(2'000'000);
  read_both(scale.count_at_last, scale.ns_at_last);
  const double per_ms = 1e6 * static_cast<double>(scale.count_at_last - scale.count_at_first) /
                        static_cast<double>(scale.ns_at_last - scale.ns_at_first);
  constexpr double pause_ms = 10'000;
  pause_when_late.set(static_cast<std::uint64_t>(per_ms * pause_ms));
  longest_wait.set(static_cast<std::uint64_t>(per_ms * milliseconds));
}

/// What THRUM_DEBUG says of traces, when the first runtime is made.
inline void start_by_environment() {
  static base::hint<bool> has_begun{false};
  if (has_begun.swap(true) || the_recorder.is_on()) {
    return;
  }
  using reader = go_detail::environment_reader;
  constexpr std::size_t mib = std::size_t{1} << 20;
  std::string path(reader::text_of("trace"));
  const bool is_whole_run = !path.empty();
  if (is_whole_run) {
    if (const std::error_code error = write_file(path, "")) {
      base::write_error("thrum: THRUM_DEBUG: trace=" + path + ": the file cannot be written: " +
                        error.message() + "; nothing is recorded\n");
      return;
    }
  } else if ((path = reader::text_of("flight")).empty()) {
    return;
  }
  if (!begin_record(std::move(path), (is_whole_run ? 64 : 16) * mib,
                    is_whole_run ? record::origin::whole_run : record::origin::flight)) {
    base::write_error("thrum: THRUM_DEBUG: there is no memory for a trace\n");
    return;
  }
  if (is_whole_run) {
    std::atexit([] {
      if (the_record().from == record::origin::whole_run) {
        write_before_end();
      }
    });
  } else if (const unsigned limit = reader::number_of("late"); limit != 0) {
    limit_waits(limit);
  }
}

/// Whether the environment has asked for a flight record.
inline bool keeps_flight() noexcept {
  return the_recorder.is_on() && the_record().from == record::origin::flight;
}

/// Whether the record is to be written because a goroutine was ready for too long.
inline bool take_late() noexcept { return is_late.swap(false); }

/// Writes the flight record, and goes on recording. On a thread that is no M.
inline void write_flight() noexcept {
  if (keeps_flight()) {
    write_and_tell(the_record());
  }
}

inline constinit base::set_once<trace::switch_hook> hook_of_user{nullptr};

/// What show_switch does.
inline void show_to_user(event_kind what, const sched::goroutine& g) noexcept {
  using kind = trace::switch_step::kind;
  const kind step = what == event_kind::runs    ? kind::enters
                    : what == event_kind::ended ? kind::ends
                                                : kind::leaves;
  hook_of_user.get()(
      {step, g.id, g.name, g.labels == nullptr ? std::string_view() : g.labels->text, g.hook_word});
  if (step == kind::ends) {
    g.hook_word = nullptr;  // the next goroutine in its place begins with none
  }
}

inline void note_of_user(event_kind kind, trace::literal name) noexcept {
  if (!the_recorder.is_on()) {
    return;
  }
  sched::section here;
  sched::machine* const m = here.m();
  if (m == nullptr) {
    return;
  }
  note(*m, kind, name.view().size(), reinterpret_cast<std::uintptr_t>(name.view().data()));
}

}  // namespace trace_detail

namespace trace {

THRUM_OUT_OF_LINE void start(std::string path, std::size_t bytes) {
  using namespace trace_detail;
  if (the_recorder.is_on()) {
    if (the_record().from == record::origin::program) {
      base::throw_usage("trace::start: the recorder is on already; call trace::stop first");
    }
    base::write_error("thrum: trace::start: ends what THRUM_DEBUG has asked for\n");
    thrum::blocking(&write_before_end);
  }
  if (!path.empty()) {
    throw_unless_written(thrum::blocking([&] { return write_file(path, ""); }));
  }
  if (!begin_record(std::move(path), bytes, record::origin::program)) {
    base::throw_system(std::make_error_code(std::errc::not_enough_memory),
                       "trace::start: no memory for the events");
  }
}

THRUM_OUT_OF_LINE summary stop() {
  using namespace trace_detail;
  if (!the_recorder.is_on()) {
    return {};
  }
  the_recorder.turn(false);
  record& of = the_record();
  return of.path.empty() ? summary() : write_blocking(of.path);
}

THRUM_OUT_OF_LINE summary snapshot(const std::string& path) {
  using namespace trace_detail;
  if (!the_recorder.is_on()) {
    return {};
  }
  return write_blocking(path);
}

THRUM_OUT_OF_LINE bool is_on() noexcept { return trace_detail::the_recorder.is_on(); }

THRUM_OUT_OF_LINE void mark(literal name) noexcept {
  trace_detail::note_of_user(trace_detail::event_kind::marked, name);
}

THRUM_OUT_OF_LINE void on_switch(trace::switch_hook hook) {
  using namespace trace_detail;
  bool has_runtime = false;
  thrum::blocking([&] {
    sched::registry::for_each([&](const sched::runtime_scheduler&) { has_runtime = true; });
  });
  if (has_runtime) {
    base::throw_usage(
        "trace::on_switch: there is a runtime already; call it before the first runtime is made");
  }
  hook_of_user.set(hook);
  show_switch.set(hook == nullptr ? nullptr : &show_to_user);
  the_recorder.show_switches(hook != nullptr);
}

THRUM_OUT_OF_LINE region::region(literal name) noexcept : name_(name) {
  trace_detail::note_of_user(trace_detail::event_kind::region_began, name);
}

THRUM_OUT_OF_LINE region::~region() {
  trace_detail::note_of_user(trace_detail::event_kind::region_ended, name_);
}

}  // namespace trace

}}  // namespace thrum::THRUM_ABI

#else

namespace thrum { inline namespace THRUM_ABI { namespace trace {

// NOLINTNEXTLINE(performance-unnecessary-value-param): the declaration is that of both builds
inline void start(std::string, std::size_t) {
  base::throw_usage(
      "trace::start: the scheduler tells nothing in this build; compile every source file with "
      "-DTHRUM_TRACE=1");
}
inline summary stop() { return {}; }
inline summary snapshot(const std::string&) { return {}; }
inline bool is_on() noexcept { return false; }
inline void mark(literal) noexcept {}
inline void on_switch(switch_hook) {
  base::throw_usage(
      "trace::on_switch: the scheduler tells nothing in this build; compile every source file with "
      "-DTHRUM_TRACE=1");
}
inline region::region(literal name) noexcept : name_(name) {}
inline region::~region() {}

}}}  // namespace thrum::THRUM_ABI::trace

#endif
#endif
