// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp: who is trusted: certificates, protocols and versions.

#include <thrum/net/tls.hpp>

#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/test.hpp"
#include "tls/certificates.hpp"
#include "tls/pairs.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace net = thrum::net;
using net::tls_conn;
using net::tls_context;
using net::tls_error;
using support::asking;
using support::handshake_errors;
using support::itself;
using support::new_tls_pair;
using support::serving;
using support::shake;
using support::tls_pair;
using support::vouches;

namespace {

/// What a client that expects `host` says to a certificate.
std::error_code refusal_of(const support::identity& shown, const tls_context& client,
                           std::string_view host) {
  tls_pair made = new_tls_pair(
      client, tls_context::server({.certificate = shown.certificate, .key = shown.key}), host);
  const handshake_errors errors = shake(made.client, made.server);
  if (errors.of_client) {
    std::error_code again;
    made.client.write(std::string_view("x"), again);
    CHECK(again == errors.of_client);
  }
  return errors.of_client;
}

}  // namespace

IN_RUNTIME("tls: the certificate must be for the host, whether a name or an address") {
  const tls_context client = tls_context::client(asking());
  CHECK(!refusal_of(itself(), client, "localhost"));
  CHECK(!refusal_of(itself(), client, "localhost."));
  CHECK(!refusal_of(itself(), client, "127.0.0.1"));
  CHECK(!refusal_of(itself(), client, "[::1]"));
  for (const char* const other : {"example.org", "127.0.0.2", "::2", "localhost.example.org"}) {
    const std::error_code error = refusal_of(itself(), client, other);
    CAPTURE(other, error.message());
    CHECK(error == tls_error::wrong_host);
    CHECK(error.category() == net::tls_category());
    CHECK(error.message().rfind("certificate verify failed: ", 0) == 0);
  }
  const support::identity wild = vouches().issue({.names = "DNS:*.example.org"});
  CHECK(!refusal_of(wild, client, "www.example.org"));
  CHECK(refusal_of(wild, client, "a.b.example.org") == tls_error::wrong_host);
  CHECK(refusal_of(wild, client, "example.org") == tls_error::wrong_host);
}

IN_RUNTIME("tls: a certificate's common name does not count as the name of a host") {
  const tls_context client = tls_context::client(asking());
  for (const char* const name : {"localhost", "127.0.0.1"}) {
    CAPTURE(name);
    const auto without_names = vouches().issue({.names = "", .subject = name});
    CHECK(refusal_of(without_names, client, name) == tls_error::wrong_host);
    const auto another_kind = vouches().issue({.names = "email:a@b.example", .subject = name});
    CHECK(refusal_of(another_kind, client, name) == tls_error::wrong_host);
  }
}

TEST_CASE("tls: a host that is neither a name nor an address is refused") {
  const std::string ends_early("localhost\0.example.org", 22);
  const std::string address_ends_early("127.0.0.1\0.example.org", 22);
  for (const std::string_view host :
       {std::string_view(".localhost"), std::string_view("."), std::string_view(".."),
        std::string_view(".example.org"), std::string_view("a..example.org"),
        std::string_view("*.example.org"), std::string_view("localhost%.example.org"),
        std::string_view("[localhost]"), std::string_view("[127.0.0.1]"), std::string_view("[::1"),
        std::string_view("localhost "), std::string_view("localhost:443"),
        std::string_view("localhost/"), std::string_view("127.0.0.1%1"),
        std::string_view(ends_early), std::string_view(address_ends_early)}) {
    for (const bool verify : {true, false}) {
      CAPTURE(host, verify);
      const tls_context client = tls_context::client(asking({.verify = verify}));
      std::error_code error;
      CHECK(!tls_conn::client(client, net::conn(), host, error));
      CHECK(error == std::errc::invalid_argument);
    }
  }
  for (const std::string_view host :
       {"localhost.", "under_score.example.org", "xn--bcher-kva.example", "::1", "[::1]",
        "fe80::1%eth0", "[fe80::1%3]",
        "b\xc3\xbc"
        "cher.example"}) {
    CAPTURE(host);
    std::error_code error;
    CHECK(tls_conn::client(tls_context::client(asking()), net::conn(), host, error));
    CHECK(!error);
  }
}

IN_RUNTIME("tls: a certificate for an address is not one for the same digits read otherwise") {
  // A resolver takes 010 for 8.
  const auto ten = vouches().issue({.names = "IP:10.0.0.1"});
  const tls_context client = tls_context::client(asking());
  CHECK(!refusal_of(ten, client, "10.0.0.1"));
  CHECK(refusal_of(ten, client, "010.0.0.1") == tls_error::wrong_host);
}

