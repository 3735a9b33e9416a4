// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Addresses of Unix sockets as the kernel takes and returns them.

#include <thrum/net/endpoint.hpp>

#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/local_name.hpp"
#include "support/named_socket.hpp"

#include <string>
#include <string_view>

#include <sys/socket.h>

using namespace std::string_view_literals;
using thrum::net::address_family;
using thrum::net::endpoint;

TEST_CASE("the kernel binds to the Unix address that data() gives, and returns the same") {
  const support::named_socket abstract(AF_UNIX);
  CHECK(abstract.name().family() == address_family::local);
  CHECK(abstract.name().path().empty());
  if (support::has_abstract_names) {
    const endpoint mine =
        endpoint::abstract(std::string("thrum\0"sv) + std::to_string(thrum::os::own_process()));
    REQUIRE(abstract.bind(mine));
    CHECK(abstract.name() == mine);
  }

  const support::folder folder;
  const endpoint file = endpoint::local((folder / "socket").string());
  const support::named_socket path(AF_UNIX);
  CHECK(path.bind(file));
  CHECK(path.name() == file);
}
