// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which file of code holds an address, and where that file is.
#ifndef THRUM_DETAIL_OS_POSIX_LOADED_CODE_HPP
#define THRUM_DETAIL_OS_POSIX_LOADED_CODE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/os/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What dladdr says; and where the C library has no loader, as musl's in a program that is linked
/// statically, in which of its own parts the address lies.
THRUM_COLD inline bool find_object(const void* address, ::Dl_info& info) noexcept {
  info = {};
  if (address == nullptr || (::dladdr(address, &info) != 0 && info.dli_fname != nullptr)) {
    return address != nullptr;
  }
  struct request {
    std::uintptr_t address;
    ::Dl_info* info;
  } wanted{reinterpret_cast<std::uintptr_t>(address), &info};
  return ::dl_iterate_phdr(
             [](::dl_phdr_info* object, std::size_t, void* argument) {
               const request& what = *static_cast<request*>(argument);
               std::uintptr_t first = 0;
               for (unsigned i = 0; i != object->dlpi_phnum; ++i) {
                 const auto& part = object->dlpi_phdr[i];
                 if (part.p_type != PT_LOAD) {
                   continue;
                 }
                 const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
                 first = first != 0 ? first : begin / page_size() * page_size();
                 if (what.address - begin < part.p_memsz) {
                   what.info->dli_fname = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
                   what.info->dli_fbase = reinterpret_cast<void*>(first);
                   return what.info->dli_fname != nullptr ? 1 : 0;
                 }
               }
               return 0;
             },
             &wanted) != 0;
}

/// The loader knows the program by the name that it was started with, relative to where.
inline std::string readable_path(const char* name) {
  return ::access(name, R_OK) == 0 ? name : "/proc/" + std::to_string(::getpid()) + "/exe";
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX

#if THRUM_OS_BSD

#include <string>

#include <dlfcn.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// The loaders of these systems know a file by an absolute path.

/// What dladdr says. No malloc.
THRUM_COLD inline bool find_object(const void* address, ::Dl_info& info) noexcept {
  info = {};
  return address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr;
}

inline std::string readable_path(const char* name) { return name; }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD
#endif  // THRUM_DETAIL_OS_POSIX_LOADED_CODE_HPP
