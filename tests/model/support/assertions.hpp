// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// In a model a violated THRUM_ASSERT is a finding, with its trace, instead of the end of the
// program: a mutant is allowed to break an invariant. Included before everything else of thrum's.

#ifndef THRUM_TESTS_MODEL_ASSERTIONS_HPP
#define THRUM_TESTS_MODEL_ASSERTIONS_HPP

#include <thrum/detail/base/fatal.hpp>

namespace model {
inline void require(bool condition, const char* text);  // explorer.hpp
}

#undef THRUM_ASSERT
#define THRUM_ASSERT(NAME, ...) \
  ((__VA_ARGS__) ? void()       \
                 : ::model::require(false, "invariant " #NAME " does not hold: " #__VA_ARGS__))

#endif
