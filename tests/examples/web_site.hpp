// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A folder of files that examples/http_server serves, and what is said with it.
#ifndef THRUM_TESTS_UNIT_EXAMPLES_WEB_SITE_HPP
#define THRUM_TESTS_UNIT_EXAMPLES_WEB_SITE_HPP

#include "clients.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace examples {

inline std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n";
}

inline const std::string to_close = "Connection: close\r\n";

inline std::string answer(const std::string& line, const std::string& type, const std::string& body,
                          const std::string& fields = "") {
  return "HTTP/1.1 " + line + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nContent-Type: " + type + "\r\n" + fields + "\r\n" + body;
}

inline std::string refusal(const std::string& line, const std::string& fields = "") {
  return answer(line, "text/plain; charset=utf-8", line.substr(4) + "\n", fields);
}

inline const std::string plain = "text/plain; charset=utf-8";

/// A site with everything that may go wrong, and its server.
class web_site {
 public:
  explicit web_site(const std::string& procs = "2", const std::string& idle = "100") {
    files_.write("secret.txt", "not for you\n");
    files_.write("site/index.html", "<p>home</p>\n");
    files_.write("site/note.txt", "a note\n");
    files_.write("site/a b.txt", "a blank\n");
    files_.write("site/empty.txt", "");
    files_.write("site/sub/index.html", "<p>below</p>\n");
    files_.write("site/big.bin", big);
    std::error_code error;
    fs::create_symlink("note.txt", files_ / "site/inside", error);
    fs::create_symlink("../secret.txt", files_ / "site/outside", error);
    fs::create_directory_symlink("..", files_ / "site/up", error);
    fs::create_symlink(files_ / "site/note.txt", files_ / "site/absolute", error);
    server_.emplace(example_words("http_server", on(procs, {(files_ / "site").string(), "--listen",
                                                            "127.0.0.1:0", "--idle", idle})));
    REQUIRE_FALSE(server_->address().empty());
  }

  const std::string& address() const { return server_->address(); }
  const server_process& server() const { return *server_; }
  server_process& server() { return *server_; }
  std::string url(const std::string& target) const { return "http://" + address() + target; }
  fs::path file(const std::string& name) const { return files_ / ("site/" + name); }

  const std::string big = pattern(700'000);

 private:
  folder files_;
  std::optional<server_process> server_;
};

}  // namespace examples

#endif
