// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#ifndef THRUM_TESTS_STRESS_ARGUMENTS_HPP
#define THRUM_TESTS_STRESS_ARGUMENTS_HPP

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace stress {

struct argument {
  std::string_view name;
  std::uint64_t& value;
};

/// Reads pairs of names and numbers. False: they make no sense.
inline bool parse(int count, char** values, std::initializer_list<argument> known) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view number = i + 1 < count ? values[i + 1] : "";
    bool understood = false;
    for (const argument& each : known) {
      if (each.name == values[i]) {
        const char* const end_of_text = number.data() + number.size();
        const auto [end, error] = std::from_chars(number.data(), end_of_text, each.value);
        understood = error == std::errc() && end == end_of_text;
      }
    }
    if (!understood) {
      return false;
    }
  }
  return true;
}

}  // namespace stress

#endif
