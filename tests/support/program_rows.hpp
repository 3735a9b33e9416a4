// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A table of programs, each with the end that it is to have.
#ifndef THRUM_TESTS_SUPPORT_PROGRAM_ROWS_HPP
#define THRUM_TESTS_SUPPORT_PROGRAM_ROWS_HPP

#include "support/catch.hpp"
#include "support/program.hpp"

#include <initializer_list>

namespace support {

struct program_row {
  const char* program;
  int exit_code;               ///< below zero: the signal that ends it, negated
  const char* text = nullptr;  ///< all that it writes; null: anything
  const char* says[3] = {};    ///< words among it
  const char* environment = "";
};

inline void check_programs(std::initializer_list<program_row> rows,
                           const char* path = THRUM_PROGRAMS_PATH) {
  for (const program_row& row : rows) {
    const program_result r = run_file(path, row.program, row.environment);
    INFO(row.program << ": " << r.text);
    CHECK((r.signal != 0 ? -r.signal : r.exit_code) == row.exit_code);
    CHECK((row.text == nullptr || r.text == row.text));
    for (const char* const words : row.says) {
      CHECK((words == nullptr || r.says(words)));
    }
  }
}

}  // namespace support

#endif
