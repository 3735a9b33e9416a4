// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Opening a file by a name from a stranger, below one directory and nowhere else.
//
// The kernel holds the border (openat2 of Linux 5.6, O_RESOLVE_BENEATH of FreeBSD 13): ".." and symbolic
// links may lead around inside, and nothing can be exchanged between a check and the opening, because
// there is no check. Where the kernel or a sandbox does not have that, each part of the path is opened
// on its own, and neither ".." nor symbolic links are followed.
#ifndef THRUM_EXAMPLES_HTTP_OPEN_BENEATH_HPP
#define THRUM_EXAMPLES_HTTP_OPEN_BENEATH_HPP

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

namespace http {

/// An open file, closed with the object.
class file_handle {
 public:
  explicit file_handle(int fd = -1) noexcept : fd_(fd) {}
  file_handle(file_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~file_handle() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// Without O_NONBLOCK a pipe in the directory would wait for somebody to write to it.
inline constexpr int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// To a directory whose files are opened, but which is not read itself.
#if defined(O_PATH)
inline constexpr int directory_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
inline constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif

inline file_handle open_step_by_step(int root, const std::string& path) {
  file_handle at(::openat(root, ".", directory_flags));
  std::size_t begin = 0;
  while (at.get() >= 0) {
    const std::size_t end = path.find('/', begin);
    const std::string part = path.substr(begin, end - begin);
    if (part == "..") {
      errno = EXDEV;
      return file_handle();
    }
    const char* const name = part.empty() ? "." : part.c_str();
    if (end == std::string::npos) {
      return file_handle(::openat(at.get(), name, open_flags | O_NOFOLLOW));
    }
    at = file_handle(::openat(at.get(), name, directory_flags | O_NOFOLLOW));
    begin = end + 1;
  }
  return at;
}

/// Opens the file of that relative path for reading; on failure none, with errno set. May block.
inline file_handle open_beneath(int root, const std::string& path) {
#if defined(RESOLVE_BENEATH)
  ::open_how how{};
  how.flags = static_cast<std::uint64_t>(open_flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
    return open_step_by_step(root, path);
  }
  return file_handle(static_cast<int>(fd));
#elif defined(__FreeBSD__)
  return file_handle(::openat(root, path.c_str(), open_flags | O_RESOLVE_BENEATH));
#else
  return open_step_by_step(root, path);
#endif
}

}  // namespace http

#endif
