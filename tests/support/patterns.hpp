// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Regular expressions in texts, by <regex>, which takes as long to compile as twenty tests: it is included
// once, in patterns.cpp.
#ifndef THRUM_TESTS_SUPPORT_PATTERNS_HPP
#define THRUM_TESTS_SUPPORT_PATTERNS_HPP

#include <string>
#include <vector>

namespace support {

/// Whether a part of the text matches.
bool has_match(const std::string& text, const std::string& pattern);

/// Whether the text matches as a whole.
bool is_match(const std::string& text, const std::string& pattern);

/// What the groups of the pattern have of a text that matches as a whole; nothing if it does not.
std::vector<std::string> groups_of_match(const std::string& text, const std::string& pattern);

}  // namespace support

#endif
