// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Nothing here needs a network: names come from the machine's own files, or do not exist by
// definition.
#include <thrum/net/resolve.hpp>

#include <thrum/detail/net/look_up.hpp>

#include "support/test.hpp"

using namespace std::string_view_literals;
using thrum::net::endpoint;
using thrum::net::endpoint_error;
using thrum::net::resolve;
using thrum::net::resolve_error;
using thrum::net_detail::endpoints_of;

namespace {

using endpoints = std::vector<endpoint>;

std::error_code why_not_resolved(std::string_view host, std::string_view service) {
  std::error_code error;
  const endpoints found = resolve(host, service, error);
  CHECK(found.empty() == static_cast<bool>(error));
  return error;
}

std::error_code why_not_resolved(std::string_view text) {
  std::error_code error;
  const endpoints found = resolve(text, error);
  CHECK(found.empty() == static_cast<bool>(error));
  return error;
}

/// How often the system's resolver was asked.
std::uint64_t look_ups() { return thrum::net_detail::look_ups::of_process().count(); }

/// A list as getaddrinfo() makes it.
class answer {
 public:
  explicit answer(endpoints list) : endpoints_(std::move(list)), entries_(endpoints_.size()) {
    for (std::size_t i = 0; i != entries_.size(); ++i) {
      entries_[i].ai_addr = const_cast<::sockaddr*>(endpoints_[i].data());
      entries_[i].ai_addrlen = endpoints_[i].size();
      entries_[i].ai_next = i + 1 == entries_.size() ? nullptr : &entries_[i + 1];
    }
  }
  const ::addrinfo* list() const { return entries_.data(); }

 private:
  endpoints endpoints_;
  std::vector<::addrinfo> entries_;
};

}  // namespace

TEST_CASE("numbers are taken as they are, in each family") {
  CHECK(resolve("127.0.0.1", "80") == endpoints{endpoint("127.0.0.1:80")});
  CHECK(resolve("::1", "80") == endpoints{endpoint("[::1]:80")});
  CHECK(resolve("fe80::1%3", "65535") == endpoints{endpoint("[fe80::1%3]:65535")});
  CHECK(resolve("127.0.0.1", "") == endpoints{endpoint("127.0.0.1:0")});
  CHECK(resolve("", "80") == endpoints{endpoint(":80")});
}

IN_RUNTIME("an address in numbers needs no look-up, a name does", with_procs(1)) {
  const std::uint64_t before = look_ups();
  resolve("127.0.0.1", "80");
  resolve("::1", "80");
  resolve("", "80");
  resolve("[::1]:80");
  resolve("unix:/run/x.sock");
  why_not_resolved("host.invalid", "80");
  CHECK(look_ups() == before);
  resolve("localhost", "80");
  CHECK(look_ups() != before);
}

TEST_CASE("localhost is this machine, each address once, with the port that was asked for") {
  const endpoints found = resolve("localhost", "8080");
  REQUIRE_FALSE(found.empty());
  for (std::size_t i = 0; i != found.size(); ++i) {
    INFO(found[i].to_string());
    CHECK(found[i].is_loopback());
    CHECK(found[i].port() == 8080);
    CHECK(std::count(found.begin(), found.end(), found[i]) == 1);
  }
  CHECK(resolve("localhost", "").front() == found.front().with_port(0));
}

TEST_CASE("the order of the resolver is kept and what it says twice is given once") {
  const endpoint a("10.0.0.2:80");
  const endpoint b("[2001:db8::1]:80");
  const endpoint c("10.0.0.1:80");
  CHECK(endpoints_of(answer({a, a, a, b, b, c, a}).list(), {}) == endpoints{a, b, c});
  CHECK(endpoints_of(answer({c, b, a}).list(), {}) == endpoints{c, b, a});
  CHECK(endpoints_of(nullptr, {}).empty());
}

TEST_CASE("a port in numbers stands in for that of the resolver") {
  const answer list({endpoint("10.0.0.1:1"), endpoint("10.0.0.1:2"), endpoint("[::1]:0")});
  CHECK(endpoints_of(list.list(), 7) == endpoints{endpoint("10.0.0.1:7"), endpoint("[::1]:7")});
}

