// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Files of any size, whatever size the program around us has chosen.
//
// glibc has two sets of these calls on a system of 32 bits, with offsets of 32 and of 64 bits, and
// gives the names without a number to the one that _FILE_OFFSET_BITS names. That is the program's
// macro, set or not before its first include, and must not decide what a header's inline function
// does. With offsets of 32 bits a call fails on a file that is larger, or that has a number beyond
// 32 bits, as large file systems give. Other libraries have one set, which knows 64 bits.
#ifndef THRUM_DETAIL_OS_POSIX_LARGE_FILE_HPP
#define THRUM_DETAIL_OS_POSIX_LARGE_FILE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <cstddef>
#include <cstdint>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os { namespace large_file {

#if defined(__USE_LARGEFILE64)
using offset = ::off64_t;
using status = struct ::stat64;
using entry = struct ::dirent64;
inline constexpr int open_flag = O_LARGEFILE;
inline ::ssize_t pread(int fd, void* to, std::size_t n, offset at) noexcept {
  return ::pread64(fd, to, n, at);
}
inline ::ssize_t pwrite(int fd, const void* from, std::size_t n, offset at) noexcept {
  return ::pwrite64(fd, from, n, at);
}
inline offset lseek(int fd, offset to, int from) noexcept { return ::lseek64(fd, to, from); }
inline int ftruncate(int fd, offset size) noexcept { return ::ftruncate64(fd, size); }
inline int fstat(int fd, status& about) noexcept { return ::fstat64(fd, &about); }
inline int stat(const char* path, status& about) noexcept { return ::stat64(path, &about); }
inline int fstatat(int fd, const char* name, status& about, int flags) noexcept {
  return ::fstatat64(fd, name, &about, flags);
}
inline entry* readdir(::DIR* names) noexcept { return ::readdir64(names); }
#else
using offset = ::off_t;
using status = struct ::stat;
using entry = struct ::dirent;
inline constexpr int open_flag = 0;
inline ::ssize_t pread(int fd, void* to, std::size_t n, offset at) noexcept {
  return ::pread(fd, to, n, at);
}
inline ::ssize_t pwrite(int fd, const void* from, std::size_t n, offset at) noexcept {
  return ::pwrite(fd, from, n, at);
}
inline offset lseek(int fd, offset to, int from) noexcept { return ::lseek(fd, to, from); }
inline int ftruncate(int fd, offset size) noexcept { return ::ftruncate(fd, size); }
inline int fstat(int fd, status& about) noexcept { return ::fstat(fd, &about); }
inline int stat(const char* path, status& about) noexcept { return ::stat(path, &about); }
inline int fstatat(int fd, const char* name, status& about, int flags) noexcept {
  return ::fstatat(fd, name, &about, flags);
}
inline entry* readdir(::DIR* names) noexcept { return ::readdir(names); }
#endif

static_assert(sizeof(offset) == sizeof(std::int64_t));

}}}}  // namespace thrum::THRUM_ABI::os::large_file

#endif  // THRUM_OS_POSIX
#endif
