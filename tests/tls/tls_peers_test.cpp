// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net/tls.hpp beside programs of others: openssl's client and server, curl, nginx. What is not
// installed is left out, and said.

#include <thrum/net/tls.hpp>

#include "support/folder.hpp"
#include "support/net.hpp"
#include "support/server_process.hpp"
#include "support/shell.hpp"
#include "support/test.hpp"
#include "tls/certificates.hpp"

#include <filesystem>

namespace io = thrum::io;
namespace net = thrum::net;

namespace {

bool takes_part(const std::string& program) {
  const bool found = support::is_installed(program);
  if (!found) {
    WARN(program << " is not installed: what it would show is left out");
  }
  return found;
}

/// An authority and what it vouches for, as files.
struct papers {
  papers() {
    const support::identity own = vouches.issue();
    folder.write("ca.pem", vouches.certificate());
    folder.write("cert.pem", own.certificate);
    folder.write("key.pem", own.key);
  }
  std::string path(const char* name) const { return (folder / name).string(); }

  net::tls_context client(net::tls_options how = {}) const {
    how.trust = path("ca.pem");
    return net::tls_context::client(how);
  }
  net::tls_context server(net::tls_options how = {}) const {
    how.certificate = path("cert.pem");
    how.key = path("key.pem");
    return net::tls_context::server(how);
  }

  support::authority vouches;
  support::folder folder;
};

/// All that a line of a shell writes, whatever its exit status.
std::string said_by(const std::string& line) {
  io::process p = support::shell(line + " 2>&1", {.out = io::redirect::pipe()});
  std::string text = p.out().read_all();
  p.wait();
  return text;
}

bool has_text(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The same of a line to whose input `word` is written; the input ends when that has come back.
std::string said_by(const std::string& line, const std::string& word) {
  io::process p =
      support::shell(line + " 2>&1", {.in = io::redirect::pipe(), .out = io::redirect::pipe()});
  std::error_code error;  // it may have ended: what it has said tells why
  p.in().write(word + "\n", error);
  std::string text;
  char piece[1024];
  while (!has_text(text, "\n" + word + "\n")) {
    const std::size_t n = p.out().read(std::span<char>(piece));
    if (n == 0) {
      break;
    }
    text.append(piece, n);
  }
  p.in().close();
  text += p.out().read_all();
  p.wait();
  return text;
}

/// openssl s_server on a port that it chooses.
class openssl_server {
 public:
  openssl_server(const papers& own, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "openssl", "s_server",           "-accept", "127.0.0.1:0",
        "-cert",   own.path("cert.pem"), "-key",    own.path("key.pem")};
    words.insert(words.end(), more.begin(), more.end());
    process_.emplace(words, "ACCEPT 127.0.0.1:");
    const std::string text = process_->text();
    port_ = text.substr(text.rfind(':') + 1);
    port_ = port_.substr(0, port_.find_first_not_of("0123456789"));
  }
  std::string at() const { return "localhost:" + port_; }

 private:
  std::optional<support::server_process> process_;
  std::string port_;
};

/// Serves every connection with a handler until the test has ended.
template <class Handler>
class own_server {
 public:
  own_server(net::tls_context context, Handler handler)
      : server_(net::listener::listen(support::loopback())),
        runs_(thrum::spawn([this, context = std::move(context), handler = std::move(handler)] {
          server_.serve([&](net::conn& c) {
            net::tls_conn secured = net::tls_conn::server(context, c);
            handler(secured);
          });
        })) {}
  ~own_server() { server_.stop_until(support::steady::now()); }

  std::string port() const { return std::to_string(server_.local().port()); }

 private:
  net::server server_;
  thrum::join_handle<void> runs_;
};

void echo_tls(net::tls_conn& c) {
  io::copy(c, c);
  c.close_write();
}

/// Answers requests of HTTP/1.1 with the path and the protocol that was agreed on.
void answer_http(net::tls_conn& c) {
  io::buffered_reader requests(c);
  while (const auto line = requests.read_line()) {
    const std::string first = *line;
    for (auto header = requests.read_line(); header && !header->empty();) {
      header = requests.read_line();
    }
    const std::string path = first.substr(4, first.find(' ', 4) - 4);
    const std::string body = path + " by " + c.protocol() + "\n";
    c.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
            body);
  }
  c.close_write();
}

}  // namespace

