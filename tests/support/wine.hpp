// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What wine does in another way than Windows: tests that show it are left out there, each by itself
// and with the reason.
#ifndef THRUM_TESTS_SUPPORT_WINE_HPP
#define THRUM_TESTS_SUPPORT_WINE_HPP

#include "support/catch.hpp"

#include <string_view>

#if defined(_WIN32)
#include <thrum/os/windows/api.hpp>
#endif

namespace support {

inline bool is_wine() {
#if defined(_WIN32)
  return ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
#else
  return false;
#endif
}

/// Whether this is wine, of which `reason` says why the rest of a test is left out.
inline bool wine_cannot(std::string_view reason) {
  if (is_wine()) {
    WARN("left out under wine: " << reason);
  }
  return is_wine();
}

}  // namespace support

#endif
