// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Writing to standard error: all that this floor asks of the system, which stands one floor above; so
// this chooses, too.
#ifndef THRUM_DETAIL_BASE_STDERR_HPP
#define THRUM_DETAIL_BASE_STDERR_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>

#if THRUM_OS_WINDOWS
struct _OVERLAPPED;
extern "C" {  // as the system's header has them, which is too large for this floor
__declspec(dllimport) void* __stdcall GetStdHandle(unsigned long which);
__declspec(dllimport) int __stdcall WriteFile(void* file, const void* bytes, unsigned long n,
                                              unsigned long* written, _OVERLAPPED* overlapped);
}
#else
#include <unistd.h>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// How many of the bytes were written, from a signal handler as well; below 1 if none can be.
inline std::ptrdiff_t write_to_standard_error(const char* bytes, std::size_t n) noexcept {
#if THRUM_OS_WINDOWS  // the C library's would wait for a thread that is stopped inside of it
  constexpr unsigned long standard_error = 0xFFFF'FFF4;
  constexpr std::size_t most = 1 << 20;
  unsigned long written = 0;
  const auto length = static_cast<unsigned long>(n < most ? n : most);
  return ::WriteFile(::GetStdHandle(standard_error), bytes, length, &written, nullptr) == 0
             ? -1
             : static_cast<std::ptrdiff_t>(written);
#else
  return ::write(STDERR_FILENO, bytes, n);
#endif
}

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_STDERR_HPP