IN_RUNTIME("tls: a certificate that is out of date, or has no trusted issuer, is refused") {
  const tls_context client = tls_context::client(asking());
  const auto old = vouches().issue({.valid_from = -7200, .valid_until = -3600});
  const auto early = vouches().issue({.valid_from = 3600, .valid_until = 7200});
  CHECK(refusal_of(old, client, "localhost") == tls_error::expired);
  CHECK(refusal_of(early, client, "localhost") == tls_error::expired);
  const support::authority other;
  const std::error_code error = refusal_of(other.issue(), client, "localhost");
  CHECK(error == tls_error::untrusted);
  CHECK(error != tls_error::expired);
  CHECK(error.message() != "certificate verify failed: ");
  // By default the system's are trusted, of which ours is none.
  CHECK(refusal_of(itself(), tls_context::client(), "localhost") == tls_error::untrusted);
  CHECK(!refusal_of(old, tls_context::client({.verify = false}), "example.org"));
}

IN_RUNTIME("tls: the server learns why a client refuses it") {
  tls_pair made = new_tls_pair(tls_context::client(), tls_context::server(serving()), "localhost");
  const handshake_errors errors = shake(made.client, made.server);
  CHECK(errors.of_client == tls_error::untrusted);
  CHECK(errors.of_server == tls_error::refused_by_peer);
  CHECK(errors.of_server.message() == "the peer refuses: unknown CA");
  CHECK(support::error_of([&] { made.server.read_all(); }) == errors.of_server);
}

IN_RUNTIME("tls: what is thrown names the operation, the host, the peer and the reason") {
  tls_pair made =
      new_tls_pair(tls_context::client(asking()), tls_context::server(serving()), "example.org");
  auto server = thrum::spawn([&] {
    std::error_code error;
    made.server.handshake(error);
  });
  std::string text;
  try {
    made.client.handshake();
  } catch (const std::system_error& error) {
    text = error.what();
  }
  server.join();
  CHECK(text == "tls_conn::handshake \"example.org\" at " + made.client.remote().to_string() +
                    ": certificate verify failed: hostname mismatch");
}

TEST_CASE("tls: the server's order decides on the protocol, and none in common ends it") {
  const auto agree = [](std::vector<std::string> client, std::vector<std::string> server,
                        std::string& chosen) {
    tls_pair made = new_tls_pair(tls_context::client(asking({.protocols = std::move(client)})),
                                 tls_context::server(serving({.protocols = std::move(server)})));
    const handshake_errors errors = shake(made.client, made.server);
    chosen = made.client.protocol();
    CHECK((errors.of_client || made.server.protocol() == chosen));
    CHECK(!errors.of_client == !errors.of_server);
    return errors;
  };
  with_runtime([&] {
    std::string chosen;
    CHECK(!agree({"a", "http/1.1", "h2"}, {"h2", "http/1.1"}, chosen).of_client);
    CHECK(chosen == "h2");
    CHECK(!agree({}, {"h2"}, chosen).of_client);
    CHECK(chosen.empty());
    CHECK(!agree({"h2"}, {}, chosen).of_client);
    CHECK(chosen.empty());
    const handshake_errors errors = agree({"a"}, {"b"}, chosen);
    CHECK(errors.of_client == tls_error::no_common_protocol);
    CHECK(errors.of_server == tls_error::no_common_protocol);
    CHECK(errors.of_client.message() == "the peer refuses: no application protocol");
  });
}

IN_RUNTIME("tls: a server can ask its clients for certificates") {
  const auto with = [](net::client_certificate asked, net::tls_options own) {
    const bool has_own = !own.certificate.empty();
    tls_pair made = new_tls_pair(
        tls_context::client(asking(std::move(own))),
        tls_context::server(serving({.trust = vouches().certificate(), .ask_client = asked})));
    const std::error_code error = shake(made.client, made.server).of_server;
    ::X509* const shown = SSL_get1_peer_certificate(made.server.native_session());
    CHECK((error || (shown != nullptr) == has_own));
    X509_free(shown);
    return error;
  };
  const support::identity own = vouches().issue();
  const support::identity stranger = support::authority().issue();
  const auto shows = [](const support::identity& who) {
    return net::tls_options{.certificate = who.certificate, .key = who.key};
  };
  using net::client_certificate;
  CHECK(!with(client_certificate::required, shows(own)));
  CHECK(with(client_certificate::required, {}) == tls_error::untrusted);
  CHECK(with(client_certificate::required, shows(stranger)) == tls_error::untrusted);
  CHECK(!with(client_certificate::optional, {}));
  CHECK(with(client_certificate::optional, shows(stranger)) == tls_error::untrusted);
}

