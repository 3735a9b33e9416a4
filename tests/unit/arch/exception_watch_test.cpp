// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// unit/sched/core/traits_test.cpp, which is another flavour of the library, asks the same.
#include "support/watched_exception.hpp"

#include "support/catch.hpp"

#if THRUM_EXCEPTIONS
TEST_CASE("an exception that leaves a watched call is shown to this flavour's observer") {
  CHECK(own_observer_sees_an_exception());
}
#endif
