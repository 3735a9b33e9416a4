// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Samples of a profile: each kind of them once, with sums, and what is written of them.
//
// pprof's protobuf: field numbers are those of its public definition, profile.proto. Texts, functions and locations stand in
// tables of the message, and samples name them by number. Names and lines are in the file, so pprof need not have
// the program.
#ifndef THRUM_DETAIL_PROFILE_SAMPLES_HPP
#define THRUM_DETAIL_PROFILE_SAMPLES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/protobuf.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/run/inherit_labels.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace profile_detail {

/// What all samples of one kind have in common.
struct sample_kind {
  std::vector<const void*> frames;  // the innermost first; each lies inside its instruction
  const void* started_at = nullptr;
  std::string state;
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // of the goroutine

  void add_labels(const sched::label_list& of) {
    of.for_each(of, this, [](void* to, std::string_view key, std::string_view value) {
      static_cast<sample_kind*>(to)->labels.emplace_back(key, value);
    });
  }

  bool operator<(const sample_kind& other) const {
    if (const int order = state.compare(other.state); order != 0) {
      return order < 0;
    }
    if (const int order = name.compare(other.name); order != 0) {
      return order < 0;
    }
    if (labels != other.labels) {
      return labels < other.labels;
    }
    if (started_at != other.started_at) {
      return std::less<>()(started_at, other.started_at);
    }
    return frames < other.frames;
  }
};

/// A value that each sample has.
struct value_kind {
  std::string_view what;
  std::string_view unit;
};

struct sample_values {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// How much of the library's own functions a profile shows.
enum class shown_frames : std::uint8_t {
  users,      // none, where the user has any
  innermost,  // those that the user has called
};

/// Since 1970.
inline std::uint64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// A profile before it is written.
struct samples {
  value_kind first;
  value_kind second;
  shown_frames shown = shown_frames::users;
  std::map<sample_kind, sample_values> by_kind;
  std::uint64_t taken_at_ns = 0;  // since 1970
  std::uint64_t duration_ns = 0;
  std::uint64_t period = 0;  // of the second value; 0: each goroutine was counted
  std::vector<std::string> comments;

  void add(sample_kind kind, std::uint64_t one, std::uint64_t other) {
    sample_values& sums = by_kind[std::move(kind)];
    sums.first += one;
    sums.second += other;
  }
};

/// Names the places of samples.
class place_names {
 public:
  /// Asks for the lines of all places, which blocks the thread.
  explicit place_names(const samples& all) {
    std::vector<const void*> places;
    for (const auto& [kind, sums] : all.by_kind) {
      places.insert(places.end(), kind.frames.begin(), kind.frames.end());
      if (kind.started_at != nullptr) {
        places.push_back(kind.started_at);
      }
    }
    symbols_.find_lines(std::move(places));
  }

  /// The function at an address, without the file of the code if it has a name.
  std::string function(const void* address) {
    const std::string& text = symbols_.describe(address);
    const std::size_t behind = text.rfind(" at ");
    return text.substr(0, behind);
  }

  /// The file and the line, if they are known.
  std::pair<std::string_view, std::uint64_t> line(const void* address) const {
    const std::string_view text = symbols_.line_of(address);
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) {
      return {};
    }
    std::uint64_t number = 0;
    for (const char each : text.substr(colon + 1)) {
      number = number * 10 + static_cast<std::uint64_t>(each - '0');
    }
    return {text.substr(0, colon), number};
  }

  /// The function that started a goroutine, and the line.
  std::string start(const void* address) {
    std::string text = function(address);
    if (const std::string_view where = symbols_.line_of(address); !where.empty()) {
      text.append(" at ").append(where);
    }
    return text;
  }

  /// The frames that a profile shows, the innermost first; where there are none, the place where the goroutine was started.
  std::vector<const void*> shown(const sample_kind& kind, shown_frames which) {
    std::vector<const void*> found;
    std::size_t behind_last_user = 0;
    for (const void* const each : kind.frames) {
      const bool is_users = debug::is_users(symbols_.describe(each), symbols_.line_of(each));
      if (is_users || which == shown_frames::innermost) {
        found.push_back(each);
        behind_last_user = is_users ? found.size() : behind_last_user;
      }
    }
    if (behind_last_user != 0) {
      found.resize(behind_last_user);
    } else {
      found = kind.frames;
    }
    if (found.empty() && kind.started_at != nullptr) {
      found.push_back(kind.started_at);
    }
    return found;
  }

 private:
  os::symbolizer symbols_;
};

/// pprof's protobuf.
class pprof_writer {
 public:
  pprof_writer(const samples& all, place_names& names) : all_(all), names_(names) {}