TEST_CASE("tls: a client of ours and openssl's server", "[once]") {
  if (!takes_part("openssl")) {
    return;
  }
  const papers own;
  for (const char* const version : {"-tls1_2", "-tls1_3"}) {
    const openssl_server server(own, {"-rev", version, "-alpn", "h2,http/1.1"});
    with_runtime([&] {
      const net::tls_context context = own.client({.protocols = {"http/1.1"}});
      std::string resumed;
      for (int i = 0; i < 3; ++i) {
        net::tls_conn c = net::tls_dial(server.at(), context, 60s);
        c.write(std::string_view("hello\n"));
        io::buffered_reader lines(c);
        CHECK(lines.read_line() == "olleh");
        CHECK(c.protocol() == "http/1.1");
        CHECK(c.version() == (std::string_view(version) == "-tls1_2" ? "TLSv1.2" : "TLSv1.3"));
        resumed += c.resumed() ? 'r' : '-';
      }
      CHECK(resumed == "-rr");
      std::error_code error;
      CHECK(!net::tls_dial("127.0.0.2" + server.at().substr(server.at().find(':')), context, 60s,
                           error));
      CHECK(error);  // nobody there, or not the certificate's address
      CHECK(!net::tls_dial(server.at(), net::tls_context::client(), 60s, error));
      CHECK(error == net::tls_error::untrusted);
    });
  }
}

TEST_CASE("tls: a server of ours and openssl's client", "[once]") {
  if (!takes_part("openssl")) {
    return;
  }
  const papers own;
  with_runtime([&] {
    own_server server(own.server({.protocols = {"h2"}}), &echo_tls);
    const std::string client = "openssl s_client -verify_return_error -CAfile '" +
                               own.path("ca.pem") + "' -connect localhost:" + server.port();
    const std::string talk = said_by(client + " -alpn h2,x", "hello");
    CHECK(has_text(talk, "Verification: OK"));
    CHECK(has_text(talk, "ALPN protocol: h2"));
    CHECK(has_text(talk, "\nhello\n"));
    CHECK(has_text(said_by("echo | " + client + " -alpn x"), "no application protocol"));
    CHECK(has_text(said_by("echo | " + client + " -tls1_1"), "alert"));
    const std::string again = said_by("echo | " + client + " -tls1_2 -reconnect");
    CHECK(has_text(again, "Reused, TLSv1.2"));
    const std::string session = own.path("session.pem");
    // The session is there when the echo is: it was sent before.
    CHECK(has_text(said_by(client + " -tls1_3 -sess_out '" + session + "'", "x"), "\nx\n"));
    CHECK(has_text(said_by("echo | " + client + " -tls1_3 -sess_in '" + session + "'"),
                   "Reused, TLSv1.3"));
  });
}

TEST_CASE("tls: a server of ours and curl", "[once]") {
  if (!takes_part("curl")) {
    return;
  }
  const papers own;
  with_runtime([&] {
    own_server server(own.server({.protocols = {"http/1.1"}}), &answer_http);
    const std::string at = "https://localhost:" + server.port();
    const std::string get = "curl -sS --noproxy '*' -m 100 --cacert '" + own.path("ca.pem") + "' ";
    CHECK(said_by(get + at + "/one " + at + "/two") == "/one by http/1.1\n/two by http/1.1\n");
    CHECK(has_text(said_by(get + "-v " + at + "/one"), "200 OK"));
    CHECK(has_text(said_by("curl -sS --noproxy '*' -m 100 " + at), "certificate"));
  });
}

TEST_CASE("tls: a client of ours and nginx", "[once]") {
  if (!takes_part("nginx")) {
    return;
  }
  const papers own;
  own.folder.write("root/index.html", std::string(300'000, 'x'));
  std::filesystem::permissions(own.folder / "",
                               std::filesystem::perms(0755));  // its worker is nobody
  // nginx cannot choose a port itself. This one nobody else is given.
  const net::endpoint port = net::listener::listen(support::own_loopback()).local();
  own.folder.write("nginx.conf",
                   "daemon off; worker_processes 1; pid nginx.pid; error_log stderr notice;\n"
                   "events { worker_connections 64; }\n"
                   "http { access_log off; client_body_temp_path a; proxy_temp_path b;\n"
                   "fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;\n"
                   "server { listen " +
                       port.to_string() +
                       " ssl; server_name localhost;\n"
                       "ssl_certificate cert.pem; ssl_certificate_key key.pem;\n"
                       "ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:x:1m;\n"
                       "root root; } }\n");
  const std::string folder = (own.folder / "").string();
  support::server_process server({"nginx", "-p", folder, "-c", "nginx.conf"},
                                 "start worker process ");
  if (!server.is_alive()) {
    WARN("nginx cannot be started: what it would show is left out");
    return;
  }
  with_runtime([&] {
    const net::tls_context context = own.client({.protocols = {"http/1.1"}});
    std::string resumed;
    for (int i = 0; i < 3; ++i) {
      net::tls_conn c = net::tls_conn::client(context, net::dial(port), "localhost");
      c.write(std::string_view("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
      const std::string answer = c.read_all();
      CHECK(has_text(answer, "200 OK"));
      CHECK(answer.size() > 300'000);
      CHECK(c.protocol() == "http/1.1");
      resumed += c.resumed() ? 'r' : '-';
    }
    CHECK(resumed == "-rr");
  });
  server.terminate();  // its worker would outlive a process that is killed
  server.wait();
}
