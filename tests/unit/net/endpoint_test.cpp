// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/net/endpoint.hpp>

#include <thrum/detail/base/random.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include "support/catch.hpp"
#include "support/named_socket.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

using namespace std::string_view_literals;
using thrum::net::address_family;
using thrum::net::endpoint;
using thrum::net::endpoint_error;

namespace {

constexpr thrum::net::v6_address loopback_v6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

/// The endpoint of a text that must have one.
endpoint read(std::string_view text) {
  const auto parsed = endpoint::parse(text);
  INFO("text: " << text);
  REQUIRE(parsed);
  return *parsed;
}

/// Why the text is none; a code of value 0 if it is one.
std::error_code why(std::string_view text) {
  std::error_code error;
  const endpoint e(text, error);
  CHECK(endpoint::parse(text).has_value() == !error);
  CHECK((e.family() == address_family::none) == static_cast<bool>(error));
  return error;
}

endpoint from_bytes(std::string_view sockaddr_bytes) {
  ::sockaddr_storage storage{};
  std::memcpy(&storage, sockaddr_bytes.data(), sockaddr_bytes.size());
  return endpoint::from_native(reinterpret_cast<const ::sockaddr*>(&storage),
                               static_cast<::socklen_t>(sockaddr_bytes.size()));
}

/// A Unix address as the kernel writes it, with exactly these bytes in sun_path.
endpoint from_unix_bytes(std::string_view path) {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string bytes(reinterpret_cast<const char*>(&address), offsetof(::sockaddr_un, sun_path));
  return from_bytes(bytes.append(path));
}

endpoint from_itself(const endpoint& e) { return endpoint::from_native(e.data(), e.size()); }

}  // namespace

TEST_CASE("an endpoint is a plain value without an address at first") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<endpoint>);
  STATIC_REQUIRE(std::is_nothrow_default_constructible_v<endpoint>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::string_view, endpoint>);
  const endpoint none;
  CHECK(none.family() == address_family::none);
  CHECK(none.size() == 0);
  CHECK(none.port() == 0);
  CHECK(none.address().empty());
  CHECK(none.path().empty());
  CHECK(none.to_string().empty());
  CHECK_FALSE(none.is_loopback());
  CHECK_FALSE(none.is_any());
  CHECK(none.with_port(80) == none);
  CHECK(none == endpoint());
}

TEST_CASE("an IPv4 text gives its address and port") {
  const endpoint e = read("127.0.0.1:80");
  CHECK(e.family() == address_family::v4);
  CHECK(e.port() == 80);
  CHECK(e.address() == "127.0.0.1");
  CHECK(e.to_string() == "127.0.0.1:80");
  CHECK(e.scope() == 0);
  CHECK(e.path().empty());
  CHECK(e == endpoint::v4(0x7f000001, 80));
  CHECK(e == endpoint::v4({127, 0, 0, 1}, 80));
  CHECK(endpoint::v4({1, 2, 3, 255}, 0).to_string() == "1.2.3.255:0");
}

TEST_CASE("an IPv6 text gives its address and port") {
  const endpoint e = read("[::1]:443");
  CHECK(e.family() == address_family::v6);
  CHECK(e.port() == 443);
  CHECK(e.address() == "::1");
  CHECK(e.to_string() == "[::1]:443");
  CHECK(e == endpoint::v6(loopback_v6, 443));
  CHECK(read("[2001:DB8:0:0:0:0:0:1]:1").to_string() == "[2001:db8::1]:1");
  CHECK(read("[::ffff:1.2.3.4]:1").address() == "::ffff:1.2.3.4");
}

TEST_CASE("a port without host is any address of both families") {
  const endpoint e = read(":80");
  CHECK(e == read("[::]:80"));
  CHECK(e.family() == address_family::v6);
  CHECK(e.is_any());
  CHECK(e.to_string() == "[::]:80");
}

