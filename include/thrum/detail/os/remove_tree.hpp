// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Removes a directory and all that is in it.
#ifndef THRUM_DETAIL_OS_REMOVE_TREE_HPP
#define THRUM_DETAIL_OS_REMOVE_TREE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_POSIX

#include <thrum/detail/os/result.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Removes what stands under a name, and everything below it if that is a directory, without following
/// links, with a few descriptors for a tree of any depth. What cannot be removed stays, and the first error
/// is returned; none if nothing is there. May block.
io_result remove_tree(const char* path) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/posix/directory.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The names that are to be removed of one directory, each behind what it is; on the heap.
class names_to_remove {
 public:
  names_to_remove() noexcept = default;
  names_to_remove(const names_to_remove&) = delete;
  names_to_remove& operator=(const names_to_remove&) = delete;
  ~names_to_remove() { std::free(text_); }

  /// All at once: some systems leave names out when others are removed meanwhile.
  io_result read(const open_directory& directory) noexcept {
    directory_reader reader;
    io_result result = reader.open(directory);
    const char* name = nullptr;
    entry_kind kind{};
    while (result >= 0 && (result = reader.next(name, kind)) > 0) {
      result = add(name, kind);
    }
    return result;
  }

  /// Null: there is none any more.
  const char* next(entry_kind& kind) noexcept {
    if (at_ == used_) {
      return nullptr;
    }
    kind = static_cast<entry_kind>(text_[at_]);
    const char* const name = text_ + at_ + 1;
    at_ += std::strlen(name) + 2;
    return name;
  }

 private:
  io_result add(const char* name, entry_kind kind) noexcept {
    const std::size_t size = std::strlen(name) + 1;
    if (room_ - used_ < size + 1) {
      const std::size_t room = 2 * (room_ + size + 1);
      auto* const text = static_cast<char*>(std::realloc(text_, room));
      if (text == nullptr) {
        return no_memory;
      }
      text_ = text;
      room_ = room;
    }
    text_[used_] = static_cast<char>(kind);
    std::memcpy(text_ + used_ + 1, name, size);
    used_ += size + 1;
    return 0;
  }

  char* text_ = nullptr;
  std::size_t room_ = 0;
  std::size_t used_ = 0;
  std::size_t at_ = 0;
};

/// One of the directories in each other that remove_tree() is emptying.
struct emptied_directory {
  emptied_directory* above = nullptr;
  open_directory place;
  file_status about;
  names_to_remove names;
  char* name = nullptr;  // in the one above

  emptied_directory() noexcept = default;
  emptied_directory(const emptied_directory&) = delete;
  emptied_directory& operator=(const emptied_directory&) = delete;
  ~emptied_directory() { std::free(name); }
};

/// Empties directories in each other, without recursion: the caller may have a small stack.
class tree_remover {
 public:
  tree_remover() noexcept = default;
  tree_remover(const tree_remover&) = delete;
  tree_remover& operator=(const tree_remover&) = delete;
  ~tree_remover() { give_up(); }

  io_result run(const char* path) noexcept {
    io_result first = remove_or_enter(path, entry_kind::other);
    while (innermost_ != nullptr) {
      entry_kind kind{};
      const char* const name = innermost_->names.next(kind);
      const io_result result = name != nullptr ? remove_or_enter(name, kind) : leave();
      first = first != 0 ? first : result;
    }
    return first;
  }

 private:
  /// In which directory names are looked up.
  int place() const noexcept {
    return innermost_ != nullptr ? innermost_->place.native_handle() : AT_FDCWD;
  }

  /// Removes it, or makes it the innermost directory.
  io_result remove_or_enter(const char* name, entry_kind kind) noexcept {
    io_result entered = 0;
    if (kind == entry_kind::directory || kind == entry_kind::other) {
      entered = enter(name);
      if (entered == 0) {
        return 0;
      }
    }
    if (::unlinkat(place(), name, 0) == 0 || errno == ENOENT) {
      return 0;
    }
    const io_result kept = -errno;
    // A directory that must not be read goes if it is empty.
    if (entered != 0 && ::unlinkat(place(), name, AT_REMOVEDIR) == 0) {
      return 0;
    }
    return entered != 0 && errno != ENOTDIR ? entered : kept;
  }

  io_result enter(const char* name) noexcept {
    auto* const fresh = new (std::nothrow) emptied_directory;
    if (fresh == nullptr) {
      return no_memory;
    }
    io_result result = fresh->place.open_at(place(), name, false);
    result = result < 0 ? result : fresh->place.status(fresh->about);
    result = result < 0 ? result : fresh->names.read(fresh->place);
    fresh->name = result < 0 ? nullptr : ::strdup(name);
    if (fresh->name == nullptr) {
      delete fresh;
      return result < 0 ? result : no_memory;
    }
    fresh->above = innermost_;
    innermost_ = fresh;
    let_go_above();
    return 0;
  }

  /// Keeps only the innermost directories of a deep tree open.
  void let_go_above() noexcept {
    emptied_directory* outer = innermost_;
    for (std::size_t i = 0; outer != nullptr && i != most_open_directories; ++i) {
      outer = outer->above;
    }
    if (outer != nullptr) {
      outer->place.close();
    }
  }

  io_result leave() noexcept {
    emptied_directory* const done = std::exchange(innermost_, innermost_->above);
    io_result result = 0;
    if (innermost_ != nullptr && !innermost_->place.is_open()) {
      result = innermost_->place.open_above(done->place, innermost_->about);
    }
    done->place.close();
    if (result < 0) {  // it has been moved: nothing above is found again
      give_up();
    } else if (::unlinkat(place(), done->name, AT_REMOVEDIR) != 0) {
      result = -errno;
    }
    delete done;
    return result;
  }

  void give_up() noexcept {
    while (innermost_ != nullptr) {
      delete std::exchange(innermost_, innermost_->above);
    }
  }

  emptied_directory* innermost_ = nullptr;
};

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result remove_tree(const char* path) noexcept {
  return tree_remover().run(path);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/result.hpp>

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
#endif  // THRUM_DETAIL_OS_REMOVE_TREE_HPP
