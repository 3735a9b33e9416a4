// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which file of code holds an address, and where that file is: the loaders of these systems know it
// by an absolute path.
#ifndef THRUM_DETAIL_OS_BSD_LOADED_CODE_HPP
#define THRUM_DETAIL_OS_BSD_LOADED_CODE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <string>

#include <dlfcn.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What dladdr says. No malloc.
THRUM_COLD inline bool find_object(const void* address, ::Dl_info& info) noexcept {
  info = {};
  return address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr;
}

inline std::string readable_path(const char* name) { return name; }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD
#endif  // THRUM_DETAIL_OS_BSD_LOADED_CODE_HPP
