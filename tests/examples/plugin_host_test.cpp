// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The example plugin_host. How its two ways compare is a figure, and no assertion.

#include "support/catch.hpp"

#if defined(THRUM_EXAMPLES_DIR) && defined(THRUM_EXAMPLES_HAVE_PLUGINS)

#include "support/program.hpp"
#include "support/server_process.hpp"

namespace examples { namespace {

TEST_CASE(
    "plug-ins with hidden visibility work in their host's runtime, also one that was loaded anew") {
  const auto result = support::run_file(support::example_path("plugin_host"),
                                        "--items 2000 --rounds 4", "THRUM_MAXPROCS=2");
  INFO(result.text);
  CHECK(result.exit_code == 0);
  CHECK(result.says("the producer was loaded anew"));
  CHECK(result.says("2000 items between plug-ins: "));
  CHECK(result.says("8 lines were shown on the host's thread"));
}

TEST_CASE("the host of plug-ins says which argument or file it does not understand") {
  const auto word = support::run_file(support::example_path("plugin_host"), "--rounds none");
  CHECK(word.exit_code == 2);
  CHECK(word.says("plugin_host: what is 'none'"));
  const auto folder = support::run_file(support::example_path("plugin_host"), "--plugins /nowhere");
  CHECK(folder.exit_code == 2);
  CHECK(folder.says("plugin_host: /nowhere/producer.so is no plug-in: "));
}

}}  // namespace examples

#endif
