// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// support/descriptors.hpp, as Windows says it.
#ifndef THRUM_TESTS_SUPPORT_WINDOWS_DESCRIPTORS_HPP
#define THRUM_TESTS_SUPPORT_WINDOWS_DESCRIPTORS_HPP

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/detail/os/windows/api.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

// Names that tests have for other things.
#undef far
#undef near
#undef small

namespace support {

/// As a file, pipe or socket: threads and events, which others make at any time, have the same numbers.
inline bool is_open(thrum::os::handle fd) {
  return ::GetFileType(reinterpret_cast<::HANDLE>(fd)) != FILE_TYPE_UNKNOWN;
}

/// Threads that start have numbers of the same kind.
inline bool is_open_socket(thrum::os::handle fd) { return thrum::os::is_socket(fd); }

/// The system counts in steps of four, from the lowest that is free.
inline thrum::os::handle number_of_nothing() { return 0x7ff0; }

inline bool is_inherited(thrum::os::handle fd) {
  ::DWORD flags = 0;
  return ::GetHandleInformation(reinterpret_cast<::HANDLE>(fd), &flags) != 0 &&
         (flags & HANDLE_FLAG_INHERIT) != 0;
}

/// There is no limit but memory.
inline std::size_t allow_descriptors() { return std::size_t{1} << 20; }

/// The system has no pairs: two ends of a connection of this machine with itself.
inline bool open_pair(thrum::os::handle (&ends)[2]) {
  namespace os = thrum::os;
  ::sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<::sockaddr*>(&where);
  ::socklen_t size = sizeof where;
  const os::handle listener = os::handle_of(os::open_socket(AF_INET, SOCK_STREAM, 0));
  ends[0] = os::handle_of(os::open_socket(AF_INET, SOCK_STREAM, 0));
  if (os::bind(listener, address, size) != 0 || os::listen(listener, 1) != 0 ||
      os::socket_name(listener, false, address, size) != 0 ||
      (os::connect(ends[0], address, size) < 0 && os::wait_for(ends[0], true, 10'000) != 1) ||
      os::wait_for(listener, false, 10'000) != 1) {
    return false;
  }
  ends[1] = os::handle_of(os::accept(listener));
  os::close(listener);
  return os::set_no_delay(ends[0], true) == 0 && os::set_no_delay(ends[1], true) == 0;
}

inline constexpr int timed_out_number = WSAETIMEDOUT;

/// There is no number for failures of the system: each says what it is.
inline int fail_to_resolve() { return EAI_MEMORY; }
inline constexpr std::errc failure_to_resolve = std::errc::not_enough_memory;

/// On the loopback datagrams take no time.
inline thrum::net::endpoint datagram_place() { return thrum::net::endpoint("127.0.0.1:0"); }

}  // namespace support

#endif
