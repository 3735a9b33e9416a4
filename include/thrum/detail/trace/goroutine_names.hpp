// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What both kinds of files need besides the story: names for goroutines, and nanoseconds for the counter's units.
#ifndef THRUM_DETAIL_TRACE_GOROUTINE_NAMES_HPP
#define THRUM_DETAIL_TRACE_GOROUTINE_NAMES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/trace/story.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

/// The counter and the clock at two moments.
struct time_scale {
  std::uint64_t count_at_first = 0;
  std::int64_t ns_at_first = 0;
  std::uint64_t count_at_last = 0;
  std::int64_t ns_at_last = 0;

  /// The nanoseconds between two counts; 0 if the second is the later one.
  std::int64_t ns(std::uint64_t later, std::uint64_t earlier) const noexcept {
    if (later <= earlier) {
      return 0;
    }
    const auto counts = static_cast<double>(count_at_last - count_at_first);
    const double per_count =
        counts == 0 ? 1 : static_cast<double>(ns_at_last - ns_at_first) / counts;
    return static_cast<std::int64_t>(static_cast<double>(later - earlier) * per_count);
  }
};

class goroutine_names {
 public:
  /// Asks for source lines, for some seconds at most.
  explicit goroutine_names(const story& told) : told_(told) {
    std::vector<const void*> places;
    for (const auto& [id, facts] : told.goroutines) {
      if (facts.started_at != nullptr && places_.emplace(facts.started_at, std::string()).second) {
        places.push_back(facts.started_at);
      }
    }
    symbols_.find_lines(places);
    for (auto& [place, text] : places_) {
      text = symbols_.describe(place);
      if (const auto line = symbols_.line_of(place); !line.empty()) {
        text.append(" ").append(line);
      }
    }
  }

  /// Its name, else the function that started it.
  std::string of(global_id g) const {
    const auto found = told_.goroutines.find(g);
    if (found == told_.goroutines.end()) {
      return "goroutine " + std::to_string(g.id);
    }
    if (!found->second.name.empty()) {
      return found->second.name;
    }
    const std::string place = place_of(g);
    return place.empty() ? "goroutine " + std::to_string(g.id)
                         : "go in " + place.substr(0, place.find(" at "));
  }

  /// The function that started it, and the line.
  std::string place_of(global_id g) const {
    const auto found = told_.goroutines.find(g);
    if (found == told_.goroutines.end()) {
      return {};
    }
    const auto place = places_.find(found->second.started_at);
    return place == places_.end() ? std::string() : place->second;
  }

 private:
  const story& told_;
  os::symbolizer symbols_;
  std::map<const void*, std::string> places_;
};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
