// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A story as Chrome's JSON, which chrome://tracing, ui.perfetto.dev and Python's json read.
//
// Each runtime is two processes: its Ps are the threads of one, its Ms those of the other. Times are microseconds since
// the record began.
#ifndef THRUM_DETAIL_TRACE_CHROME_HPP
#define THRUM_DETAIL_TRACE_CHROME_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/trace/goroutine_names.hpp>
#include <thrum/detail/trace/story.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

class chrome_writer {
 public:
  chrome_writer(const story& told, goroutine_names& names, const time_scale& scale)
      : told_(told), names_(names), scale_(scale) {}

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"events\":\"" +
            std::to_string(told_.events) + "\",\"lost\":\"" + std::to_string(told_.lost) +
            "\"},\"traceEvents\":[\n";
    for (const slice& each : told_.slices) {
      write_slice(each, true);
      write_slice(each, false);
      if (each.flow != 0) {
        begin("f", each.begin, p_process(each.runtime), each.p);
        text_ += ",\"bp\":\"e\",\"cat\":\"ready\",\"name\":\"ready\",\"id\":" +
                 std::to_string(each.flow) + "}";
      }
    }
    for (const wakeup& each : told_.wakeups) {
      write_wakeup(each);
    }
    for (const instant& each : told_.instants) {
      const bool on_p = each.p != event::no_p;
      begin("i", each.time, on_p ? p_process(each.runtime) : m_process(each.runtime),
            on_p ? each.p : each.m);
      name(each.name);
      text_ += ",\"s\":\"t\",\"args\":{\"goroutine\":" + std::to_string(each.goroutine) + "}}";
    }
    for (const sample& each : told_.samples) {
      begin("C", each.time, p_process(each.runtime), 0);
      name(each.name);
      text_ += ",\"args\":{\"n\":" + std::to_string(each.value) + "}}";
    }
    for (const region_of_user& each : told_.regions) {
      for (const auto& [phase, time] : {std::pair{"b", each.begin}, std::pair{"e", each.end}}) {
        begin(phase, time, p_process(each.runtime), 0);
        name(each.name);
        text_ += ",\"cat\":\"region\",\"id\":" + std::to_string(each.goroutine) + "}";
      }
    }
    write_names();
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  static unsigned p_process(std::uint8_t runtime) noexcept { return runtime * 2U; }
  static unsigned m_process(std::uint8_t runtime) noexcept { return runtime * 2U + 1; }

  /// Microseconds with three digits behind the point.
  void append_time(std::int64_t ns) {
    const std::string digits = std::to_string(ns % 1000 + 1000);
    text_.append(std::to_string(ns / 1000)).append(".").append(digits, 1);
  }

  void begin(std::string_view phase, std::uint64_t time, unsigned process, std::uint32_t thread) {
    text_ += is_first_ ? "" : ",\n";
    is_first_ = false;
    tracks_.insert({process, thread});
    text_.append("{\"ph\":\"").append(phase).append("\",\"pid\":").append(std::to_string(process));
    text_.append(",\"tid\":").append(std::to_string(thread)).append(",\"ts\":");
    append_time(scale_.ns(time, told_.begin));
  }

  void append_quoted(std::string_view words) {
    static constexpr char digits[] = "0123456789abcdef";
    text_ += '"';
    for (const char each : words) {
      const auto code = static_cast<unsigned char>(each);
      if (each == '"' || each == '\\') {
        (text_ += '\\') += each;
      } else if (code < 0x20 || code >= 0x7F) {  // may be no UTF-8
        ((text_ += "\\u00") += digits[code >> 4]) += digits[code & 15];
      } else {
        text_ += each;
      }
    }
    text_ += '"';
  }
  void name(std::string_view words) {
    text_ += ",\"name\":";
    append_quoted(words);
  }

  void write_slice(const slice& each, bool on_p) {
    begin("X", each.begin, on_p ? p_process(each.runtime) : m_process(each.runtime),
          on_p ? each.p : each.m);
    text_ += ",\"dur\":";
    append_time(scale_.ns(each.end, each.begin));
    name(names_.of({each.runtime, each.goroutine}));
    text_ += ",\"args\":{\"goroutine\":" + std::to_string(each.goroutine) +
             ",\"processor\":" + std::to_string(each.p) + ",\"thread\":" + std::to_string(each.m) +
             ",\"ended by\":";
    append_quoted(each.ended_by);
    if (each.from_call) {
      text_ += ",\"from call\":true";
    }
    if (each.object != 0) {
      text_ += ",\"object\":" + std::to_string(each.object);
    }
    if (each.labels != 0) {
      text_ += ",\"labels\":";
      append_quoted(told_.labels[each.labels]);
    }
    text_ += ",\"started in\":";
    append_quoted(names_.place_of({each.runtime, each.goroutine}));
    if (each.flow != 0) {
      const wakeup& cause = told_.wakeups.begin()[static_cast<std::ptrdiff_t>(each.flow - 1)];
      text_ += ",\"flow\":" + std::to_string(each.flow) +
               ",\"ready for ns\":" + std::to_string(scale_.ns(each.begin, cause.time)) +
               ",\"made ready by\":";
      append_quoted(cause.by != 0 ? "goroutine " + std::to_string(cause.by)
                                  : std::string(cause.how));
    }
    text_ += "}}";
  }

  void write_wakeup(const wakeup& each) {
    if (each.time < told_.begin) {
      return;
    }
    const bool on_p = each.p != event::no_p;
    if (on_p && each.has_run) {
      begin("s", each.time, p_process(each.runtime), each.p);
      text_ += ",\"cat\":\"ready\",\"name\":\"ready\",\"id\":" + std::to_string(each.flow) + "}";
    }
    begin("i", each.time, on_p ? p_process(each.runtime) : m_process(each.runtime),
          on_p ? each.p : 0);
    text_ += each.how == "started" ? ",\"name\":\"go\"" : ",\"name\":\"ready\"";
    text_ += ",\"s\":\"t\",\"args\":{\"goroutine\":" + std::to_string(each.goroutine) +
             ",\"flow\":" + std::to_string(each.flow) + ",\"by\":" + std::to_string(each.by) +
             ",\"how\":";
    append_quoted(each.how);
    text_ += "}}";
  }

  void write_names() {
    const std::set<std::pair<unsigned, std::uint32_t>> tracks = tracks_;
    unsigned last = ~0U;
    for (const auto& [process, thread] : tracks) {
      const bool of_ps = process % 2 == 0;
      if (process != last) {
        last = process;
        begin("M", told_.begin, process, thread);
        text_ += ",\"name\":\"process_name\",\"args\":{\"name\":\"";
        text_ += of_ps ? "processors" : "threads";
        text_ += " of runtime " + std::to_string(process / 2) + "\"}}";
      }
      begin("M", told_.begin, process, thread);
      text_ += ",\"name\":\"thread_name\",\"args\":{\"name\":\"";
      text_ += (of_ps ? "P" : "M") + std::to_string(thread) + "\"}}";
    }
  }

  const story& told_;
  goroutine_names& names_;
  const time_scale& scale_;
  std::string text_;
  bool is_first_ = true;
  std::set<std::pair<unsigned, std::uint32_t>> tracks_;
};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
