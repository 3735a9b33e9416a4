// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The examples that use the network, as processes of their own: driven by the programs that people
// use for such servers, where those are installed, and by our own connections.

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR

#include <thrum.hpp>

#include "../examples/http/open_beneath.hpp"

#include "support/eventually.hpp"
#include "support/program.hpp"
#include "support/scale.hpp"
#include "support/server_process.hpp"
#include "support/with_runtime.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using support::example_words;
using support::run_line;
using support::server_process;

/// Whether a program can take part; says so if not.
bool has(const std::string& program) {
  const bool found = support::is_installed(program);
  if (!found) {
    WARN(program << " is not installed: what it would show is left out");
  }
  return found;
}

/// The same for an example that needs a foreign library.
bool is_built(const std::string& example) {
  const bool found = fs::exists(fs::path(THRUM_EXAMPLES_DIR) / example);
  if (!found) {
    WARN(example << " was not built, its library is missing: what it would show is left out");
  }
  return found;
}

/// A line for the shell that runs an example.
std::string example_line(const std::string& name, const std::string& arguments) {
  std::string line;
  for (const std::string& word : example_words(name)) {
    line += "'" + word + "' ";
  }
  return line + arguments;
}

std::string port_of(const server_process& server) {
  return server.address().substr(server.address().rfind(':') + 1);
}

thrum::net::conn dial(const std::string& address) {
  thrum::net::conn c = thrum::net::dial(std::string_view(address));
  c.set_deadline(std::chrono::steady_clock::now() + support::long_time);
  return c;
}

/// Until the end of the stream; any failure, too, ends it.
std::string read_all(thrum::net::conn& c) {
  std::string text;
  std::array<char, 16384> buffer;
  std::error_code error;
  while (const std::size_t n = c.read(std::span<char>(buffer), error)) {
    text.append(buffer.data(), n);
  }
  return error == std::errc::timed_out ? text + "(no end)" : text;
}

/// A line without its end; `rest` holds what was read behind it, for the next one. Empty at the end
/// of the stream.
std::string read_line(thrum::net::conn& c, std::string& rest) {
  std::size_t end = 0;
  while ((end = rest.find('\n')) == std::string::npos) {
    std::array<char, 16384> buffer;
    std::error_code error;
    const std::size_t n = c.read(std::span<char>(buffer), error);
    if (n == 0) {
      return {};
    }
    rest.append(buffer.data(), n);
  }
  std::string line = rest.substr(0, end);
  rest.erase(0, end + 1);
  return line;
}

/// Writes while it reads, and ends its stream when all is written.
std::string talk(const std::string& address, const std::string& text) {
  thrum::net::conn c = dial(address);
  const auto writer = thrum::spawn([&] {
    std::error_code error;
    c.write(text, error);
    c.close_write(error);
  });
  return read_all(c);
}

std::string pattern(std::size_t n) {
  std::string text(n, '\0');
  std::uint32_t x = 1;
  for (char& c : text) {
    x = x * 1664525 + 1013904223;
    c = static_cast<char>(x >> 24);
  }
  return text;
}

