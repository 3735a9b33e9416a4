// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// endpoint: the address of a socket, IPv4 or IPv6 with a port, or Unix.
//
//   127.0.0.1:80             IPv4
//   [::1]:80                 IPv6
//   [fe80::1%eth0]:80        IPv6 on one network interface, by name or number
//   :80                      any address, IPv4 and IPv6; the same endpoint as [::]:80
//   unix:/run/x.sock         Unix, a path; may be relative
//   unix:@name               Unix, an abstract name, which Linux keeps outside of the file system
//
// The value is the system's own form of an address, held inline: nothing allocates, copies are
// plain copies, and data() and size() go to bind() and connect() as they are. Only members that
// make a std::string allocate.
//
// One place has one value. What the system hands out in several forms is brought to one on the way
// in: a path ends at its first zero byte, the padding is zero, the flow label of IPv6 is left out.
// An IPv4 address mapped into IPv6 (::ffff:127.0.0.1, what an IPv6 listener sees of IPv4 clients)
// stays what it is, since the two need different sockets; unmapped() gives the other.
//
// Text and value agree: parse(e.to_string()) == e for every address that was made from a text or
// from its parts. The interface is therefore written as a number, which can be read back also when
// its name looks like a number, or is gone. Only from_native() makes addresses whose text does not
// lead back: a Unix address without name ("unix:"), as clients have it that did not bind, and paths
// and names of a length that the functions here refuse.
//
// A name is never looked up here; that takes a resolver and time, and is in net/resolve.hpp.
#ifndef THRUM_NET_ENDPOINT_HPP
#define THRUM_NET_ENDPOINT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/address_text.hpp>
#include <thrum/detail/net/errors.hpp>  // IWYU pragma: export
#include <thrum/detail/os/socket_types.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// What kind of address an endpoint holds.
enum class address_family : std::uint8_t {
  none,   ///< none: a default endpoint
  v4,     ///< IPv4
  v6,     ///< IPv6
  local,  ///< Unix, by path or abstract name
};

/// An address to bind or to connect to, also as a text: "127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80",
/// ":80" (any address), "unix:/run/x.sock", "unix:@name" (an abstract name of Linux). A value: copied
/// freely, compared, ordered and hashed by what it names. As thread-safe as an int.
class endpoint {
 public:
  /// The most bytes of a Unix path or abstract name.
  static constexpr std::size_t max_path = sizeof(::sockaddr_un::sun_path) - 1;

  /// No address.
  endpoint() noexcept = default;

#if THRUM_EXCEPTIONS
  /// The endpoint that the text says; throws std::system_error with an endpoint_error that tells
  /// what is wrong with it.
  explicit endpoint(std::string_view text);
#endif
  /// The endpoint that the text says; sets `error` instead of throwing, and is then no address.
  endpoint(std::string_view text, std::error_code& error) noexcept { error = assign(text); }

  /// The endpoint that the text says, or nothing.
  [[nodiscard]] static std::optional<endpoint> parse(std::string_view text) noexcept;
  /// The endpoint that address() and port() say, or nothing: an IPv4 or IPv6 address without brackets.
  [[nodiscard]] static std::optional<endpoint> parse(std::string_view address,
                                                     std::uint16_t port) noexcept;

  /// IPv4; the address as a number, 0x7f000001 is 127.0.0.1.
  [[nodiscard]] static endpoint v4(std::uint32_t address, std::uint16_t port) noexcept;
  /// IPv4; the address byte by byte, as it is written.
  [[nodiscard]] static endpoint v4(const v4_address& address, std::uint16_t port) noexcept;
  /// IPv6; `scope` is the number of a network interface, 0 for none.
  [[nodiscard]] static endpoint v6(const v6_address& address, std::uint16_t port,
                                   std::uint32_t scope = 0) noexcept;

#if THRUM_EXCEPTIONS
  /// A Unix address by path; @x is the path ./@x here. Throws std::system_error if it is empty,
  /// longer than max_path or contains a zero byte.
  [[nodiscard]] static endpoint local(std::string_view path);
  /// A Unix address by abstract name, of any bytes, without the @. Throws std::system_error if it
  /// is empty or longer than max_path.
  [[nodiscard]] static endpoint abstract(std::string_view name);
#endif
  /// local(path) and abstract(name); set `error` instead of throwing and return no address.
  [[nodiscard]] static endpoint local(std::string_view path, std::error_code& error) noexcept;
  [[nodiscard]] static endpoint abstract(std::string_view name, std::error_code& error) noexcept;

