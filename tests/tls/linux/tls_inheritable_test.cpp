// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a child inherits that is started while a context reads its key.

#include <thrum/net/tls.hpp>

#include "support/folder.hpp"
#include "support/inheritable.hpp"
#include "support/process.hpp"
#include "support/test.hpp"
#include "tls/certificates.hpp"

TEST_CASE("reads a key and certificates, for the next one", "[.reads-key]") {
  const support::folder here;
  const support::authority vouches;
  const support::identity own = vouches.issue();
  const auto file = [&](const char* name, const std::string& text) {
    std::string path = (here / name).string();
    thrum::io::write_file(path, text);
    return path;
  };
  const std::string key = file("key", own.key);
  const std::string certificate = file("certificate", own.certificate);
  const std::string trust = file("trust", vouches.certificate());
  CHECK(thrum::net::tls_context::server({.certificate = certificate, .key = key}));
  CHECK(thrum::net::tls_context::client({.trust = trust}));
}

TEST_CASE("no child inherits the file of a key or of a certificate", "[once]") {
  if (THRUM_ASAN || THRUM_TSAN) {
    return;  // its runtime opens files of its own
  }
  std::string nothing = "THRUM_TEST_NOTHING=";
  support::inheritable_result result =
      support::inheritable_watch::run(support::own_program(), "[.reads-key]", nothing.data());
  if (!result.is_traced) {
    return;
  }
  CHECK(result.status == 0);
  CHECK(result.opened > 3);
  // OpenSSL opens its settings itself, once.
  std::erase_if(result.found, [](const std::string& each) { return each.ends_with(".cnf"); });
  CHECK(result.found == std::vector<std::string>());
}
