// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a test asks of a model: that it holds, or, of a mutant, that its mistake is found out.
//
// With THRUM_MODEL_VERBOSE in the environment each search writes its figures to standard error.

#ifndef THRUM_TESTS_MODEL_CHECKS_HPP
#define THRUM_TESTS_MODEL_CHECKS_HPP

#include "search.hpp"

#include "support/catch.hpp"
#include "support/scale.hpp"

#include <cstdio>
#include <cstdlib>

namespace model {

inline constexpr machine every_machine[] = {machine::sequential, machine::tso, machine::weak};

template <class Model>
result search_and_log(const options& bounds) {
  result found = explore<Model>(bounds);
  if (std::getenv("THRUM_MODEL_VERBOSE") != nullptr) {
    std::fprintf(stderr, "%s: %s\n", __PRETTY_FUNCTION__, found.report().c_str());
  }
  return found;
}

/// Where everything is slow, the bound that costs most of the time is lowered by one or two. (One
/// preemption more makes a search about seven times as long.)
template <class Model>
void holds(options bounds) {
  const unsigned fewer = support::slowness() >= 10 ? 2 : support::slowness() > 1 ? 1 : 0;
  bounds.preemptions = bounds.preemptions > fewer ? bounds.preemptions - fewer : 1;
  const result found = search_and_log<Model>(bounds);
  INFO(found.report());
  CHECK(found.passed());
}

template <class Model>
bool found_out(const options& bounds) {
  return !search_and_log<Model>(bounds).failure.empty();
}

}  // namespace model

#endif