/// A new directory, which is removed with the object.
class folder {
 public:
  folder() {
    std::string name = (fs::temp_directory_path() / "thrum-examples-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) {
      path_ = name;
    }
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code gone;
    fs::remove_all(path_, gone);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  fs::path path_;
};

// ---- echo_server ----

/// Stands for the number of processors that the example chooses for itself.
std::vector<std::string> on(const std::string& procs, std::vector<std::string> words) {
  words.insert(words.end(), {"--procs", procs});
  return words;
}

TEST_CASE("the echo server sends back what it gets, to many at the same time") {
  for (const char* const procs : {"1", "4"}) {
    server_process server(example_words("echo_server", on(procs, {"--listen", "127.0.0.1:0"})));
    REQUIRE_FALSE(server.address().empty());
    support::with_runtime([&] {
      const std::string text = pattern(300'000);
      int right = 0;
      thrum::mutex mutex;
      thrum::wait_group all;
      for (int i = 0; i != 20; ++i) {
        all.go([&] {
          const bool same = talk(server.address(), text) == text;
          const std::lock_guard lock(mutex);
          right += same ? 1 : 0;
        });
      }
      all.wait();
      CHECK(right == 20);
    });
    if (has("nc")) {
      CHECK(run_line("echo hello | nc -N 127.0.0.1 " + port_of(server)).text == "hello\n");
    }
  }
}

TEST_CASE("a server that cannot do what it is asked says why, and what to do") {
  server_process server(example_words("echo_server", {"--listen", "127.0.0.1:0"}));
  const auto taken = run_line(example_line("echo_server", "--listen " + server.address()));
  CHECK(taken.exit_code == 1);
  CHECK(taken.says("cannot listen on " + server.address()));
  CHECK(taken.says("--listen"));
  CHECK(run_line(example_line("echo_server", "--procs x")).exit_code == 2);
  CHECK(run_line(example_line("echo_server", "--nonsense 1")).says("usage:"));
  const auto missing = run_line(example_line("http_server", "/nonexistent"));
  CHECK(missing.exit_code == 1);
  CHECK(missing.says("cannot open /nonexistent"));
}

// ---- http_server ----

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + "\r\n";
}

const std::string to_close = "Connection: close\r\n";

std::string answer(const std::string& line, const std::string& type, const std::string& body,
                   const std::string& fields = "") {
  return "HTTP/1.1 " + line + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nContent-Type: " + type + "\r\n" + fields + "\r\n" + body;
}

std::string refusal(const std::string& line, const std::string& fields = "") {
  return answer(line, "text/plain; charset=utf-8", line.substr(4) + "\n", fields);
}

const std::string plain = "text/plain; charset=utf-8";

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
    ::mkfifo((files_ / "site/pipe").c_str(), 0600);
    server_.emplace(example_words("http_server", on(procs, {(files_ / "site").string(), "--listen",
                                                            "127.0.0.1:0", "--idle", idle})));
    REQUIRE_FALSE(server_->address().empty());
  }

  const std::string& address() const { return server_->address(); }
  const server_process& server() const { return *server_; }
  std::string url(const std::string& target) const { return "http://" + address() + target; }
  fs::path file(const std::string& name) const { return files_ / ("site/" + name); }

  const std::string big = pattern(700'000);

 private:
  folder files_;
  std::optional<server_process> server_;
};

