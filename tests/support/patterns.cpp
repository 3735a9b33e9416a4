// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include "support/patterns.hpp"

#include <regex>

namespace support {

bool has_match(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

bool is_match(const std::string& text, const std::string& pattern) {
  return std::regex_match(text, std::regex(pattern));
}

std::vector<std::string> groups_of_match(const std::string& text, const std::string& pattern) {
  std::smatch found;
  std::vector<std::string> groups;
  if (std::regex_match(text, found, std::regex(pattern))) {
    groups.assign(found.begin() + 1, found.end());
  }
  return groups;
}

}  // namespace support