  /// What the system gave, by accept() or getsockname(): `size` may be more than what it wrote.
  /// No address if the family is another or the size too small.
  [[nodiscard]] static endpoint from_native(const ::sockaddr* address, ::socklen_t size) noexcept;

  /// For bind(), connect(), sendto(): valid while the endpoint is, size() bytes.
  [[nodiscard]] const ::sockaddr* data() const noexcept { return &native_.any; }
  /// The size of data() in bytes; 0 without address.
  [[nodiscard]] ::socklen_t size() const noexcept { return size_; }

  /// IPv4, IPv6 or Unix; address_family::none if it holds no address.
  [[nodiscard]] address_family family() const noexcept;

  /// The port; 0 for a Unix address and for none.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// This address with another port; unchanged if it has no ports.
  [[nodiscard]] endpoint with_port(std::uint16_t port) const noexcept;

  /// The address without port and brackets, "127.0.0.1" or "fe80::1%2"; empty if it is neither IPv4
  /// nor IPv6.
  [[nodiscard]] std::string address() const;
  /// The 4 or 16 bytes of an IPv4 or IPv6 address as they are written, else none. Valid while the
  /// endpoint is.
  [[nodiscard]] std::span<const std::uint8_t> address_bytes() const noexcept;
  /// The number of the network interface of an IPv6 address, or 0.
  [[nodiscard]] std::uint32_t scope() const noexcept;

  /// The path or abstract name (without @) of a Unix address; empty for others and for one without
  /// name. Valid while the endpoint is.
  [[nodiscard]] std::string_view path() const noexcept;
  /// Whether it is a Unix address by abstract name.
  [[nodiscard]] bool is_abstract() const noexcept;

  /// Whether it is an address of this machine to itself: 127.0.0.0/8 or ::1, also mapped into IPv6.
  /// False for Unix addresses.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Whether it is the address that stands for all of this machine: 0.0.0.0 or ::, also mapped.
  [[nodiscard]] bool is_any() const noexcept;
  /// The IPv4 endpoint that is mapped into this IPv6 one (::ffff:1.2.3.4), else itself.
  [[nodiscard]] endpoint unmapped() const noexcept;

  /// The text, which the constructor reads again; empty without address.
  [[nodiscard]] std::string to_string() const;

  /// Compares by family, then address byte by byte, then port, then interface.
  friend std::strong_ordering operator<=>(const endpoint& a, const endpoint& b) noexcept {
    if (const auto order = a.family() <=> b.family(); std::is_neq(order)) {
      return order;
    }
    if (const auto order = a.key().compare(b.key()) <=> 0; std::is_neq(order)) {
      return order;
    }
    if (const auto order = a.port() <=> b.port(); std::is_neq(order)) {
      return order;
    }
    return a.scope() <=> b.scope();
  }
  friend bool operator==(const endpoint& a, const endpoint& b) noexcept {
    return std::is_eq(a <=> b);
  }

  /// For std::hash.
  [[nodiscard]] std::size_t hash() const noexcept;

 private:
  union native_address {
    ::sockaddr any;
    ::sockaddr_in v4;
    ::sockaddr_in6 v6;
    ::sockaddr_un local;
  };
  static constexpr std::size_t path_offset = offsetof(::sockaddr_un, sun_path);
  static constexpr std::string_view here = "./";

  std::error_code assign(std::string_view text) noexcept;
  std::error_code assign_host(std::string_view host, std::uint16_t port) noexcept;
  std::error_code assign_path(std::string_view path) noexcept;
  std::error_code assign_abstract(std::string_view name) noexcept;
  void set_local(std::string_view native_path) noexcept;
  [[nodiscard]] std::string_view native_path() const noexcept;
  [[nodiscard]] std::string_view key() const noexcept;