TEST_CASE("the HTTP server answers each request of a pipeline, byte by byte and in order") {
  for (const char* const procs : {"1", "4"}) {
    const web_site site(procs);
    support::with_runtime([&] {
      std::string requests;
      std::string expected;
      const auto add = [&](const std::string& request, const std::string& reply) {
        requests += request;
        expected += reply;
      };
      const std::string hello = answer("200 OK", plain, "Hello, World!");
      const std::string hello_head = hello.substr(0, hello.size() - 13);
      for (int i = 0; i != 200; ++i) {
        add(get("/hello"), hello);
        add(get("/note.txt?x=1"), answer("200 OK", plain, "a note\n"));
        add(get("/none"), refusal("404 Not Found"));
        add("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n", hello_head);
        add("PUT / HTTP/1.1\r\nHost: a\r\n\r\n",
            refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n"));
        add("GET http://test/hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            answer("200 OK", plain, "Hello, World!", "Connection: keep-alive\r\n"));
        if (i % 50 == 0) {
          add(get("/big.bin"), answer("200 OK", "application/octet-stream", site.big));
        }
      }
      add(get("/", to_close), answer("200 OK", "text/html; charset=utf-8", "<p>home</p>\n", to_close));
      requests += get("/hello");  // is not answered any more
      CHECK(talk(site.address(), requests) == expected);

      // The same in pieces that end anywhere.
      thrum::net::conn c = dial(site.address());
      const auto writer = thrum::spawn([&] {
        std::error_code error;
        for (std::size_t at = 0, n = 1; at < requests.size() && !error; at += n, n = n % 97 + 1) {
          c.write(std::string_view(requests).substr(at, n), error);
          thrum::this_goroutine::yield();
        }
      });
      CHECK(read_all(c) == expected);
    });
  }
}

TEST_CASE("the HTTP server serves files by name, with their types") {
  const web_site site;
  support::with_runtime([&] {
    const auto body_of = [&](const std::string& target) {
      const std::string all = talk(site.address(), get(target, to_close));
      const std::size_t end = all.find("\r\n\r\n");
      return all.substr(0, 15) != "HTTP/1.1 200 OK" ? "failed: " + all : all.substr(end + 4);
    };
    CHECK(body_of("/index.html") == "<p>home</p>\n");
    CHECK(body_of("/sub/") == "<p>below</p>\n");
    CHECK(body_of("/./a%20b%2Etxt") == "a blank\n");
    CHECK(body_of("/empty.txt").empty());
    CHECK(body_of("/big.bin") == site.big);
    CHECK(body_of("http://elsewhere/note.txt") == "a note\n");
    const std::string head =
        talk(site.address(), "HEAD /big.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    CHECK(head.find("Content-Length: 700000\r\n") != std::string::npos);
    CHECK(head.ends_with("\r\n\r\n"));
  });
}

TEST_CASE("nothing outside of its directory is ever served") {
  const web_site site;
  support::with_runtime([&] {
    for (const char* const target : {"/../secret.txt",
                                     "/sub/../../secret.txt",
                                     "/%2e%2e/secret.txt",
                                     "/..%2fsecret.txt",
                                     "/%2e%2e%2fsecret.txt",
                                     "/.%2e/secret.txt",
                                     "//secret.txt",
                                     "/./../secret.txt",
                                     "/outside",
                                     "/up/secret.txt",
                                     "/up/site/note.txt",
                                     "/absolute",
                                     "/sub/%2e%2e/../secret.txt",
                                     "//etc/passwd",
                                     "/../../../../../../../../etc/passwd",
                                     "/%2fetc/passwd",
                                     "/note.txt/../../secret.txt",
                                     "/pipe",
                                     "/sub",
                                     "http://a/../secret.txt"}) {
      INFO(target);
      CHECK(talk(site.address(), get(target, to_close)) == refusal("404 Not Found", to_close));
    }
    for (const char* const target : {"/%00", "/note.txt%00.html", "/%", "/%2", "/%zz", "/%+1",
                                     "secret.txt", "../secret.txt", "*", "?x"}) {
      INFO(target);
      CHECK(talk(site.address(), get(target, to_close)) == refusal("400 Bad Request", to_close));
    }
  });
}

TEST_CASE("what stands below a directory can be opened, with and without the kernel's help") {
  const folder files;
  files.write("secret.txt", "not for you");
  files.write("site/sub/note.txt", "a note");
  fs::create_symlink("sub/note.txt", files / "site/inside");
  fs::create_symlink("../secret.txt", files / "site/outside");
  fs::create_directory_symlink("..", files / "site/up");
  const http::file_handle root(::open((files / "site").c_str(), O_PATH | O_DIRECTORY));
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
  CHECK((inside.get() >= 0 || errno == ELOOP));  // ELOOP: the kernel does not have openat2
}

TEST_CASE("the HTTP server tells what is wrong with a request, and hangs up") {
  const web_site site;
  support::with_runtime([&] {
    const auto check = [&](const std::string& request, const std::string& line,
                           const std::string& fields = "") {
      INFO(request.substr(0, 100));
      CHECK(talk(site.address(), request + get("/hello")) == refusal(line, fields + to_close));
    };
    check("nonsense\r\n", "400 Bad Request");
    check("GET / HTTP/1.1\r\n\r\n", "400 Bad Request");
    check("GET / HTTP/1.1\nHost: a\n\n", "400 Bad Request");
    check("GET / HTTP/3.0\r\n\r\n", "505 HTTP Version Not Supported");
    check(get("/", "Content-Length: 5\r\n"), "413 Content Too Large");
    check(get("/", "Transfer-Encoding: chunked\r\n"), "413 Content Too Large");
    check("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "405 Method Not Allowed",
          "Allow: GET, HEAD\r\n");
    check(get("/", "x: " + std::string(9000, 'y') + "\r\n"), "431 Request Header Fields Too Large");
    check("GET /" + std::string(100'000, 'y') + " HTTP/1.1\r\n",
          "431 Request Header Fields Too Large");
  });
}

TEST_CASE("who does not finish a request, or sends none, is disconnected after the idle time") {
  const web_site site("2", "1");
  support::with_runtime([&] {
    const auto begin = std::chrono::steady_clock::now();
    thrum::net::conn silent = dial(site.address());
    thrum::net::conn slow = dial(site.address());
    thrum::net::conn used = dial(site.address());
    slow.write("GET / HTTP/1.1\r\nHost:");
    used.write(get("/hello"));
    CHECK(read_all(silent).empty());
    CHECK(read_all(slow) == refusal("408 Request Timeout", to_close));
    CHECK(read_all(used) == answer("200 OK", plain, "Hello, World!"));
    CHECK(std::chrono::steady_clock::now() - begin >= 900ms);
  });
}

TEST_CASE("clients that vanish do not end the HTTP server") {
  const web_site site;
  support::with_runtime([&] {
    std::string much;
    for (int i = 0; i != 20; ++i) {
      much += get("/big.bin");
    }
    for (int i = 0; i != 20; ++i) {
      thrum::net::conn c = dial(site.address());
      c.write(much);
      char first[1];
      c.read(first);
      if (i % 2 == 0) {
        c.close_write();
      }
      c.linger(0);  // a reset
    }
    CHECK(talk(site.address(), get("/hello", to_close)).ends_with("Hello, World!"));
  });
  CHECK(site.server().is_alive());
}

/// Resident memory of a process in bytes.
std::size_t resident_bytes(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/smaps_rollup");
  for (std::string word; file >> word;) {
    if (word == "Rss:") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

TEST_CASE("an idle connection costs the HTTP server less than 6 KiB") {
  constexpr std::size_t connections = 2000;
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (!support::memory_is_exact() || limit.rlim_max < connections + 200) {
    WARN("memory means nothing here, or too few descriptors are allowed: left out");
    return;
  }
  const ::rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const web_site site;
  support::with_runtime([&] {
    const auto use = [&](thrum::net::conn& c) {
      const std::string expected = answer("200 OK", plain, "a note\n");
      std::string text(expected.size(), '\0');
      c.write(get("/note.txt"));
      c.read_full(text);
      return text == expected;
    };
    thrum::net::conn first = dial(site.address());
    CHECK(use(first));
    const std::size_t alone = resident_bytes(site.server().id());
    std::vector<thrum::net::conn> idle;
    std::size_t answered = 0;
    for (std::size_t i = 0; i != connections; ++i) {
      idle.push_back(dial(site.address()));
      answered += use(idle.back()) ? 1 : 0;
    }
    CHECK(answered == connections);
    const std::size_t together = resident_bytes(site.server().id());
    CHECK(alone != 0);
    CHECK((together - alone) / connections < 6 * 1024);
  });
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("curl and wrk are content with the HTTP server") {
  const web_site site;
  if (has("curl")) {
    const auto curl = [](const std::string& words) { return run_line("curl -sS " + words); };
    CHECK(curl(site.url("/note.txt")).text == "a note\n");
    CHECK(curl("-I " + site.url("/")).says("Content-Type: text/html"));
    CHECK(curl("--path-as-is -o /dev/null -w '%{http_code}' " + site.url("/../secret.txt")).text ==
          "404");
    CHECK(curl("-d x=y -o /dev/null -w '%{http_code}' " + site.url("/")).text == "405");
    CHECK(
        curl(site.url("/big.bin") + " | cmp - '" + site.file("big.bin").string() + "'").exit_code ==
        0);
    CHECK(curl("-w '%{num_connects} ' " + site.url("/hello") + " " + site.url("/hello")).text ==
          "Hello, World!1 Hello, World!0 ");
  }
  if (has("wrk")) {
    for (const char* const target : {"/hello", "/note.txt"}) {
      const auto result = run_line("wrk -t 1 -c 20 -d 1s " + site.url(target));
      INFO(result.text);
      CHECK(result.exit_code == 0);
      CHECK(result.says("requests in"));
      CHECK_FALSE(result.says("\n  0 requests in"));
      CHECK_FALSE(result.says("Non-2xx"));
    }
  }
}

// ---- proxy ----

TEST_CASE("the proxy forwards both directions, and the end of each alone") {
  for (const char* const procs : {"1", "4"}) {
    server_process echo(example_words("echo_server", {"--listen", "127.0.0.1:0"}));
    server_process proxy(example_words("proxy", on(procs, {"127.0.0.1:0", echo.address()})));
    REQUIRE_FALSE(proxy.address().empty());
    support::with_runtime([&] {
      const std::string text = pattern(2'000'000);
      CHECK(talk(proxy.address(), text) == text);
    });
  }
}

TEST_CASE("through the proxy a server may end first, and still hears the rest") {
  auto listener = thrum::net::listener::listen("127.0.0.1:0");
  server_process proxy(
      example_words("proxy", {"127.0.0.1:0", listener.local().to_string(), "--procs", "2"}));
  REQUIRE_FALSE(proxy.address().empty());
  support::with_runtime([&] {
    thrum::net::conn client = dial(proxy.address());
    thrum::net::conn server = listener.accept();
    server.set_deadline(std::chrono::steady_clock::now() + support::long_time);
    server.write("that is all");
    server.close_write();
    CHECK(read_all(client) == "that is all");
    client.write("there is more");
    client.close_write();
    CHECK(read_all(server) == "there is more");

    client = dial(proxy.address());
    server = listener.accept();
    server.set_deadline(std::chrono::steady_clock::now() + support::long_time);
    server.linger(0);
    server.close();  // a reset ends both directions
    CHECK(read_all(client).empty());

    listener.close();
    std::error_code error;  // the proxy may reset the connection before dial returns
    client = thrum::net::dial(std::string_view(proxy.address()), 0s, error);
    CHECK(read_all(client).empty());
  });
  CHECK(proxy.is_alive());
}

// ---- chat ----

/// A client that has said its name.
struct chatter {
  chatter(const std::string& address, const std::string& name) : c(dial(address)) {
    CHECK(hear() == "* what is your name?");
    say(name + "\n");
  }
  void say(const std::string& text) { c.write(text); }
  std::string hear() { return read_line(c, rest); }

  thrum::net::conn c;
  std::string rest;
};

TEST_CASE("in the chat everybody hears what everybody says") {
  for (const char* const procs : {"1", "4"}) {
    server_process server(example_words("chat", on(procs, {"--listen", "127.0.0.1:0"})));
    REQUIRE_FALSE(server.address().empty());
    support::with_runtime([&] {
      chatter ada(server.address(), "ada");
      CHECK(ada.hear() == "* ada is here");
      chatter bob(server.address(), "bob\r");
      CHECK(ada.hear() == "* bob is here");
      CHECK(bob.hear() == "* bob is here");
      ada.say("hello\nhow are");
      CHECK(bob.hear() == "ada: hello");
      ada.say(" you?\n");
      CHECK(bob.hear() == "ada: how are you?");
      bob.say("fine\n");
      for (const char* const line : {"ada: hello", "ada: how are you?", "bob: fine"}) {
        CHECK(ada.hear() == line);
      }
      chatter second(server.address(), "ada");
      CHECK(second.hear() == "* somebody else is called so; connect again as another");
      CHECK(read_all(second.c).empty());
      chatter nobody(server.address(), "two words");
      CHECK(nobody.hear().starts_with("* a name has"));
      bob.c.close_write();
      CHECK(ada.hear() == "* bob has left");
      ada.say(std::string(5000, 'x'));  // no line is that long
      CHECK(read_all(ada.c).empty());
    });
    if (has("nc")) {
      // It hears itself, and its end of input ends it.
      const auto result = run_line("(echo eve; echo hi) | nc -N 127.0.0.1 " + port_of(server));
      CHECK(result.says("* eve is here"));
      CHECK(result.says("eve: hi"));
    }
  }
}

TEST_CASE("a client of the chat that does not read is dropped, and holds up nobody") {
  server_process server(example_words("chat", on("2", {"--listen", "127.0.0.1:0"})));
  REQUIRE_FALSE(server.address().empty());
  support::with_runtime([&] {
    chatter lazy(server.address(), "lazy");
    CHECK(lazy.hear() == "* lazy is here");
    chatter ada(server.address(), "ada");
    CHECK(ada.hear() == "* ada is here");
    // What the system buffers for the lazy one is a few megabytes; ada hears all of it in step.
    const std::string text(900, 'x');
    std::string block;
    constexpr int lines = 100;
    for (int i = 0; i != lines; ++i) {
      block += text + "\n";
    }
    bool dropped = false;
    int wrong = 0;
    for (int round = 0; round != 1000 && !dropped; ++round) {
      ada.say(block);
      for (int i = 0; i != lines;) {
        const std::string line = ada.hear();
        const bool is_news = line == "* lazy was too slow";
        dropped = dropped || is_news;
        wrong += is_news || line == "ada: " + text ? 0 : 1;
        i += is_news ? 0 : 1;
        if (wrong != 0) {
          break;
        }
      }
      if (wrong != 0) {
        break;
      }
    }
    CHECK(wrong == 0);
    CHECK(dropped);
    ada.say("still here\n");
    CHECK(ada.hear() == "ada: still here");
    CHECK(read_all(lazy.c).find("still here") == std::string::npos);
  });
}

// ---- port_scan ----

TEST_CASE("the port scan finds the ports that somebody listens on") {
  const auto listener = thrum::net::listener::listen("127.0.0.1:0");
  const std::string port = std::to_string(listener.local().port());
  const auto alone = run_line(example_line("port_scan", port + " " + port));
  CHECK(alone.text == port + "\n");
  CHECK(alone.exit_code == 0);
  const unsigned middle = listener.local().port();
  const auto some =
      run_line(example_line("port_scan", std::to_string(middle - 500) + " " +
                                             std::to_string(std::min(middle + 500, 65535U))));
  CHECK(("\n" + some.text).find("\n" + port + "\n") != std::string::npos);
  CHECK(run_line(example_line("port_scan", "0")).exit_code == 2);
  CHECK(run_line(example_line("port_scan", "2 1")).exit_code == 2);
  CHECK(run_line(example_line("port_scan", "1 70000")).exit_code == 2);
}

// ---- libraries with descriptors of their own ----

/// A port on which nobody listens, for servers that cannot choose one themselves. Somebody else may
/// be faster: try again.
std::string free_port() {
  return std::to_string(thrum::net::listener::listen("127.0.0.1:0").local().port());
}

class certificate {
 public:
  certificate() {
    made_ = run_line(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                "-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 -keyout '" +
                key() + "' -out '" + text() + "'")
                .exit_code == 0;
  }
  bool is_made() const { return made_; }
  std::string key() const { return (folder_ / "key.pem").string(); }
  std::string text() const { return (folder_ / "certificate.pem").string(); }

 private:
  folder folder_;
  bool made_ = false;
};

TEST_CASE("the TLS client talks to OpenSSL's own server") {
  if (!is_built("tls_client") || !has("openssl")) {
    return;
  }
  const certificate paper;
  REQUIRE(paper.is_made());
  std::string port;
  std::optional<server_process> server;
  for (int i = 0; i != 10 && (!server || !server->text().ends_with("ACCEPT\n")); ++i) {
    port = free_port();
    server.emplace(
        std::vector<std::string>{"openssl", "s_server", "-rev", "-accept", "127.0.0.1:" + port,
                                 "-cert", paper.text(), "-key", paper.key()},
        "ACCEPT");
  }
  const auto client = [&](const std::string& words) {
    return run_line(
        example_line("tls_client", "127.0.0.1:" + port + " --ca '" + paper.text() + "' " + words));
  };
  const auto good = client("--name localhost hello 'one two' x");
  CHECK(good.text == "olleh\nowt eno\nx\n");
  CHECK(good.exit_code == 0);
  const auto wrong_name = client("--name example.org hello");
  CHECK(wrong_name.says("certificate verify failed"));
  CHECK(wrong_name.exit_code == 1);
  const auto stranger =
      run_line(example_line("tls_client", "127.0.0.1:" + port + " --name localhost hello"));
  CHECK(stranger.says("certificate verify failed"));
}

TEST_CASE(
    "the TLS echo server talks to its own client, to OpenSSL's, and to those who know no TLS") {
  if (!is_built("tls_echo_server") || !has("openssl")) {
    return;
  }
  const certificate paper;
  REQUIRE(paper.is_made());
  server_process server(example_words(
      "tls_echo_server",
      {paper.text(), paper.key(), "--listen", "127.0.0.1:0", "--idle", "1", "--procs", "2"}));
  REQUIRE_FALSE(server.address().empty());
  const std::string line(100'000, 'x');
  CHECK(run_line(example_line("tls_client", server.address() + " --ca '" + paper.text() +
                                                "' --name localhost " + line))
            .text == line + "\n");
  const auto other =
      run_line("echo hello | openssl s_client -quiet -verify_return_error -connect " +
               server.address() + " -CAfile '" + paper.text() + "'");
  CHECK(other.says("hello\n"));
  support::with_runtime([&] {
    // An alert or nothing comes back, and then the end.
    CHECK(talk(server.address(), "GET / HTTP/1.1\r\n\r\n").size() < 20);
    thrum::net::conn silent = dial(server.address());
    CHECK(read_all(silent).empty());
  });
  CHECK(server.is_alive());
}

TEST_CASE("the Redis client waits in goroutines, not in threads") {
  if (!is_built("redis_client") || !has("redis-server")) {
    return;
  }
  std::string port;
  std::optional<server_process> server;
  for (int i = 0; i != 10 && (!server || server->text().find("Ready") == std::string::npos); ++i) {
    port = free_port();
    server.emplace(std::vector<std::string>{"redis-server", "--port", port, "--bind", "127.0.0.1",
                                            "--save", "", "--appendonly", "no"},
                   "Ready to accept connections");
  }
  const auto client = [&](const std::string& words) {
    return run_line("THRUM_MAXPROCS=1 " +
                    example_line("redis_client", "127.0.0.1 " + port + " " + words));
  };
  CHECK(client("SET name 'a value'").text == "OK\n");
  CHECK(client("GET name").text == "a value\n");
  CHECK(client("GET nothing").text == "\n");
  CHECK(client("MGET name nothing name").text == "a value\n\na value\n");
  CHECK(client("--clients 50 INCR count").exit_code == 0);
  CHECK(client("GET count").text == "50\n");
  const auto refused = client("NONSENSE");
  CHECK(refused.says("unknown command"));
  CHECK(refused.exit_code == 1);

  // Fifty wait for a value, on one processor; the one that brings the values comes later.
  std::string values;
  for (int i = 0; i != 50; ++i) {
    values += " v";
  }
  const std::string redis = example_line("redis_client", "127.0.0.1 " + port);
  const auto waiting = run_line(
      "(while [ $(" + redis + " CLIENT LIST | grep -c cmd=blpop) -lt 50 ]; do sleep 0.01; done; " +
      redis + " RPUSH list" + values + " >/dev/null) & THRUM_MAXPROCS=1 " + redis +
      " --clients 50 BLPOP list 50; wait");
  INFO(waiting.text);
  std::size_t got = 0;
  for (std::size_t at = 0; (at = waiting.text.find("list\nv\n", at)) != std::string::npos; ++at) {
    ++got;
  }
  CHECK(got == 50);
  server.reset();
  CHECK(client("GET name").says("Connection refused"));
}

}  // namespace

#else

TEST_CASE("the examples were not built, so none is run over the network") { SUCCEED(); }

#endif
