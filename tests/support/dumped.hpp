// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is written to a FILE*, as text.
#ifndef THRUM_TESTS_SUPPORT_DUMPED_HPP
#define THRUM_TESTS_SUPPORT_DUMPED_HPP

#include <cstddef>
#include <cstdio>
#include <string>

namespace support {

/// What dump(FILE*) writes.
template <class Dump>
std::string dumped(Dump dump) {
  std::FILE* const to = std::tmpfile();
  if (to == nullptr) {
    return "there is no temporary file\n";
  }
  dump(to);
  std::rewind(to);
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, to)) != 0;) {
    text.append(buffer, n);
  }
  std::fclose(to);
  return text;
}

}  // namespace support

#endif
