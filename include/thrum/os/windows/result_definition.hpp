// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/windows/result.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_WINDOWS_RESULT_DEFINITION_HPP
#define THRUM_OS_WINDOWS_RESULT_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/api.hpp>
#include <thrum/os/windows/result.hpp>

#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace os {

static_assert(would_block == -WSAEWOULDBLOCK && interrupted == -WSAEINTR);
static_assert(cancelled == -ERROR_OPERATION_ABORTED && no_memory == -ERROR_NOT_ENOUGH_MEMORY);
static_assert(bad_handle == -ERROR_INVALID_HANDLE && invalid == -ERROR_INVALID_PARAMETER);
static_assert(not_supported == -ERROR_NOT_SUPPORTED && no_such_process == -ERROR_WAIT_NO_CHILDREN);
static_assert(no_offsets == -ERROR_SEEK_ON_DEVICE && no_address == -WSAEDESTADDRREQ);
static_assert(not_connected == -WSAENOTCONN && in_progress == -ERROR_IO_PENDING);
static_assert(always_ready == -ERROR_INVALID_FUNCTION && already_added == -ERROR_ALREADY_EXISTS);
static_assert(not_armed == -ERROR_NOT_FOUND);

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result result_of(bool worked, io_result value) noexcept {
  return worked ? value : -static_cast<io_result>(::GetLastError());
}

THRUM_OUT_OF_LINE bool out_of_handles(io_result result) noexcept {
  switch (-result) {
    case ERROR_TOO_MANY_OPEN_FILES:
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_NO_SYSTEM_RESOURCES:
    case WSAEMFILE:
    case WSAENOBUFS: return true;
    default: return false;
  }
}

/// The category of the system's errors. The standard library's knows what errors of files mean, and of
/// sockets nothing.
class windows_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "system"; }
  std::string message(int number) const override { return std::system_category().message(number); }
  std::error_condition default_error_condition(int number) const noexcept override {
    switch (number) {
      case WSAEINTR: return std::make_error_condition(std::errc::interrupted);
      case WSAEBADF: return std::make_error_condition(std::errc::bad_file_descriptor);
      case WSAEACCES: return std::make_error_condition(std::errc::permission_denied);
      case WSAEFAULT: return std::make_error_condition(std::errc::bad_address);
      case WSAEINVAL: return std::make_error_condition(std::errc::invalid_argument);
      case WSAEMFILE: return std::make_error_condition(std::errc::too_many_files_open);
      case WSAEWOULDBLOCK: return std::make_error_condition(std::errc::operation_would_block);
      case WSAEINPROGRESS: return std::make_error_condition(std::errc::operation_in_progress);
      case WSAEALREADY: return std::make_error_condition(std::errc::connection_already_in_progress);
      case WSAENOTSOCK: return std::make_error_condition(std::errc::not_a_socket);
      case WSAEDESTADDRREQ:
        return std::make_error_condition(std::errc::destination_address_required);
      case WSAEMSGSIZE: return std::make_error_condition(std::errc::message_size);
      case WSAEPROTOTYPE: return std::make_error_condition(std::errc::wrong_protocol_type);
      case WSAENOPROTOOPT: return std::make_error_condition(std::errc::no_protocol_option);
      case WSAEPROTONOSUPPORT: return std::make_error_condition(std::errc::protocol_not_supported);
      case WSAEOPNOTSUPP: return std::make_error_condition(std::errc::operation_not_supported);
      case WSAEAFNOSUPPORT:
        return std::make_error_condition(std::errc::address_family_not_supported);
      case WSAEADDRINUSE: return std::make_error_condition(std::errc::address_in_use);
      case WSAEADDRNOTAVAIL: return std::make_error_condition(std::errc::address_not_available);
      case WSAENETDOWN: return std::make_error_condition(std::errc::network_down);
      case WSAENETUNREACH: return std::make_error_condition(std::errc::network_unreachable);
      case WSAENETRESET: return std::make_error_condition(std::errc::network_reset);
      case WSAECONNABORTED: return std::make_error_condition(std::errc::connection_aborted);
      case WSAECONNRESET: return std::make_error_condition(std::errc::connection_reset);
      case WSAENOBUFS: return std::make_error_condition(std::errc::no_buffer_space);
      case WSAESHUTDOWN: return std::make_error_condition(std::errc::broken_pipe);
      case WSAEISCONN: return std::make_error_condition(std::errc::already_connected);
      case WSAENOTCONN: return std::make_error_condition(std::errc::not_connected);
      case WSAETIMEDOUT: return std::make_error_condition(std::errc::timed_out);
      case WSAECONNREFUSED: return std::make_error_condition(std::errc::connection_refused);
      case WSAENAMETOOLONG: return std::make_error_condition(std::errc::filename_too_long);
      case WSAEHOSTUNREACH: return std::make_error_condition(std::errc::host_unreachable);
      case ERROR_OPERATION_ABORTED: return std::make_error_condition(std::errc::operation_canceled);
      case ERROR_NOT_SUPPORTED:
        return std::make_error_condition(std::errc::operation_not_supported);
      case ERROR_WAIT_NO_CHILDREN: return std::make_error_condition(std::errc::no_such_process);
      case ERROR_DIRECTORY: return std::make_error_condition(std::errc::not_a_directory);
      case ERROR_IO_PENDING: return std::make_error_condition(std::errc::operation_in_progress);
      default: return std::system_category().default_error_condition(number);
    }
  }
};

THRUM_NOINLINE THRUM_OUT_OF_LINE std::error_code error_code_of(io_result result) noexcept {
  static const windows_category category;
  return {result < 0 ? static_cast<int>(-result) : 0, category};
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_WINDOWS
#endif