TEST_CASE("families that are not ours are left out") {
  CHECK(endpoints_of(answer({endpoint(), endpoint("10.0.0.1:1")}).list(), 7) ==
        endpoints{endpoint("10.0.0.1:7")});
}

TEST_CASE("services have names, for streams or only for datagrams") {
  if (::getservbyname("http", "tcp") != nullptr) {
    CHECK(resolve("127.0.0.1", "http") == endpoints{endpoint("127.0.0.1:80")});
    CHECK(resolve("localhost", "http").front().port() == 80);
    CHECK(resolve("", "http") == endpoints{endpoint(":80")});
  }
  if (::getservbyname("ntp", "udp") != nullptr) {
    CHECK(resolve("::1", "ntp") == endpoints{endpoint("[::1]:123")});
  }
}

TEST_CASE("a host under .invalid is not found, without asking anybody") {
  for (const char* host :
       {"nowhere.invalid", "a.b.invalid", "invalid", "NoWhere.INVALID", "nowhere.invalid."}) {
    INFO(host);
    CHECK(thrum::net_detail::is_reserved_invalid(host));
    CHECK(why_not_resolved(host, "80") == resolve_error::host_not_found);
    CHECK(why_not_resolved(host, "http") == resolve_error::host_not_found);
  }
  for (const char* host : {"", ".", "nvalid", "notinvalid", "invalid.org", "invalid.."}) {
    INFO(host);
    CHECK_FALSE(thrum::net_detail::is_reserved_invalid(host));
  }
}

TEST_CASE("an unknown service is not found") {
  CHECK(why_not_resolved("localhost", "no-such-service") == resolve_error::service_not_found);
  CHECK(why_not_resolved("127.0.0.1", "no-such-service") == resolve_error::service_not_found);
}

TEST_CASE("a port that is neither number nor name is refused before glibc makes a number of it") {
  for (const char* service :
       {"65536", "65616", "-1", "+80", " 80", "80 ", "99999999999999999999", "-", "8.0"}) {
    INFO('"' << service << '"');
    CHECK(why_not_resolved("localhost", service) == endpoint_error::bad_port);
    CHECK(why_not_resolved("127.0.0.1", service) == endpoint_error::bad_port);
  }
}

TEST_CASE("a zero byte does not cut a name short") {
  CHECK(why_not_resolved("localhost\0.example.org"sv, "80") == resolve_error::host_not_found);
  CHECK(why_not_resolved("127.0.0.1\0"sv, "80") == resolve_error::host_not_found);
  CHECK(why_not_resolved("localhost", "http\0s"sv) == endpoint_error::bad_port);
}

TEST_CASE("a name of any length gets an answer") {
  CHECK(why_not_resolved(std::string(1'000'000, 'x'), "80") == resolve_error::host_not_found);
  CHECK(why_not_resolved("localhost", std::string(1'000'000, 'x')) == endpoint_error::bad_port);
  CHECK(why_not_resolved("localhost", std::string(1'000'000, '8')) == endpoint_error::bad_port);
}

TEST_CASE("a text is an endpoint, or a host and a service") {
  CHECK(resolve("127.0.0.1:80") == endpoints{endpoint("127.0.0.1:80")});
  CHECK(resolve("[::1]:80") == endpoints{endpoint("[::1]:80")});
  CHECK(resolve(":80") == endpoints{endpoint(":80")});
  CHECK(resolve("unix:/run/x.sock") == endpoints{endpoint("unix:/run/x.sock")});
  CHECK(resolve("unix:@name") == endpoints{endpoint("unix:@name")});
  CHECK(resolve("localhost:80") == resolve("localhost", "80"));

  CHECK(why_not_resolved("localhost") == endpoint_error::no_port);
  CHECK(why_not_resolved("::1:80") == endpoint_error::no_brackets);
  CHECK(why_not_resolved("[localhost]:80") == endpoint_error::bad_brackets);
  CHECK(why_not_resolved("localhost:65536") == endpoint_error::bad_port);
  CHECK(why_not_resolved("[fe80::1%nosuch]:80") == endpoint_error::unknown_interface);
  CHECK(why_not_resolved("unix:") == endpoint_error::no_path);
  CHECK(why_not_resolved("unix:" + std::string(200, 'x')) == endpoint_error::path_too_long);
  CHECK(why_not_resolved("nowhere.invalid:80") == resolve_error::host_not_found);
  CHECK(why_not_resolved("localhost:no-such-service") == resolve_error::service_not_found);
}