  native_address native_{};
  ::socklen_t size_ = 0;
};

inline address_family endpoint::family() const noexcept {
  if (size_ == 0) {
    return address_family::none;
  }
  switch (native_.any.sa_family) {
    case AF_INET: return address_family::v4;
    case AF_INET6: return address_family::v6;
    default: return address_family::local;
  }
}

inline std::uint16_t endpoint::port() const noexcept {
  switch (family()) {
    case address_family::v4: return ntohs(native_.v4.sin_port);
    case address_family::v6: return ntohs(native_.v6.sin6_port);
    case address_family::local:
    case address_family::none: break;
  }
  return 0;
}

}}}  // namespace thrum::THRUM_ABI::net

template <>
struct std::hash<thrum::net::endpoint> {
  /// Equal endpoints have the same.
  std::size_t operator()(const thrum::net::endpoint& e) const noexcept { return e.hash(); }
};

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/net/endpoint_text.hpp>  // IWYU pragma: keep: bodies

#include <algorithm>
#include <limits>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE endpoint endpoint::with_port(std::uint16_t port) const noexcept {
  endpoint result = *this;
  switch (family()) {
    case address_family::v4: result.native_.v4.sin_port = htons(port); break;
    case address_family::v6: result.native_.v6.sin6_port = htons(port); break;
    case address_family::local:
    case address_family::none: break;
  }
  return result;
}

THRUM_OUT_OF_LINE std::span<const std::uint8_t> endpoint::address_bytes() const noexcept {
  switch (family()) {
    case address_family::v4:
      return {reinterpret_cast<const std::uint8_t*>(&native_.v4.sin_addr), 4};
    case address_family::v6: return {native_.v6.sin6_addr.s6_addr, 16};
    case address_family::local:
    case address_family::none: break;
  }
  return {};
}

THRUM_OUT_OF_LINE std::uint32_t endpoint::scope() const noexcept {
  return family() == address_family::v6 ? native_.v6.sin6_scope_id : 0;
}

// As the kernel sees it: an abstract name has a zero byte in front, a path none behind.
THRUM_OUT_OF_LINE std::string_view endpoint::native_path() const noexcept {
  if (family() != address_family::local) {
    return {};
  }
  std::string_view path(native_.local.sun_path, static_cast<std::size_t>(size_) - path_offset);
  if (!path.empty() && path.front() != '\0' && path.back() == '\0') {
    path.remove_suffix(1);
  }
  return path;
}

THRUM_OUT_OF_LINE std::string_view endpoint::path() const noexcept {
  return native_path().substr(is_abstract() ? 1 : 0);
}

THRUM_OUT_OF_LINE bool endpoint::is_abstract() const noexcept {
  return native_path().starts_with('\0');
}

THRUM_OUT_OF_LINE bool endpoint::is_loopback() const noexcept {
  const endpoint e = unmapped();
  switch (e.family()) {
    case address_family::v4: return e.address_bytes().front() == 127;
    case address_family::v6:
      return std::memcmp(&e.native_.v6.sin6_addr, &in6addr_loopback, 16) == 0;
    case address_family::local:
    case address_family::none: break;
  }
  return false;
}

THRUM_OUT_OF_LINE bool endpoint::is_any() const noexcept {
  const endpoint e = unmapped();
  const auto bytes = e.address_bytes();
  return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == 0; });
}

THRUM_OUT_OF_LINE endpoint endpoint::unmapped() const noexcept {
  constexpr std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto bytes = address_bytes();
  if (family() != address_family::v6 || std::memcmp(bytes.data(), mapped, sizeof mapped) != 0) {
    return *this;
  }
  return v4({bytes[12], bytes[13], bytes[14], bytes[15]}, port());
}

