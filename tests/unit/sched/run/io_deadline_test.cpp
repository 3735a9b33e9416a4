// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/run/io_deadline.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"

TEST_CASE(
    "without a stop an io_deadline is its deadline, and with one the call's watch has the "
    "earlier") {
  using thrum::sched::io_deadline;
  CHECK(io_deadline(7).until() == 7);
  CHECK_FALSE(thrum::sched::is_io_stopped());
  std::stop_source source = support::new_source();
  std::error_code error;
  thrum::stop_detail::run_until_stopped(source.get_token(), error, [&] {
    {
      const io_deadline early(7);
      CHECK(early.until() == thrum::sched::until_stopped);
      CHECK(early.moment() == 7);
      CHECK_FALSE(early.is_stopped());
    }
    CHECK(io_deadline(thrum::sched::no_deadline).moment() == thrum::sched::no_deadline);
    source.request_stop();
    CHECK(thrum::sched::is_io_stopped());
    return 0;
  });
  CHECK_FALSE(thrum::sched::is_io_stopped());
}