IN_RUNTIME("tls: versions below the minimum are refused") {
  const tls_context old = tls_context::client(asking());
  SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_2_VERSION);
  tls_pair made = new_tls_pair(
      old, tls_context::server(serving({.minimum = net::tls_version::tls_1_3})), "localhost");
  const handshake_errors errors = shake(made.client, made.server);
  CHECK(errors.of_client == tls_error::refused_by_peer);
  CHECK(errors.of_client.message() == "the peer refuses: protocol version");
  CHECK(errors.of_server == tls_error::protocol);
}

TEST_CASE("tls_context: says which file it cannot use, and why") {
  const support::folder folder;
  folder.write("own.pem", itself().certificate + itself().key);
  folder.write("key.pem", vouches().issue().key);
  folder.write("empty.pem", "");
  const auto path = [&](const char* name) { return (folder / name).string(); };
  std::error_code error;
  CHECK(tls_context::server({.certificate = path("own.pem")}, error));
  CHECK(!error);
  CHECK(!tls_context::server({}, error));
  CHECK(error == std::errc::invalid_argument);
  CHECK(!tls_context::server({.certificate = path("none.pem")}, error));
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(!tls_context::server({.certificate = path("empty.pem")}, error));
  CHECK(error.message() == "TLS failed: no start line");
  CHECK(!tls_context::server({.certificate = path("own.pem"), .key = path("key.pem")}, error));
  CHECK(error.message() == "TLS failed: key values mismatch");
  CHECK(!tls_context::client({.trust = path("none.pem")}, error));
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(tls_context::client({.trust = path("")}, error));  // a folder
  CHECK(!tls_context::client({.protocols = {""}}, error));
  CHECK(error == std::errc::invalid_argument);
  std::string text;
  try {
    static_cast<void>(tls_context::server({.certificate = path("own.pem"), .key = "-----BEGIN x"}));
  } catch (const std::system_error& thrown) {
    text = thrown.what();
  }
  CHECK(text.rfind("tls_context::server key text: TLS failed: ", 0) == 0);  // and not the key
}

TEST_CASE("tls_context: a key that is encrypted is read with its password, and never asked for") {
  const thrum::net_detail::tls_owner<::BIO> from(BIO_new_mem_buf(itself().key.data(), -1));
  const thrum::net_detail::tls_owner<::EVP_PKEY> key(
      PEM_read_bio_PrivateKey(from.get(), nullptr, nullptr, nullptr));
  const thrum::net_detail::tls_owner<::BIO> to(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(to.get(), key.get(), EVP_aes_128_cbc(), "secret", 6, nullptr,
                                nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(to.get(), &text);
  net::tls_options how = serving();
  how.key.assign(text, static_cast<std::size_t>(size));
  std::error_code error;
  CHECK(!tls_context::server(how, error));
  CHECK(error);
  how.key_password = "wrong";
  CHECK(!tls_context::server(how, error));
  how.key_password = "secret";
  CHECK(tls_context::server(how, error));
  CHECK(!error);
}

IN_RUNTIME("tls_conn: needs a context for its side and a host to expect") {
  const tls_context client = tls_context::client(asking());
  std::error_code error;
  CHECK(!tls_conn::server(client, support::tcp_pair().server, error));
  CHECK(error == std::errc::invalid_argument);
  CHECK(support::is_usage_error("tls_conn::server",
                                [&] { tls_conn::server(client, support::tcp_pair().server); }));
  CHECK(support::is_usage_error("tls_conn::client", [&] {
    tls_conn::client(tls_context(), support::tcp_pair().client, "localhost");
  }));
  CHECK(!tls_conn::client(client, support::tcp_pair().client, "", error));
  CHECK(error == std::errc::invalid_argument);
  tls_conn none;
  CHECK(!none);
  none.read_all(error);
  CHECK(error == std::errc::bad_file_descriptor);
  none.write(std::string_view("x"), error);
  CHECK(error == std::errc::bad_file_descriptor);
  none.close_write(error);
  CHECK(error == std::errc::bad_file_descriptor);
  CHECK(none.protocol().empty());
  none.set_deadline(support::steady::now());
  none.close();
}
