// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// examples/http/open_beneath.hpp: files below a directory, and none elsewhere.

#include "support/test.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "../examples/http/open_beneath.hpp"

#include "../clients.hpp"

#include <cerrno>

#include <fcntl.h>

namespace examples { namespace {

TEST_CASE("what stands below a directory can be opened, with and without the kernel's help") {
  const folder files;
  files.write("secret.txt", "not for you");
  files.write("site/sub/note.txt", "a note");
  fs::create_symlink("sub/note.txt", files / "site/inside");
  fs::create_symlink("../secret.txt", files / "site/outside");
  fs::create_directory_symlink("..", files / "site/up");
  const http::file_handle root(::open((files / "site").c_str(), http::directory_flags));
  for (const auto open : {&http::open_beneath, &http::open_step_by_step}) {
    for (const char* const name : {"sub/note.txt", "./sub//note.txt", "sub"}) {
      INFO(name);
      CHECK(open(root.get(), name).get() >= 0);
    }
    for (const char* const name :
         {"../secret.txt", "sub/../../secret.txt", "outside", "up/secret.txt", "up", "/etc/passwd",
          "none", "sub/none", "sub/note.txt/x", ".."}) {
      INFO(name);
      CHECK(open(root.get(), name).get() < 0);
    }
  }
  CHECK(http::open_step_by_step(root.get(), "inside").get() < 0);
  CHECK(http::open_step_by_step(root.get(), "sub/../sub/note.txt").get() < 0);
  const http::file_handle inside = http::open_beneath(root.get(), "inside");
  CHECK((inside.get() >= 0 || errno == ELOOP));  // ELOOP: the kernel does not help
}

}}  // namespace examples

#endif
