// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The example compiler_tool.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/server_process.hpp"

#include <string>

namespace examples { namespace {

TEST_CASE("the compiler's tool finds each included file once, at its least depth") {
  const support::folder files;
  files.write("main.cpp",
              "#include <a.hpp>\n#include \"deep/b.hpp\"\n#include <nowhere>\nint x;\n");
  files.write("include/a.hpp", "#include \"deep/c.hpp\"\n");
  files.write("include/deep/b.hpp", "#include <a.hpp>\n#include <deep/c.hpp>\n");
  files.write("include/deep/c.hpp", "#include <a.hpp>\n// a circle");
  const auto result =
      support::run_file(support::example_path("compiler_tool"),
                        (files / "main.cpp").string() + " " + (files / "include").string());
  CHECK(result.text ==
        "depth 0: 1 files\ndepth 1: 2 files\ndepth 2: 1 files\nthe same for a goroutine\n");
  CHECK(result.exit_code == 0);
}

TEST_CASE("the compiler's tool says what it wants when it gets nothing") {
  const auto result = support::run_file(support::example_path("compiler_tool"), "");
  CHECK(result.exit_code == 2);
  CHECK(result.says("usage: compiler_tool FILE"));
}

}}  // namespace examples

#endif