TEST_CASE("the exception names host, service and what the resolver says") {
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const std::system_error& error) {
      return error.what();
    }
    return {};
  };
  const std::string not_found = ::gai_strerror(EAI_NONAME);
  CHECK(message([] { resolve("nowhere.invalid", "http"); }) ==
        "resolve host \"nowhere.invalid\", service \"http\": " + not_found);
  CHECK(message([] { resolve("nowhere.invalid:80"); }) ==
        "resolve \"nowhere.invalid:80\": " + not_found);
  CHECK(message([] {
          resolve("localhost");
        }).rfind("resolve \"localhost\": the port is missing", 0) == 0);
}

TEST_CASE("an error of the resolver is in its category, one of the system in the system's") {
  using thrum::net::resolver_category;
  using thrum::net::resolver_error;
  const std::error_code again = resolver_error(EAI_AGAIN, 0);
  CHECK(again.category() == resolver_category());
  CHECK(again.category().name() == "resolver"sv);
  CHECK(again.message() == ::gai_strerror(EAI_AGAIN));
  CHECK(again == resolve_error::try_again);
  CHECK(again == std::errc::resource_unavailable_try_again);
  CHECK(resolver_error(EAI_MEMORY, 0) == std::errc::not_enough_memory);
  CHECK(resolver_error(EAI_FAIL, 0) == resolve_error::failed);
  const std::error_code of_system = resolver_error(EAI_FAIL, thrum::os::no_memory);
  CHECK(of_system == std::errc::not_enough_memory);
  CHECK(of_system.category() == thrum::os::error_code_of(thrum::os::invalid).category());
}

TEST_CASE("the form with an error_code clears it on success") {
  std::error_code error = resolve_error::failed;
  CHECK_FALSE(resolve("localhost", "80", error).empty());
  CHECK_FALSE(error);
  error = resolve_error::failed;
  CHECK(resolve("127.0.0.1:80", error).size() == 1);
  CHECK_FALSE(error);
  error = resolve_error::failed;
  CHECK_FALSE(resolve("localhost:80", error).empty());
  CHECK_FALSE(error);
}

IN_RUNTIME("many goroutines may look up at once") {
  const endpoints expected = resolve("localhost", "80");
  std::atomic<int> same{0};
  in_goroutines(32, [&](int) {
    std::error_code error;
    same += resolve("localhost", "80", error) == expected ? 1 : 0;
  });
  CHECK(same == 32);
}

IN_RUNTIME("64 KiB of stack are enough to look up a name") {
  std::atomic<int> found{0};
  thrum::wait_group group;
  group.add(1);
  thrum::go(thrum::attributes{.stack_size = 65536}, [&] {
    std::error_code error;
    found += resolve("localhost:no-such-service", error).empty() ? 1 : 0;
    found += resolve("localhost:http", error).empty() ? 0 : 1;
    group.done();
  });
  group.wait();
  CHECK(found >= 1);
}

TEST_CASE("a look-up whose deadline has passed fails, and numbers need no time") {
  const thrum::time_point past = thrum::time_point::clock::now();
  std::error_code error;
  CHECK(thrum::net::resolve_until("localhost", "80", past, error).empty());
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK(thrum::net::resolve_until("localhost:80", past, error).empty());
  CHECK(error == thrum::errc::deadline_exceeded);
  CHECK(thrum::net::resolve_until("127.0.0.1:80", past, error).size() == 1);
  CHECK_FALSE(error);
  CHECK_THROWS_AS(thrum::net::resolve_until("localhost:80", past), std::system_error);
  CHECK_THROWS_AS(thrum::net::resolve_until("localhost", "80", past), std::system_error);
}
