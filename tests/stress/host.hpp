// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What stress programs ask of the system beside the library, and systems call by different names.
#ifndef THRUM_TESTS_STRESS_HOST_HPP
#define THRUM_TESTS_STRESS_HOST_HPP

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#if defined(_WIN32)
#include <thrum/detail/os/windows/api.hpp>

#include <filesystem>

#include <fcntl.h>
#include <io.h>
#else
#include "support/descriptors.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#endif
#include "support/scale.hpp"

#include <unistd.h>

namespace stress::host {

/// The process of a stress program that fails ends soon.
inline void end_in([[maybe_unused]] unsigned seconds) {
#if !defined(_WIN32)
  ::alarm(seconds);
#endif
}

/// How many threads of all programs want a CPU; 0: the system does not say.
inline double runnable_threads() {
  double load = 0;
#if !defined(_WIN32)
  if (::getloadavg(&load, 1) != 1) {
    load = 0;
  }
#endif
  return load;
}

/// Whether what a process is told of its memory is its own, and not an emulator's, too.
inline bool sees_own_memory() {
#if defined(_WIN32)
  return true;
#else
  return support::memory_is_exact();
#endif
}

/// Two ends that block: 0 to read, 1 to write.
inline bool open_pipe(int (&ends)[2]) {
#if defined(_WIN32)
  return ::_pipe(ends, 65'536, _O_BINARY | _O_NOINHERIT) == 0;
#else
  return support::open_pipe(ends, support::waits::yes);
#endif
}

/// As many bytes as were read or written; below zero: errno says why not.
inline std::int64_t read(int fd, void* to, std::size_t size) {
#if defined(_WIN32)
  return ::_read(fd, to, static_cast<unsigned>(size));
#else
  return ::read(fd, to, size);
#endif
}
inline std::int64_t write(int fd, const void* from, std::size_t size) {
#if defined(_WIN32)
  return ::_write(fd, from, static_cast<unsigned>(size));
#else
  return ::write(fd, from, size);
#endif
}

/// A call of the system that says nothing of importance.
inline int ask_the_system() {
#if defined(_WIN32)
  return static_cast<int>(::GetProcessVersion(0));
#else
  return ::getppid();
#endif
}

inline void local_time(std::time_t moment, std::tm& parts) {
#if defined(_WIN32)
  ::localtime_s(&parts, &moment);
#else
  ::localtime_r(&moment, &parts);
#endif
}

/// The name of a file that was not there before.
inline std::string new_file() {
#if defined(_WIN32)
  static constexpr wchar_t prefix[] = L"thr";
  wchar_t name[MAX_PATH] = L"";
  const std::wstring folder = std::filesystem::temp_directory_path().wstring();
  const bool is_made = ::GetTempFileNameW(folder.c_str(), prefix, 0, name) != 0;
  return is_made ? std::filesystem::path(name).string() : std::string();
#else
  char name[] = "/tmp/thrum_stress_preemption_XXXXXX";
  const int fd = ::mkostemp(name, O_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
  }
  return fd >= 0 ? name : std::string();
#endif
}

#if defined(_WIN32)

inline constexpr const char* libraries[] = {"version.dll", "kernel32.dll"};
inline constexpr const char* nothing_to_run = "exit 0";

inline void* open_library(const char* name) { return ::LoadLibraryA(name); }
inline bool close_library(void* library) {
  return ::FreeLibrary(static_cast<::HMODULE>(library)) != 0;
}
/// Whether the library does not have it, and this thread is told so.
inline bool lacks_symbol(void* library, const char* name) {
  return ::GetProcAddress(static_cast<::HMODULE>(library), name) == nullptr &&
         ::GetLastError() == ERROR_PROC_NOT_FOUND;
}

#else

inline constexpr const char* libraries[] = {"libz.so.1", "libz.so.6", "libm.so.6", "libc.so.6",
                                            "libz.dylib"};
inline constexpr const char* nothing_to_run = "true";

inline void* open_library(const char* name) { return ::dlopen(name, RTLD_LAZY); }
inline bool close_library(void* library) { return ::dlclose(library) == 0; }
/// Whether the library does not have it, and this thread is told so.
inline bool lacks_symbol(void* library, const char* name) {
  return ::dlsym(library, name) == nullptr && ::dlerror() != nullptr;
}

#endif

}  // namespace stress::host

#endif