TEST_CASE("the interface of an IPv6 address is read by number and by name, and written by number") {
  const endpoint e = read("[fe80::1%3]:80");
  CHECK(e.scope() == 3);
  CHECK(e.address() == "fe80::1%3");
  CHECK(e.to_string() == "[fe80::1%3]:80");
  CHECK(read("[fe80::1%4294967295]:80").scope() == 4294967295U);
  CHECK(read("[fe80::1%0]:80") == read("[fe80::1]:80"));
  if (const unsigned loopback = thrum::os::interface_number("lo")) {
    CHECK(read("[fe80::1%lo]:80").scope() == loopback);
    CHECK(read("[fe80::1%lo]:80").to_string() == "[fe80::1%" + std::to_string(loopback) + "]:80");
  }
}

TEST_CASE("a Unix text gives its path or abstract name") {
  const endpoint path = read("unix:/run/x.sock");
  CHECK(path.family() == address_family::local);
  CHECK(path.path() == "/run/x.sock");
  CHECK_FALSE(path.is_abstract());
  CHECK(path.port() == 0);
  CHECK(path.address().empty());
  CHECK(path.to_string() == "unix:/run/x.sock");
  CHECK(path == endpoint::local("/run/x.sock"));
  CHECK(read("unix:relative:80").path() == "relative:80");

  const endpoint name = read("unix:@name");
  CHECK(name.family() == address_family::local);
  CHECK(name.path() == "name");
  CHECK(name.is_abstract());
  CHECK(name.to_string() == "unix:@name");
  CHECK(name == endpoint::abstract("name"));
  CHECK(name != endpoint::local("name"));
}

TEST_CASE("an abstract name may contain any byte and ends where it says") {
  const std::string_view bytes = "a\0b\0\n"sv;
  const endpoint e = endpoint::abstract(bytes);
  CHECK(e.path() == bytes);
  CHECK(e != endpoint::abstract("a"));
  CHECK(read(e.to_string()) == e);
  CHECK(from_itself(e) == e);
}

TEST_CASE("a path that starts with @ stays a path") {
  const endpoint e = endpoint::local("@x");
  CHECK_FALSE(e.is_abstract());
  CHECK(e.path() == "./@x");
  CHECK(read(e.to_string()) == e);
  CHECK(from_unix_bytes("@x") == e);
  // There is no room for ./ before this one.
  std::error_code error;
  CHECK(endpoint::local("@" + std::string(endpoint::max_path - 1, 'x'), error) == endpoint());
  CHECK(error == endpoint_error::path_too_long);
}

TEST_CASE("paths and names may have 107 bytes and not one more") {
  const std::string longest(endpoint::max_path, 'p');
  CHECK(longest.size() == 107);
  CHECK(endpoint::local(longest).path() == longest);
  CHECK(endpoint::abstract(longest).path() == longest);
  CHECK(read("unix:" + longest).path() == longest);
  CHECK(read("unix:@" + longest).path() == longest);
  CHECK(why("unix:" + longest + "p") == endpoint_error::path_too_long);
  CHECK(why("unix:@" + longest + "p") == endpoint_error::path_too_long);
  CHECK(why("unix:" + longest + "p") == std::errc::filename_too_long);
  CHECK(why("unix:" + longest + "p").message().find("107") != std::string::npos);
}

