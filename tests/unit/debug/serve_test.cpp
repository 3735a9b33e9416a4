// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// debug::serve: which requests are answered, with what, and for how long.

#include <thrum/debug/serve.hpp>

#include "support/net.hpp"
#include "support/test.hpp"

namespace {

using thrum::debug::live_page;
using thrum::debug::serve;

/// What the page answers to these bytes, up to the end of the connection.
std::string reply_of_page(const live_page& page, std::string_view bytes) {
  thrum::net::conn c = thrum::net::dial(page.local());
  c.set_deadline(support::steady::now() + support::long_time);
  c.write(bytes);
  std::error_code reset;  // where the system ends a connection that it has read to its end
  return c.read_all(reset);
}

std::string get_of_page(const live_page& page, const std::string& path,
                        const std::string& headers = "Host: localhost:6060\r\n") {
  return reply_of_page(page, "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
}

/// The number behind "HTTP/1.1".
int status_of_page(const live_page& page, const std::string& path,
                   const std::string& headers = "Host: localhost\r\n") {
  const std::string reply = get_of_page(page, path, headers);
  return reply.starts_with("HTTP/1.1 ") ? std::atoi(reply.c_str() + 9) : 0;
}

bool page_says(const std::string& reply, std::string_view part) {
  return reply.find(part) != reply.npos;
}

}  // namespace

IN_RUNTIME("the live page is a text without outside resources, and its figures are the runtime's") {
  const live_page page = serve("127.0.0.1:0");
  const std::string html = get_of_page(page, "/");
  CHECK(html.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(page_says(html, "Content-Security-Policy: default-src 'none';"));
  CHECK(page_says(html, "<!doctype html>"));
  CHECK_FALSE(page_says(html, "src="));
  CHECK_FALSE(page_says(html, "innerHTML"));
  const std::string state = get_of_page(page, "/api/state");
  CHECK(page_says(state, "\r\nContent-Type: application/json\r\n"));
  CHECK(page_says(state, "\"procs\":" + std::to_string(thrum::runtime::current()->procs()) + ","));
  CHECK(page_says(state, "{\"id\":0,\"status\":"));
  CHECK(page_says(state, "\"latencies\":{\"ready\":["));
  CHECK(page_says(get_of_page(page, "/api/goroutines"), "\"name\":\"debug::serve\""));
}

IN_RUNTIME("the live page sends no body to a HEAD, and refuses other methods") {
  const live_page page = serve("127.0.0.1:0");
  const std::string head = reply_of_page(page, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  const std::string post = reply_of_page(page, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(post.starts_with("HTTP/1.1 405 "));
  CHECK(page_says(post, "\r\nAllow: GET, HEAD\r\n"));
}

IN_RUNTIME("the live page refuses what is malformed, too long or nowhere") {
  const live_page page = serve("127.0.0.1:0");
  for (const std::string_view bytes :
       {"nonsense\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /a\tb HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"}) {
    INFO(bytes);
    CHECK(reply_of_page(page, bytes).starts_with("HTTP/1.1 400 "));
  }
  CHECK(status_of_page(page, "/" + std::string(thrum::page_detail::max_head, 'x')) == 431);
  CHECK(status_of_page(page, "/no/such/path") == 404);
  CHECK(status_of_page(page, "/api/goroutine") == 404);
  CHECK(status_of_page(page, "/api/goroutine?id=18446744073709551615") == 404);
  CHECK(status_of_page(page, "/api/goroutines?count=99999999999999999999&first=x%zz") == 200);
}

IN_RUNTIME("the live page answers to its own names alone, and not to other pages") {
  const live_page page = serve("127.0.0.1:0", {.hosts = {"tools.example"}});
  for (const char* const host : {"localhost", "LocalHost:1", "127.0.0.1:80", "[::1]:80", "[::1]",
                                 "tools.example", "Tools.Example:80"}) {
    INFO(host);
    CHECK(status_of_page(page, "/api/state", "Host: " + std::string(host) + "\r\n") == 200);
  }
  for (const char* const host :
       {"evil.example", "", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "[::2]"}) {
    INFO(host);
    CHECK(status_of_page(page, "/api/state", "Host: " + std::string(host) + "\r\n") == 403);
  }
  const std::string from_elsewhere = "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n";
  CHECK(status_of_page(page, "/api/state", from_elsewhere) == 403);
  CHECK(status_of_page(page, "/", from_elsewhere) == 200);  // a link
}

IN_RUNTIME("the live page wants its token where it has one, in the query or in a header") {
  const live_page page = serve("127.0.0.1:0", {.token = "se cret"});
  for (const char* const path : {"/", "/api/state", "/no/such/path"}) {
    CHECK(status_of_page(page, path) == 401);
  }
  CHECK(status_of_page(page, "/?token=se%20cre") == 401);
  CHECK(status_of_page(page, "/?token=se%20cret2") == 401);
  CHECK(status_of_page(page, "/?x=y&token=se%20cret") == 200);
  CHECK(status_of_page(page, "/", "Host: localhost\r\nAuthorization: Bearer se cret\r\n") == 200);
  CHECK(status_of_page(page, "/", "Host: localhost\r\nAuthorization: Basic se cret\r\n") == 401);
}

IN_RUNTIME(
    "debug::serve refuses an address of other machines without a token, and says which one") {
  CHECK(is_usage_error("debug::serve 0.0.0.0:0: other machines reach this address",
                       [] { static_cast<void>(serve("0.0.0.0:0")); }));
  const live_page page = serve("127.0.0.1:0");
  const std::string used = page.local().to_string();
  std::string said;
  try {
    static_cast<void>(serve(used));
  } catch (const std::system_error& error) {
    said = error.what();
    CHECK(error.code() == std::errc::address_in_use);
  }
  CHECK(said.starts_with("debug::serve " + used));
}

TEST_CASE("debug::serve outside of a runtime asks for one") {
  CHECK(is_usage_error("debug::serve", [] { static_cast<void>(serve("127.0.0.1:0")); }));
}

IN_RUNTIME("the name of a goroutine comes to the live page escaped, whatever bytes it has") {
  const live_page page = serve("127.0.0.1:0");
  thrum::chan<int> end(0);
  thrum::wait_group group;
  for (const char* const name :
       {"</script><b>\"\\", "\xff\xc3\x28 \xed\xa0\x80\x01", "\xc3\xa9t\xc3\xa9"}) {
    group.go([end, name] {
      thrum::this_goroutine::name(name);
      end.recv();
    });
  }
  REQUIRE(eventually([] { return thrum::stats().waiting == 4; }));
  const std::string rows = get_of_page(page, "/api/goroutines");
  CHECK(page_says(rows, R"("\u003c/script\u003e\u003cb\u003e\u0022\u005c")"));
  CHECK(page_says(rows, R"("\ufffd\ufffd( \ufffd\ufffd\ufffd\u0001")"));
  CHECK(page_says(rows, "\"\xc3\xa9t\xc3\xa9\""));
  end.close();
  group.wait();
}

IN_RUNTIME(
    "the live page selects, orders and cuts the goroutines, and shows one with its callers") {
  const live_page page = serve("127.0.0.1:0");
  thrum::chan<int> end(0);
  std::atomic<thrum::goroutine_id> last{0};
  thrum::wait_group group;
  for (int i = 0; i != 5; ++i) {
    group.go([&, i] {
      thrum::this_goroutine::name("page row " + std::to_string(i));
      if (i == 4) {
        last = thrum::this_goroutine::id();
      }
      end.recv();
    });
  }
  REQUIRE(eventually([&] { return last != 0 && thrum::stats().waiting == 6; }));
  const std::string path = "/api/goroutines?text=PAGE+row&state=chan%20receive&order=name";
  const std::string all = get_of_page(page, path);
  CHECK(page_says(all, "\"matching\":5,"));
  CHECK(all.find("page row 1") < all.find("page row 3"));
  const std::string two = get_of_page(page, path + "&falls=1&first=1&count=2");
  CHECK(page_says(two, "\"matching\":5,"));
  CHECK_FALSE(page_says(two, "page row 4"));
  CHECK(two.find("page row 3") < two.find("page row 2"));
  CHECK_FALSE(page_says(two, "page row 1"));
  CHECK(page_says(get_of_page(page, "/api/goroutines?state=no+such"), "\"matching\":0,"));
  const std::string one = get_of_page(page, "/api/goroutine?id=" + std::to_string(last));
  CHECK(page_says(one, "goroutine " + std::to_string(last) + " [chan receive, "));
  CHECK(page_says(one, "\"page row 4\""));
  CHECK_FALSE(page_says(one, "page row 3"));
  CHECK(page_says(get_of_page(page, "/debug/pprof/goroutine?form=folded"), "page row 4"));
  CHECK(page_says(get_of_page(page, "/debug/pprof/goroutine"),
                  "Content-Type: application/octet-stream"));
  thrum::go({.name = "page leak"}, [] { thrum::chan<int>().recv(); });
  CHECK(eventually([&] {
    return page_says(get_of_page(page, "/debug/pprof/goroutineleak?form=folded"), "page leak;");
  }));
  CHECK_FALSE(page_says(get_of_page(page, "/debug/pprof/goroutineleak?form=folded"), "page row"));
  end.close();
  group.wait();
}

IN_RUNTIME("the live page is answered while every processor computes", with_procs(2)) {
  const live_page page = serve("127.0.0.1:0");
  std::atomic<bool> end{false};
  std::atomic<int> computing{0};
  thrum::wait_group group;
  for (int i = 0; i != 4; ++i) {
    group.go([&] {
      ++computing;
      while (!end) {
        thrum::this_goroutine::preemption_point();
      }
    });
  }
  REQUIRE(eventually([&] { return computing == 4; }));
  for (const char* const path : {"/", "/api/state", "/api/goroutines"}) {
    CHECK(status_of_page(page, path) == 200);
  }
  end = true;
  group.wait();
}

IN_RUNTIME("a live page that is destroyed listens no longer, and lets its clients go") {
  std::optional<live_page> page = serve("127.0.0.1:0");
  const thrum::net::endpoint where = page->local();
  thrum::net::conn silent = thrum::net::dial(where);
  page.reset();
  char one = 0;
  std::error_code error;
  silent.set_deadline(support::steady::now() + support::long_time);
  CHECK(silent.read({&one, 1}, error) == 0);
  CHECK_FALSE(support::is_timeout(error));
  thrum::net::dial(where, support::long_time, error);
  CHECK(error);
}