  std::string write() {
    text("");  // number 0
    put(profile_value_kind, kind_of(all_.first));
    put(profile_value_kind, kind_of(all_.second));
    base::message_writer mapping;  // one for all files of code: names and lines are known
    mapping.number(mapping_id, 1).number(mapping_start, 0).number(mapping_limit, ~std::uint64_t{0});
    put(profile_mapping, mapping.number(mapping_has_functions, 1)
                             .number(mapping_has_files, 1)
                             .number(mapping_has_lines, 1));
    for (const auto& [kind, sums] : all_.by_kind) {
      put_sample(kind, sums);
    }
    base::message_writer last;
    for (const std::string& each : all_.comments) {
      last.number(profile_comment, text(each));
    }
    last.number(profile_time, all_.taken_at_ns).number(profile_duration, all_.duration_ns);
    if (all_.period != 0) {
      last.message(profile_period_kind, kind_of(all_.second)).number(profile_period, all_.period);
    }
    last.number(profile_default, text(all_.period != 0 ? all_.second.what : all_.first.what));
    out_.append(last.bytes());
    for (const std::string& each : texts_in_order_) {
      out_.append(base::message_writer().text(profile_text, each).bytes());
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t profile_value_kind = 1, profile_sample = 2, profile_mapping = 3,
                                 profile_location = 4, profile_function = 5, profile_text = 6,
                                 profile_time = 9, profile_duration = 10, profile_period_kind = 11,
                                 profile_period = 12, profile_comment = 13, profile_default = 14;
  static constexpr std::uint32_t mapping_id = 1, mapping_start = 2, mapping_limit = 3,
                                 mapping_has_functions = 7, mapping_has_files = 8,
                                 mapping_has_lines = 9;

  void put(std::uint32_t field, const base::message_writer& message) {
    out_.append(base::message_writer().message(field, message).bytes());
  }

  std::uint64_t text(std::string_view words) {
    const auto [at, is_new] = texts_.try_emplace(std::string(words), texts_.size());
    if (is_new) {
      texts_in_order_.push_back(at->first);
    }
    return at->second;
  }

  base::message_writer kind_of(const value_kind& kind) {
    return base::message_writer().number(1, text(kind.what)).number(2, text(kind.unit));
  }

  std::uint64_t function(std::string name, std::string_view file) {
    const auto [at, is_new] =
        functions_.try_emplace({std::move(name), std::string(file)}, functions_.size() + 1);
    if (is_new) {
      const std::uint64_t words = text(at->first.first);
      put(profile_function, base::message_writer()
                                .number(1, at->second)
                                .number(2, words)
                                .number(3, words)
                                .number(4, text(file)));
    }
    return at->second;
  }

  std::uint64_t location(const void* address) {
    const auto [at, is_new] = locations_.try_emplace(address, locations_.size() + 1);
    if (is_new) {
      const auto [file, number] = names_.line(address);
      const std::uint64_t name = function(names_.function(address), file);
      put(profile_location,
          base::message_writer()
              .number(1, at->second)
              .number(2, 1)
              .number(3, reinterpret_cast<std::uintptr_t>(address))
              .message(4, base::message_writer().number(1, name).number(2, number)));
    }
    return at->second;
  }

  void label(base::message_writer& sample, std::string_view key, std::string_view value) {
    if (!value.empty()) {
      sample.message(3, base::message_writer().number(1, text(key)).number(2, text(value)));
    }
  }

  void put_sample(const sample_kind& kind, const sample_values& sums) {
    base::message_writer sample;
    for (const void* const each : names_.shown(kind, all_.shown)) {
      sample.number(1, location(each));
    }
    sample.number(2, sums.first).number(2, sums.second);
    label(sample, "state", kind.state);
    label(sample, "name", kind.name);
    for (const auto& [key, value] : kind.labels) {
      label(sample, key, value);
    }
    if (kind.started_at != nullptr) {
      label(sample, "started", names_.start(kind.started_at));
    }
    put(profile_sample, sample);
  }

  const samples& all_;
  place_names& names_;
  std::string out_;
  std::map<std::string, std::uint64_t> texts_;
  std::vector<std::string> texts_in_order_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
  std::map<const void*, std::uint64_t, std::less<>> locations_;
};

/// "name;outermost;...;innermost;[state] first value", a line for each kind.
inline std::string write_folded(const samples& all, place_names& names) {
  std::map<std::string, std::uint64_t> lines;  // different addresses may have the same names
  for (const auto& [kind, sums] : all.by_kind) {
    std::string line;
    const auto add = [&line](std::string words) {
      for (char& each : words) {
        each = each == ';' || each == '\n' ? ':' : each;
      }
      line.append(line.empty() ? "" : ";").append(words);
    };
    if (!kind.name.empty()) {
      add(kind.name);
    }
    const std::vector<const void*> frames = names.shown(kind, all.shown);
    for (std::size_t i = frames.size(); i != 0; --i) {
      add(names.function(frames[i - 1]));
    }
    if (!kind.state.empty()) {
      add("[" + kind.state + "]");
    }
    lines[line] += sums.first;
  }
  std::string text;
  for (const auto& [line, n] : lines) {
    text.append(line).append(" ").append(std::to_string(n)).append("\n");
  }
  return text;
}

}}}  // namespace thrum::THRUM_ABI::profile_detail

#endif
