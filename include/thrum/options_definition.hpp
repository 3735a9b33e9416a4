// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What options.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OPTIONS_DEFINITION_HPP
#define THRUM_OPTIONS_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/options.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/traits.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

/// A key of THRUM_DEBUG.
struct debug_key {
  std::string_view name;
  std::string_view wants;
  void (*set)(options& to, unsigned value);
};

inline constexpr debug_key debug_keys[] = {
    {"schedtrace", "milliseconds",
     [](options& to, unsigned value) { to.schedtrace = std::chrono::milliseconds(value); }},
    {"scheddetail", "0 or 1", [](options& to, unsigned value) { to.scheddetail = value != 0; }},
    {"dump", "0 or 1", [](options& to, unsigned value) { to.dump_on_quit = value != 0; }},
    {"blocked", "seconds",
     [](options& to, unsigned value) { to.report_blocked = std::chrono::seconds(value); }},
    {"hogs", "a number of time slices",
     [](options& to, unsigned value) { to.report_hogs = value; }},
    {"lines", "0 or 1",
     [](options&, unsigned value) {
       // relaxed: a setting that publishes nothing
       os::wants_source_lines.store(value != 0, std::memory_order_relaxed);
     }},
    {"asyncpreemptoff", "0 or 1",
     [](options& to, unsigned value) {
       if (value != 0 && to.preempt == preemption::async) {
         to.preempt = preemption::cooperative;
       }
     }},
};

THRUM_OUT_OF_LINE environment_reader::~environment_reader() {
  static constinit std::atomic<bool> said{false};
  // relaxed: nothing else is published
  if (!complaints_.empty() && !said.exchange(true, std::memory_order_relaxed)) {
    base::write_error(complaints_);
  }
}

THRUM_OUT_OF_LINE unsigned environment_reader::procs() {
  const char* const text = std::getenv("THRUM_MAXPROCS");
  if (text == nullptr || *text == '\0') {
    return 0;
  }
  unsigned n = 0;
  if (!parse(text, n)) {
    complain({"THRUM_MAXPROCS wants a number of processors, not '", text, "'; it is ignored"});
    return 0;
  }
  constexpr unsigned most = sched::traits::max_procs;
  if (n > most) {
    complain(
        {"THRUM_MAXPROCS=", text, ": no more than ", std::to_string(most), " processors are used"});
    return most;
  }
  return n;
}

THRUM_OUT_OF_LINE void environment_reader::debug(options& to) {
  const char* const text = std::getenv("THRUM_DEBUG");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
    if (!item.empty()) {
      apply(item, to);
    }
  }
}

THRUM_OUT_OF_LINE void environment_reader::poller(options& to) {
  const char* const text = std::getenv("THRUM_POLLER");
  const std::string_view name = text == nullptr ? "" : text;
  if (name == "io_uring") {
    to.poller = poller_kind::io_uring;
  } else if (name == "usual") {
    to.poller = poller_kind::usual;
  } else if (!name.empty()) {
    complain({"THRUM_POLLER wants io_uring or usual, not '", name, "'; it is ignored"});
  }
}

THRUM_OUT_OF_LINE bool environment_reader::parse(std::string_view text, unsigned& value) noexcept {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last;
}

THRUM_OUT_OF_LINE void environment_reader::apply(std::string_view item, options& to) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  for (const debug_key& key : debug_keys) {
    if (key.name == name) {
      if (unsigned number = 0; parse(value, number)) {
        key.set(to, number);
      } else {
        complain(
            {"THRUM_DEBUG: ", name, " wants ", key.wants, ", not '", value, "'; it is ignored"});
      }
      return;
    }
  }
  std::string known;
  for (const debug_key& key : debug_keys) {
    known.append(known.empty() ? "" : ", ").append(key.name);
  }
  complain({"THRUM_DEBUG: '", item, "' is ignored; known are ", known, ", each as key=number"});
}

THRUM_OUT_OF_LINE void environment_reader::complain(std::initializer_list<std::string_view> words) {
  complaints_.append("thrum: ");
  for (const std::string_view each : words) {
    complaints_.append(each);
  }
  complaints_.append("\n");
}

}  // namespace go_detail

THRUM_OUT_OF_LINE unsigned default_procs() noexcept { return os::available_processors(); }

THRUM_OUT_OF_LINE options options::from_environment() {
  options result;
  go_detail::environment_reader environment;
  result.procs = environment.procs();
  environment.debug(result);
  environment.poller(result);
  return result;
}

}}  // namespace thrum::THRUM_ABI

#endif