TEST_CASE("a text that is no endpoint is refused with its reason") {
  const std::pair<std::string_view, endpoint_error> texts[] = {
      {"", endpoint_error::no_port},
      {"127.0.0.1", endpoint_error::no_port},
      {"127.0.0.1:", endpoint_error::no_port},
      {":", endpoint_error::no_port},
      {"[::1]", endpoint_error::no_port},
      {"[::1]:", endpoint_error::no_port},
      {"80", endpoint_error::no_port},
      {"127.0.0.1:65536", endpoint_error::bad_port},
      {"127.0.0.1:99999999999999999999", endpoint_error::bad_port},
      {"127.0.0.1:-1", endpoint_error::bad_port},
      {"127.0.0.1:+80", endpoint_error::bad_port},
      {"127.0.0.1: 80", endpoint_error::bad_port},
      {"127.0.0.1:80 ", endpoint_error::bad_port},
      {"127.0.0.1:80x", endpoint_error::bad_port},
      {"127.0.0.1:80\0"sv, endpoint_error::bad_port},
      {"127.0.0.1:0x50", endpoint_error::bad_port},
      {"127.0.0.1:http", endpoint_error::bad_port},
      {"127.0.0.1:80/", endpoint_error::bad_port},
      {"::1:80", endpoint_error::no_brackets},
      {"127.0.0.1:80:80", endpoint_error::no_brackets},
      {"[::1]:80:80", endpoint_error::no_brackets},
      {"[::1:80", endpoint_error::bad_brackets},
      {"::1]:80", endpoint_error::bad_brackets},
      {"[::1]80", endpoint_error::bad_brackets},
      {"[::1] :80", endpoint_error::bad_brackets},
      {"[]:80", endpoint_error::bad_brackets},
      {"[127.0.0.1]:80", endpoint_error::bad_brackets},
      {"[[::1]]:80", endpoint_error::bad_brackets},
      {"127.0.0.1]:80", endpoint_error::bad_brackets},
      {"1[27.0.0.1:80", endpoint_error::bad_brackets},
      {"127.0.0.1:[80]", endpoint_error::bad_brackets},
      {"localhost:80", endpoint_error::not_an_address},
      {"*:80", endpoint_error::not_an_address},
      {"127.0.0:80", endpoint_error::not_an_address},
      {"127.0.0.1.1:80", endpoint_error::not_an_address},
      {"127.0.0.256:80", endpoint_error::not_an_address},
      {"127.0.0.01:80", endpoint_error::not_an_address},
      {"0x7f000001:80", endpoint_error::not_an_address},
      {"127.0.0.1%1:80", endpoint_error::not_an_address},
      {" 127.0.0.1:80", endpoint_error::not_an_address},
      {"127.0.0.1\0:80"sv, endpoint_error::not_an_address},
      {"\0:80"sv, endpoint_error::not_an_address},
      {"[::1\0]:80"sv, endpoint_error::not_an_address},
      {"[::1::]:80", endpoint_error::not_an_address},
      {"[1:2:3:4:5:6:7:8:9]:80", endpoint_error::not_an_address},
      {"[:]:80", endpoint_error::not_an_address},
      {"[fe80::1%nosuchinterface]:80", endpoint_error::unknown_interface},
      {"[fe80::1%nosuchinterface0]:80", endpoint_error::unknown_interface},
      {"[fe80::1%]:80", endpoint_error::unknown_interface},
      {"[fe80::1%-1]:80", endpoint_error::unknown_interface},
      {"[fe80::1%4294967296]:80", endpoint_error::unknown_interface},
      {"[fe80::1%lo\0]:80"sv, endpoint_error::unknown_interface},
      {"unix:", endpoint_error::no_path},
      {"unix:@", endpoint_error::no_path},
      {"unix:/run\0/x"sv, endpoint_error::nul_in_path},
      {"Unix:/run/x", endpoint_error::bad_port},
  };
  for (const auto& [text, reason] : texts) {
    INFO("text: \"" << text << '"');
    CHECK(why(text) == reason);
  }
  CHECK(why(std::string(100'000, '1') + ":80") == endpoint_error::not_an_address);
  CHECK(why("[" + std::string(100'000, ':') + "]:80") == endpoint_error::not_an_address);
}

TEST_CASE("each reason has a message of its own and a portable condition") {
  std::set<std::string> messages;
  for (int value = 1; value <= static_cast<int>(endpoint_error::path_too_long); ++value) {
    const std::error_code error = static_cast<endpoint_error>(value);
    CHECK(error.category().name() == "endpoint"sv);
    CHECK(messages.insert(error.message()).second);
    const bool is_portable = error == std::errc::invalid_argument ||
                             error == std::errc::filename_too_long ||
                             error == std::errc::no_such_device;
    CHECK(is_portable);
  }
  CHECK(std::error_code(99, thrum::net::endpoint_category()).message() == "unknown error");
  CHECK(why("localhost:80") == std::errc::invalid_argument);
  CHECK(why("[fe80::1%nosuch]:80") == std::errc::no_such_device);
}

TEST_CASE("the throwing forms name the operation, the text and the remedy") {
  const auto message = [](auto make) -> std::string {
    try {
      make();
    } catch (const std::system_error& error) {
      CHECK(error.code().category() == thrum::net::endpoint_category());
      return error.what();
    }
    return {};
  };
  CHECK(
      message([] { endpoint("127.0.0.1"); }) ==
      "endpoint \"127.0.0.1\": the port is missing; write it after a colon, as in 127.0.0.1:80 or "
      "[::1]:80");
  CHECK(message([] { (void)endpoint::local("a\0b"sv); }) ==
        "endpoint::local \"a?b\": the path contains a zero byte");
  CHECK(message([] { (void)endpoint::abstract(""); }).rfind("endpoint::abstract \"\": ", 0) == 0);
  CHECK(message([] { endpoint(std::string(1'000'000, 'x')); }).size() < 300);
  CHECK(message([] { endpoint("127.0.0.1:80"); }).empty());
}

TEST_CASE("the forms with an error_code clear it on success") {
  std::error_code error = endpoint_error::no_port;
  CHECK(endpoint("127.0.0.1:1", error).port() == 1);
  CHECK_FALSE(error);
  error = endpoint_error::no_port;
  CHECK(endpoint::local("x", error).path() == "x");
  CHECK_FALSE(error);
  error = endpoint_error::no_port;
  CHECK(endpoint::abstract("x", error).path() == "x");
  CHECK_FALSE(error);
  CHECK(endpoint::abstract("", error) == endpoint());
  CHECK(error == endpoint_error::no_path);
}

TEST_CASE("an address without port is read together with one") {
  CHECK(endpoint::parse("127.0.0.1", 80) == read("127.0.0.1:80"));
  CHECK(endpoint::parse("fe80::1%2", 80) == read("[fe80::1%2]:80"));
  CHECK_FALSE(endpoint::parse("", 80));
  CHECK_FALSE(endpoint::parse("localhost", 80));
  CHECK_FALSE(endpoint::parse("[::1]", 80));
  CHECK_FALSE(endpoint::parse("127.0.0.1:80", 80));
  for (const char* text : {"1.2.3.4:5", "[::1]:5", "[fe80::1%7]:5"}) {
    const endpoint e = read(text);
    CHECK(endpoint::parse(e.address(), e.port()) == e);
  }
}

TEST_CASE("another port changes the port and nothing else") {
  CHECK(read("1.2.3.4:5").with_port(65535) == read("1.2.3.4:65535"));
  CHECK(read("[fe80::1%7]:5").with_port(0) == read("[fe80::1%7]:0"));
  CHECK(read("unix:x").with_port(80) == read("unix:x"));
}

TEST_CASE("the bytes of an address are in the order in which it is written") {
  const endpoint v4 = read("1.2.3.4:5");
  const std::array<std::uint8_t, 4> expected{1, 2, 3, 4};
  CHECK(std::ranges::equal(v4.address_bytes(), expected));
  const endpoint v6 = read("[::1]:5");
  CHECK(std::ranges::equal(v6.address_bytes(), loopback_v6));
  CHECK(read("unix:x").address_bytes().empty());
}

TEST_CASE("loopback and any are recognised in each family, also mapped") {
  for (const char* text : {"127.0.0.1:1", "127.255.0.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    INFO(text);
    CHECK(read(text).is_loopback());
    CHECK_FALSE(read(text).is_any());
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", ":1", "[::ffff:0.0.0.0]:1"}) {
    INFO(text);
    CHECK(read(text).is_any());
    CHECK_FALSE(read(text).is_loopback());
  }
  for (const char* text :
       {"128.0.0.1:1", "[::2]:1", "[::7f00:1]:1", "[1::1]:1", "unix:x", "0.0.0.1:1"}) {
    INFO(text);
    CHECK_FALSE(read(text).is_any());
    CHECK_FALSE(read(text).is_loopback());
  }
}

TEST_CASE("an IPv4 address mapped into IPv6 is another endpoint, and unmapped gives the IPv4 one") {
  const endpoint mapped = read("[::ffff:1.2.3.4]:5");
  CHECK(mapped.family() == address_family::v6);
  CHECK(mapped != read("1.2.3.4:5"));
  CHECK(mapped.unmapped() == read("1.2.3.4:5"));
  for (const char* text : {"1.2.3.4:5", "[::1]:5", "[::fffe:1.2.3.4]:5", "unix:x"}) {
    CHECK(read(text).unmapped() == read(text));
  }
  CHECK(endpoint().unmapped() == endpoint());
}

TEST_CASE("endpoints are ordered by family, address, port and interface") {
  const std::vector<endpoint> ordered = {
      endpoint(),
      read("1.2.3.4:9"),
      read("1.2.3.5:1"),
      read("1.2.3.5:256"),
      read("1.2.3.5:257"),
      read("200.0.0.1:1"),
      read("[::1]:9"),
      read("[fe80::1]:1"),
      read("[fe80::1%1]:1"),
      read("[fe80::1%256]:1"),
      read("[fe80::1]:2"),
      read("[fe80::2]:1"),
      from_unix_bytes(""),
      read("unix:@a"),
      read("unix:@ab"),
      read("unix:a"),
      read("unix:ab"),
      read("unix:b"),
  };
  for (std::size_t i = 0; i != ordered.size(); ++i) {
    for (std::size_t j = 0; j != ordered.size(); ++j) {
      INFO(ordered[i].to_string() << " and " << ordered[j].to_string());
      CHECK(std::is_lt(ordered[i] <=> ordered[j]) == (i < j));
      CHECK((ordered[i] == ordered[j]) == (i == j));
    }
  }
}

TEST_CASE("equal endpoints have equal hashes and different ones seldom do") {
  CHECK(std::hash<endpoint>()(read(":80")) == std::hash<endpoint>()(read("[::]:80")));
  CHECK(read("[::1%0]:1").hash() == read("[::1]:1").hash());
  std::unordered_set<std::size_t> hashes;
  for (std::uint16_t port = 0; port != 1000; ++port) {
    hashes.insert(endpoint::v4(0x7f000001, port).hash());
    hashes.insert(endpoint::v4(port, 80).hash());
    hashes.insert(endpoint::v6(loopback_v6, 80, port).hash());
    hashes.insert(endpoint::abstract(std::to_string(port)).hash());
  }
  CHECK(hashes.size() == 4000);
  std::unordered_set<endpoint> set = {read(":80"), read("[::]:80"), read(":81")};
  CHECK(set.size() == 2);
  CHECK(set.contains(read(":81")));
}

TEST_CASE("the system's form of an endpoint leads back to it") {
  for (const char* text : {"1.2.3.4:5", "[::1]:5", "[fe80::1%7]:5", "unix:/x", "unix:@x"}) {
    INFO(text);
    const endpoint e = read(text);
    CHECK(from_itself(e) == e);
    CHECK(from_itself(e).size() == e.size());
  }
  CHECK(read("1.2.3.4:5").size() == sizeof(::sockaddr_in));
  CHECK(read("[::1]:5").size() == sizeof(::sockaddr_in6));
  CHECK(read("unix:/x").size() == offsetof(::sockaddr_un, sun_path) + 3);
  CHECK(read("unix:@x").size() == offsetof(::sockaddr_un, sun_path) + 2);
}

TEST_CASE("what is not an address of ours becomes no address") {
  CHECK(endpoint::from_native(nullptr, 0) == endpoint());
  CHECK(endpoint::from_native(nullptr, 16) == endpoint());
  CHECK(from_bytes("") == endpoint());
  CHECK(from_bytes("\x02") == endpoint());
  ::sockaddr_storage storage{};
  const auto* const address = reinterpret_cast<const ::sockaddr*>(&storage);
  CHECK(endpoint::from_native(address, sizeof storage) == endpoint());
  constexpr int family_of_others = 200;
  storage.ss_family = family_of_others;
  CHECK(endpoint::from_native(address, sizeof storage) == endpoint());
  storage.ss_family = AF_INET;
  CHECK(endpoint::from_native(address, sizeof(::sockaddr_in) - 1) == endpoint());
  CHECK(endpoint::from_native(address, sizeof storage) == endpoint::v4(0, 0));
  storage.ss_family = AF_INET6;
  CHECK(endpoint::from_native(address, sizeof(::sockaddr_in6) - 1) == endpoint());
}

TEST_CASE("the flow label is no part of an endpoint") {
  ::sockaddr_in6 native{};
  native.sin6_family = AF_INET6;
  native.sin6_port = htons(80);
  native.sin6_flowinfo = htonl(0x12345);
  const auto e = endpoint::from_native(reinterpret_cast<const ::sockaddr*>(&native), sizeof native);
  CHECK(e == read(":80"));
  ::sockaddr_in6 given{};
  std::memcpy(&given, e.data(), sizeof given);
  CHECK(given.sin6_flowinfo == 0);
}

TEST_CASE("a Unix path from the system ends at its zero byte or at the end of its room") {
  CHECK(from_unix_bytes("/x\0junk"sv) == read("unix:/x"));
  CHECK(from_unix_bytes("/x"sv) == read("unix:/x"));
  CHECK(from_unix_bytes("/x"sv).size() == read("unix:/x").size());
  const std::string full(endpoint::max_path + 1, 'p');
  CHECK(from_unix_bytes(full).path() == full);
  CHECK(from_itself(from_unix_bytes(full)).path() == full);
  // The kernel says a size that counts the zero byte, for which there is no room.
  CHECK(from_unix_bytes(full + '\0').path() == full);
}

TEST_CASE("a Unix address without name is local, empty and not read back") {
  const endpoint unnamed = from_unix_bytes("");
  CHECK(unnamed.family() == address_family::local);
  CHECK(unnamed.path().empty());
  CHECK_FALSE(unnamed.is_abstract());
  CHECK(unnamed.size() == offsetof(::sockaddr_un, sun_path));
  CHECK(unnamed.to_string() == "unix:");
  CHECK(unnamed != endpoint());
  CHECK(from_itself(unnamed) == unnamed);
}

TEST_CASE("the kernel binds to the address that data() gives, and returns the same") {
  const support::named_socket v4(AF_INET);
  const endpoint asked = endpoint::v4({127, 0, 0, 1}, 0);
  REQUIRE(v4.bind(asked));
  CHECK(v4.name().with_port(0) == asked);
  CHECK(v4.name().port() != 0);

  const support::named_socket v6(AF_INET6);
  if (v6.is_open() && v6.bind(read("[::1]:0"))) {
    CHECK(v6.name().with_port(0) == read("[::1]:0"));
  }
}

TEST_CASE("whatever is read from a damaged text is written as a text of the same endpoint") {
  const std::string_view seeds[] = {
      "127.0.0.1:80",          "255.255.255.255:65535", "[::1]:80",        ":80",
      "[fe80::1%3]:80",        "[fe80::1%lo]:8080",     "unix:/run/x",     "unix:@name",
      "[::ffff:1.2.3.4]:1",    "[1:2:3:4:5:6:7:8]:9",   "localhost:https", "unix:@\0\0"sv,
      "[2001:db8::a:0:0]:443",
  };
  constexpr std::string_view letters = "0123456789abcdefF:.[]%@/ +-unixlo\0\xff"sv;
  const std::uint64_t seed = 20'240'229;
  INFO("seed: " << seed);
  thrum::base::random random(seed);
  const auto below = [&](std::size_t n) -> std::size_t {
    return random.below(static_cast<std::uint32_t>(n));
  };
  int read_back = 0;
  int wrong = 0;
  std::string first_wrong;
  for (int i = 0; i != 200'000; ++i) {
    std::string text(seeds[below(std::size(seeds))]);
    for (std::size_t changes = below(4); changes != 0; --changes) {
      const std::size_t at = below(text.size() + 1);
      const char letter = letters[below(letters.size())];
      switch (below(4)) {
        case 0: text.insert(at, 1, letter); break;
        case 1: text.erase(at, 1 + below(3)); break;
        case 2: text.insert(at, text.substr(below(text.size() + 1), below(60))); break;
        default:
          if (at != text.size()) {
            text[at] = letter;
          }
      }
    }
    std::error_code error;
    const endpoint e(text, error);
    if (error) {
      continue;
    }
    ++read_back;
    const auto again = endpoint::parse(e.to_string());
    const bool agrees = again && *again == e && again->hash() == e.hash() &&
                        again->to_string() == e.to_string() && from_itself(e) == e;
    if (!agrees && wrong++ == 0) {
      first_wrong = text;
    }
  }
  INFO("the first: " << first_wrong);
  CHECK(wrong == 0);
  CHECK(read_back > 20'000);
}
