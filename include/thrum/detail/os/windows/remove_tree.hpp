// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Removes a directory and all that is in it.
#ifndef THRUM_DETAIL_OS_WINDOWS_REMOVE_TREE_HPP
#define THRUM_DETAIL_OS_WINDOWS_REMOVE_TREE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/windows/result.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Removes what stands under a name, and everything below it if that is a directory, without following
/// links. Ends at the first error; none if nothing is there. May block.
io_result remove_tree(const char* path) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/directory.hpp>

#include <cstddef>
#include <cwchar>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Not ones that lead elsewhere.
inline bool is_own_directory(::DWORD attributes) noexcept {
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 &&
         (attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0;
}

inline bool is_dots(const wchar_t* name) noexcept {
  return std::wcscmp(name, L".") == 0 || std::wcscmp(name, L"..") == 0;
}

inline io_result remove_one(const wchar_t* path, ::DWORD attributes) noexcept {
  const bool is_directory = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  return result_of((is_directory ? ::RemoveDirectoryW(path) : ::DeleteFileW(path)) != 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result remove_tree(const char* path) noexcept {
  wide_path at;
  if (const io_result error = set_path(at, path); error != 0) {
    return error;
  }
  const ::DWORD attributes = ::GetFileAttributesW(at.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) {
    const io_result error = result_of(false, 0);
    return error == -ERROR_FILE_NOT_FOUND || error == -ERROR_PATH_NOT_FOUND ? 0 : error;
  }
  if (!is_own_directory(attributes)) {
    return remove_one(at.c_str(), attributes);
  }
  const std::size_t top = at.size();
  for (;;) {  // without recursion: the caller may have a small stack
    const std::size_t here = at.size();
    ::WIN32_FIND_DATAW found;
    if (!at.enter(L"*")) {
      return no_memory;
    }
    const ::HANDLE names = ::FindFirstFileW(at.c_str(), &found);
    at.cut(here);
    io_result result = 0;
    bool goes_down = false;
    for (bool more = names != INVALID_HANDLE_VALUE; more && !goes_down && result == 0;
         more = !goes_down && ::FindNextFileW(names, &found) != 0) {
      if (is_dots(found.cFileName)) {
        continue;
      }
      if (!at.enter(found.cFileName)) {
        result = no_memory;
        break;
      }
      goes_down = is_own_directory(found.dwFileAttributes);
      if (!goes_down) {
        result = remove_one(at.c_str(), found.dwFileAttributes);
        at.cut(here);
      }
    }
    if (names != INVALID_HANDLE_VALUE) {
      ::FindClose(names);
    }
    if (goes_down) {
      continue;
    }
    result = result != 0 ? result : remove_one(at.c_str(), FILE_ATTRIBUTE_DIRECTORY);
    if (result != 0 || here == top) {
      return result;
    }
    at.leave();
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif
