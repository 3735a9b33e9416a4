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
#include <thrum/detail/trace/chrome.hpp>
#include <thrum/detail/trace/hooks.hpp>
#include <thrum/detail/trace/labels.hpp>
#include <thrum/detail/trace/perfetto.hpp>
#include <thrum/detail/trace/recorder.hpp>
#include <thrum/detail/trace/story.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace trace_detail {

/// The record that is being made. The thread that starts and stops uses it.
struct record {
  std::string path;
  time_scale scale;
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
  read_both(of.scale.count_at_last, of.scale.ns_at_last);
  story_teller teller(the_recorder, of.scale.count_at_first, of.scale.count_at_last);
  sched::registry::for_each(
      [&](sched::runtime_scheduler& scheduler) { add_living(teller, scheduler); });
  const story told = teller.tell();
  labels names(told);
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

/// What write_at_trouble does.
inline void write_before_end() noexcept {
  if (!the_recorder.is_on()) {
    return;
  }
  the_recorder.turn(false);
  record& of = the_record();
  if (of.path.empty()) {
    return;
  }
  std::error_code error;
  write_story(of.path, of, error);
  base::write_error(error ? "thrum: the trace cannot be written to " + of.path + ": " +
                                error.message() + "\n"
                          : "thrum: the trace is in " + of.path + "\n");
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
    base::throw_usage("trace::start: the recorder is on already; call trace::stop first");
  }
  if (!path.empty()) {
    throw_unless_written(thrum::blocking([&] { return write_file(path, ""); }));
  }
  if (!the_recorder.make(bytes)) {
    base::throw_system(std::make_error_code(std::errc::not_enough_memory),
                       "trace::start: no memory for the events");
  }
  write_at_trouble.set(&write_before_end);
  record& of = the_record();
  of.path = std::move(path);
  read_both(of.scale.count_at_first, of.scale.ns_at_first);
  the_recorder.turn(true);
  thrum::blocking([] { sched::registry::for_each(&note_beginning); });
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
inline region::region(literal name) noexcept : name_(name) {}
inline region::~region() {}

}}}  // namespace thrum::THRUM_ABI::trace

#endif
#endif
