// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What lies at a code address, on Linux.
#ifndef THRUM_OS_LINUX_SYMBOL_HPP
#define THRUM_OS_LINUX_SYMBOL_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace thrum::inline THRUM_ABI::os {

/// "function at program+0x1234"; the function only if the program exports its names (-rdynamic),
/// the offset as addr2line -e program takes it. Allocates.
THRUM_COLD inline std::string describe_address(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "an unknown place";
  }
  std::string text;
  if (info.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
    text.append(status == 0 ? name.get() : info.dli_sname).append(" at ");
  }
  const std::string_view file(info.dli_fname);
  const std::size_t slash = file.rfind('/');
  text.append(slash == file.npos ? file : file.substr(slash + 1)).append("+0x");
  auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[offset % 16]);
    offset /= 16;
  } while (offset != 0);
  return text + digits;
}

}  // namespace thrum::inline THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif  // THRUM_OS_LINUX_SYMBOL_HPP
