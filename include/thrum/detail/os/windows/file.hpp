// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files: the system calls. Paths are UTF-8. Each new handle is closed in a child.
#ifndef THRUM_DETAIL_OS_WINDOWS_FILE_HPP
#define THRUM_DETAIL_OS_WINDOWS_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nothing to read; what is written disappears.
inline constexpr const char* null_device = "NUL";

/// If `permissions` have none to write, the file that is created is read-only; the rest has no effect.
/// Other processes may rename and remove an open file.
io_result open_file(const char* path, open_mode mode, unsigned permissions) noexcept;

/// There are none of open(2).
struct system_open_flags {
  system_open_flags() = delete;
};
io_result open_file_with_flags(const char* path, const system_open_flags& flags,
                               unsigned permissions) noexcept;

/// Takes it out of its directory. May block.
io_result remove_file(const char* path) noexcept;

/// A new directory, with the permissions of the one above it. May block.
io_result make_directory(const char* path, unsigned permissions) noexcept;

io_result read_at(handle fd, void* to, std::size_t n, std::int64_t offset) noexcept;

io_result write_at(handle fd, const void* from, std::size_t n, std::int64_t offset) noexcept;

/// The new position.
io_result seek(handle fd, std::int64_t offset, seek_from from) noexcept;

io_result sync(handle fd) noexcept;

io_result truncate(handle fd, std::int64_t size) noexcept;

io_result file_size(handle fd) noexcept;

/// What kind of file a descriptor is.
struct file_kind {
  bool may_wait = false;   ///< a socket or a pipe of ours: what the poller can watch
  bool may_break = false;  ///< a pipe or a socket: writing may fail for want of a reader
  bool is_nonblocking = false;
  bool appends = false;
};

io_result kind_of(handle fd, file_kind& kind) noexcept;

/// Another handle for the same open file.
io_result duplicate(handle fd) noexcept;

/// The process's standard input (0), output (1) or error (2).
handle standard_handle(int number) noexcept;

io_result status_of(handle fd, file_status& status) noexcept;

/// Makes an open file read-only if the one with that status is. Its other rights are the directory's. May
/// block.
io_result give_rights(handle fd, const char* like, const file_status& status) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/descriptor.hpp>
#include <thrum/detail/os/windows/thread.hpp>
#include <thrum/detail/os/windows/wide_text.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_file(const char* path, open_mode mode,
                                                     unsigned permissions) noexcept {
  constexpr unsigned may_write = 0222;
  const wide_text name(path);
  if (name.error() != 0) {
    return name.error();
  }
  const bool appends = has_all(mode, open_mode::append);
  const bool truncates = has_all(mode, open_mode::truncate);
  const bool creates = has_all(mode, open_mode::create);
  ::DWORD access = has_all(mode, open_mode::read) ? GENERIC_READ : 0;
  if (has_all(mode, open_mode::write)) {
    // Without the right to write anywhere each write goes to the end.
    access |= appends && !truncates ? FILE_GENERIC_WRITE & ~FILE_WRITE_DATA : GENERIC_WRITE;
  }
  const ::DWORD how = creates && has_all(mode, open_mode::exclusive) ? CREATE_NEW
                      : creates && truncates                         ? CREATE_ALWAYS
                      : creates                                      ? OPEN_ALWAYS
                      : truncates                                    ? TRUNCATE_EXISTING
                                                                     : OPEN_EXISTING;
  const ::DWORD attributes = (creates && (permissions & may_write) == 0 ? FILE_ATTRIBUTE_READONLY
                                                                        : FILE_ATTRIBUTE_NORMAL) |
                             (has_all(mode, open_mode::synchronous) ? FILE_FLAG_WRITE_THROUGH : 0);
  const ::HANDLE file =
      ::CreateFileW(name.c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    nullptr, how, attributes, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    return result_of(false, 0);
  }
  if (appends && truncates) {  // it is empty now, and opened anew
    ::CloseHandle(file);
    return open_file(path,
                     static_cast<open_mode>(static_cast<unsigned>(mode) &
                                            ~static_cast<unsigned>(open_mode::truncate) &
                                            ~static_cast<unsigned>(open_mode::exclusive)),
                     permissions);
  }
  return static_cast<io_result>(reinterpret_cast<std::uintptr_t>(file));
}