THRUM_OUT_OF_LINE std::string_view endpoint::key() const noexcept {
  if (family() == address_family::local) {
    return native_path();
  }
  const auto bytes = address_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

THRUM_OUT_OF_LINE std::size_t endpoint::hash() const noexcept {
  // The odd constant is 2^64 over the golden ratio: it carries each bit of the number upwards.
  const std::uint64_t number = (std::uint64_t{scope()} << 24) ^ (std::uint64_t{port()} << 8) ^
                               static_cast<std::uint64_t>(family());
  constexpr int not_kept = 64 - std::numeric_limits<std::size_t>::digits;
  const auto spread = base::convert<std::size_t>((number * 0x9e3779b97f4a7c15) >> not_kept);
  return std::hash<std::string_view>()(key()) ^ spread;
}

THRUM_OUT_OF_LINE endpoint endpoint::v4(std::uint32_t address, std::uint16_t port) noexcept {
  endpoint result;
  result.native_.v4 = ::sockaddr_in{};
  result.native_.v4.sin_family = AF_INET;
  result.native_.v4.sin_port = htons(port);
  result.native_.v4.sin_addr.s_addr = htonl(address);
  result.size_ = sizeof result.native_.v4;
  return result;
}

THRUM_OUT_OF_LINE endpoint endpoint::v4(const v4_address& address, std::uint16_t port) noexcept {
  std::uint32_t number = 0;
  for (const std::uint8_t byte : address) {
    number = number << 8 | byte;
  }
  return v4(number, port);
}

THRUM_OUT_OF_LINE endpoint endpoint::v6(const v6_address& address, std::uint16_t port,
                                        std::uint32_t scope) noexcept {
  endpoint result;
  result.native_.v6 = ::sockaddr_in6{};
  result.native_.v6.sin6_family = AF_INET6;
  result.native_.v6.sin6_port = htons(port);
  std::memcpy(&result.native_.v6.sin6_addr, address.data(), address.size());
  result.native_.v6.sin6_scope_id = scope;
  result.size_ = sizeof result.native_.v6;
  return result;
}

// At most one byte more than max_path: the system takes a path that fills its room to the end.
THRUM_OUT_OF_LINE void endpoint::set_local(std::string_view native_path) noexcept {
  native_.local = ::sockaddr_un{};
  native_.local.sun_family = AF_UNIX;
  char* to = native_.local.sun_path;
  // In text an @ in front says abstract; a file called so is the same file with ./ before it.
  if (native_path.starts_with('@') && native_path.size() + here.size() <= max_path) {
    to = std::copy(here.begin(), here.end(), to);
  }
  to = std::copy(native_path.begin(), native_path.end(), to);
  const bool is_path = !native_path.empty() && native_path.front() != '\0';
  const auto length = static_cast<std::size_t>(to - native_.local.sun_path);
  const std::size_t terminator = is_path && length <= max_path ? 1 : 0;
  size_ = base::convert<::socklen_t>(path_offset + length + terminator);
}

THRUM_OUT_OF_LINE endpoint endpoint::from_native(const ::sockaddr* address,
                                                 ::socklen_t size) noexcept {
  endpoint result;
  if (address == nullptr || static_cast<std::size_t>(size) < offsetof(::sockaddr, sa_data)) {
    return result;
  }
  native_address native{};
  const std::size_t known = std::min(static_cast<std::size_t>(size), sizeof native.local);
  std::memcpy(static_cast<void*>(&native), address, known);
  switch (native.any.sa_family) {
    case AF_INET:
      if (known >= sizeof native.v4) {
        result = v4(ntohl(native.v4.sin_addr.s_addr), ntohs(native.v4.sin_port));
      }
      break;
    case AF_INET6:
      if (known >= sizeof native.v6) {
        v6_address bytes;
        std::memcpy(bytes.data(), &native.v6.sin6_addr, bytes.size());
        result = v6(bytes, ntohs(native.v6.sin6_port), native.v6.sin6_scope_id);
      }
      break;
    case AF_UNIX: {
      std::string_view path(native.local.sun_path, known - path_offset);
      if (!path.starts_with('\0')) {
        path = path.substr(0, path.find('\0'));
      }
      result.set_local(path);
      break;
    }
    default: break;
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif  // THRUM_NET_ENDPOINT_HPP
