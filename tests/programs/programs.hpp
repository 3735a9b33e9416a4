// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The register of the programs that thrum_programs can be.
#ifndef THRUM_TESTS_PROGRAMS_PROGRAMS_HPP
#define THRUM_TESTS_PROGRAMS_PROGRAMS_HPP

#include <span>
#include <string_view>

namespace programs {

struct entry {
  std::string_view name;
  int (*run)();
};

/// The programs of one file; lives for as long as the program.
struct group {
  explicit group(std::span<const entry> of) : entries(of), next(first) { first = this; }

  std::span<const entry> entries;
  const group* next;

  static inline const group* first = nullptr;
};

}  // namespace programs

#endif