THRUM_OUT_OF_LINE io_result open_file_with_flags(const char*, const system_open_flags&,
                                                 unsigned) noexcept {
  return not_supported;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result remove_file(const char* path) noexcept {
  const wide_text name(path);
  return name.error() != 0 ? name.error() : result_of(::DeleteFileW(name.c_str()) != 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result make_directory(const char* path,
                                                          unsigned /*permissions*/) noexcept {
  const wide_text name(path);
  return name.error() != 0 ? name.error()
                           : result_of(::CreateDirectoryW(name.c_str(), nullptr) != 0, 0);
}

/// Calls call(place) and puts the file's position back (PO1).
template <class Call>
io_result at_offset(handle fd, std::int64_t offset, Call call) noexcept {
  if (::GetFileType(native(fd)) != FILE_TYPE_DISK) {
    return ::GetFileType(native(fd)) == FILE_TYPE_UNKNOWN ? bad_handle : no_offsets;
  }
  if (offset < 0) {
    return invalid;
  }
  const held_position turn(fd);
  ::LARGE_INTEGER stood{};
  if (::SetFilePointerEx(native(fd), ::LARGE_INTEGER{}, &stood, FILE_CURRENT) == 0) {
    return result_of(false, 0);
  }
  ::OVERLAPPED place{};
  place.Offset = static_cast<::DWORD>(offset);
  place.OffsetHigh = static_cast<::DWORD>(static_cast<std::uint64_t>(offset) >> 32);
  const io_result result = call(&place);
  ::SetFilePointerEx(native(fd), stood, nullptr, FILE_BEGIN);
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_at(handle fd, void* to, std::size_t n,
                                                   std::int64_t offset) noexcept {
  return at_offset(fd, offset, [&](::OVERLAPPED* place) noexcept {
    ::DWORD got = 0;
    const bool worked = ::ReadFile(native(fd), to, call_size(n), &got, place) != 0;
    return end_is_zero(result_of(worked, got));
  });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_at(handle fd, const void* from, std::size_t n,
                                                    std::int64_t offset) noexcept {
  return at_offset(fd, offset, [&](::OVERLAPPED* place) noexcept {
    ::DWORD put = 0;
    const bool worked = ::WriteFile(native(fd), from, call_size(n), &put, place) != 0;
    return result_of(worked, put);
  });
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result seek(handle fd, std::int64_t offset,
                                                seek_from from) noexcept {
  if (const ::DWORD type = ::GetFileType(native(fd)); type != FILE_TYPE_DISK) {
    return type == FILE_TYPE_UNKNOWN ? bad_handle : no_offsets;
  }
  const ::DWORD whence = from == seek_from::begin     ? FILE_BEGIN
                         : from == seek_from::current ? FILE_CURRENT
                                                      : FILE_END;
  ::LARGE_INTEGER distance{};
  distance.QuadPart = offset;
  ::LARGE_INTEGER place{};
  const held_position turn(fd);
  const bool worked = ::SetFilePointerEx(native(fd), distance, &place, whence) != 0;
  const io_result result = result_of(worked, place.QuadPart);
  return result == -ERROR_NEGATIVE_SEEK ? io_result{invalid} : result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result sync(handle fd) noexcept {
  return result_of(::FlushFileBuffers(native(fd)) != 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result truncate(handle fd, std::int64_t size) noexcept {
  ::FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = size;
  return result_of(
      ::SetFileInformationByHandle(native(fd), FileEndOfFileInfo, &end, sizeof end) != 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result file_size(handle fd) noexcept {
  ::LARGE_INTEGER size{};
  const bool worked = ::GetFileSizeEx(native(fd), &size) != 0;
  return result_of(worked, size.QuadPart);
}

/// Whether a file was opened so that each write goes to the end: its rights tell.
inline bool is_appending(handle fd) noexcept {
  struct status_block {
    std::intptr_t status;
    std::uintptr_t information;
  };
  using query = long __stdcall(::HANDLE, status_block*, void*, unsigned long, int);
  static query* const ask = find_function<query>(L"ntdll.dll", "NtQueryInformationFile");
  constexpr int access_information = 8;
  unsigned long rights = 0;
  status_block done{};
  return ask != nullptr &&
         ask(native(fd), &done, &rights, sizeof rights, access_information) >= 0 &&
         (rights & FILE_APPEND_DATA) != 0 && (rights & FILE_WRITE_DATA) == 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result kind_of(handle fd, file_kind& kind) noexcept {
  const ::DWORD type = ::GetFileType(native(fd));
  if (type == FILE_TYPE_UNKNOWN) {
    return bad_handle;
  }
  kind.may_break = type == FILE_TYPE_PIPE;
  const bool is_pipe = is_own_pipe(fd);
  kind.may_wait = is_pipe || is_socket(fd);
  kind.is_nonblocking = is_pipe;  // the system does not say it of a socket
  kind.appends = type == FILE_TYPE_DISK && is_appending(fd);
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result duplicate(handle fd) noexcept {
  if (is_socket(fd)) {
    ::WSAPROTOCOL_INFOW about;
    if (::WSADuplicateSocketW(fd, ::GetCurrentProcessId(), &about) != 0) {
      return result_of(false, 0);
    }
    const ::SOCKET fresh =
        ::WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &about, 0,
                     WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    return result_of(fresh != INVALID_SOCKET, static_cast<io_result>(fresh));
  }
  ::HANDLE fresh = nullptr;
  const ::HANDLE process = ::GetCurrentProcess();
  const bool worked =
      ::DuplicateHandle(process, native(fd), process, &fresh, 0, FALSE, DUPLICATE_SAME_ACCESS) != 0;
  return result_of(worked, static_cast<io_result>(reinterpret_cast<std::uintptr_t>(fresh)));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE handle standard_handle(int number) noexcept {
  const ::DWORD which = number == 0   ? STD_INPUT_HANDLE
                        : number == 1 ? STD_OUTPUT_HANDLE
                                      : STD_ERROR_HANDLE;
  return static_cast<handle>(reinterpret_cast<std::uintptr_t>(::GetStdHandle(which)));
}

inline entry_kind kind_of_file(::HANDLE file, ::DWORD attributes) noexcept {
  constexpr ::DWORD unix_socket = 0x80000023;  // IO_REPARSE_TAG_AF_UNIX
  ::FILE_ATTRIBUTE_TAG_INFO about{};
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
      ::GetFileInformationByHandleEx(file, FileAttributeTagInfo, &about, sizeof about) != 0) {
    switch (about.ReparseTag) {
      case IO_REPARSE_TAG_SYMLINK:
      case IO_REPARSE_TAG_MOUNT_POINT: return entry_kind::link;
      case unix_socket: return entry_kind::socket;
      default: break;
    }
  }
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? entry_kind::directory
         : (attributes & FILE_ATTRIBUTE_DEVICE) != 0  ? entry_kind::device
                                                      : entry_kind::file;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result status_of(handle fd, file_status& status) noexcept {
  constexpr unsigned all = 0777;
  constexpr unsigned none_to_write = 0555;
  switch (::GetFileType(native(fd))) {
    case FILE_TYPE_DISK: break;
    case FILE_TYPE_PIPE: return status.kind = entry_kind::pipe, 0;
    case FILE_TYPE_CHAR: return status.kind = entry_kind::device, 0;
    default: return bad_handle;
  }
  ::BY_HANDLE_FILE_INFORMATION about{};
  if (::GetFileInformationByHandle(native(fd), &about) == 0) {
    return result_of(false, 0);
  }
  status.kind = kind_of_file(native(fd), about.dwFileAttributes);
  status.device = about.dwVolumeSerialNumber;
  status.number = static_cast<std::uint64_t>(about.nFileIndexHigh) << 32 | about.nFileIndexLow;
  status.permissions =
      (about.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? none_to_write : all;
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result give_rights(handle fd, const char* /*like*/,
                                                       const file_status& status) noexcept {
  constexpr unsigned may_write = 0222;
  ::FILE_BASIC_INFO about{};
  if (::GetFileInformationByHandleEx(native(fd), FileBasicInfo, &about, sizeof about) == 0) {
    return result_of(false, 0);
  }
  constexpr ::DWORD read_only = FILE_ATTRIBUTE_READONLY;
  about.FileAttributes = (status.permissions & may_write) != 0 ? about.FileAttributes & ~read_only
                                                               : about.FileAttributes | read_only;
  return result_of(
      ::SetFileInformationByHandle(native(fd), FileBasicInfo, &about, sizeof about) != 0, 0);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_FILE_HPP
