// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Directories, and the calls that take paths, which are UTF-8.
#ifndef THRUM_DETAIL_OS_WINDOWS_DIRECTORY_HPP
#define THRUM_DETAIL_OS_WINDOWS_DIRECTORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/result.hpp>

#include <cstddef>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What stands between names.
inline constexpr char path_separator = '\\';

/// Whether a name may follow behind it at once.
constexpr bool ends_directory(char last) noexcept {
  return last == '/' || last == '\\' || last == ':';
}

/// A directory that is not to be exchanged for a link: whether it is one is looked at before it is read,
/// and not while it is read. Move-only.
class open_directory {
 public:
  open_directory() noexcept = default;
  open_directory(open_directory&& other) noexcept : path_(std::exchange(other.path_, nullptr)) {}
  open_directory& operator=(open_directory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~open_directory() { close(); }

  /// What a path leads to. May block, as may the others.
  io_result open(const char* path) noexcept;
  /// The one of that path, and not what a link leads to. -ERROR_DIRECTORY: it is none, or a link.
  io_result open_in(const open_directory& above, const char* name, const char* path) noexcept;
  /// Is not needed: none is closed before its time.
  io_result open_above(const open_directory& below, const file_status& expected) noexcept;

  bool is_open() const noexcept { return path_ != nullptr; }
  const char* path() const noexcept { return path_; }
  io_result status(file_status& about) const noexcept;
  void close() noexcept;

 private:
  char* path_ = nullptr;
};

/// The names in a directory.
class directory_reader {
 public:
  directory_reader() noexcept = default;
  directory_reader(const directory_reader&) = delete;
  directory_reader& operator=(const directory_reader&) = delete;
  ~directory_reader();

  /// Once. May block.
  io_result open(const char* path) noexcept;
  io_result open(const open_directory& directory) noexcept { return open(directory.path()); }
  /// The next one that is not "." or "..", good until the next call: 1; or 0, there are no more. May
  /// block.
  io_result next(const char*& name, entry_kind& kind) noexcept;

 private:
  static constexpr std::size_t longest = 260 * 3;
  void* names_ = nullptr;
  bool has_next_ = false;  // the system finds the first when it opens
  entry_kind kind_ = entry_kind::other;
  char name_[longest];
};

/// In place of a file that is there. May block.
io_result rename_file(const char* from, const char* to) noexcept;

/// The absolute path of what is there, with no links in it; its length. `to` has it, with a null
/// behind it, if that is less than `room`. May block.
io_result real_path(const char* path, char* to, std::size_t room) noexcept;

/// Where a link leads in the end, if something is there, as an absolute path; its length, 0 if no link is
/// there. `to` has it, with a null behind it, if that is less than `room`. May block.
io_result read_link(const char* path, char* to, std::size_t room) noexcept;

/// Where temporary files go: TMP, TEMP, or the user's directory. As read_link().
io_result temporary_path(char* to, std::size_t room) noexcept;

/// A path that leads to the same name from every working directory; its length. As read_link().
io_result absolute_path(const char* path, char* to, std::size_t room) noexcept;

/// What stands under a name, which may be a link. May block.
io_result status_of_name(const char* path, file_status& status) noexcept;

/// What a path leads to. May block.
io_result status_of_target(const char* path, file_status& status) noexcept;

/// Does nothing: the system offers no such call.
inline io_result sync_directory(const char* /*path*/) noexcept { return 0; }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/file.hpp>
#include <thrum/detail/os/windows/wide_text.hpp>

#include <cstdint>
#include <cstring>
#include <cwchar>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A path to which names are added; on the heap.
class wide_path {
 public:
  wide_path() noexcept = default;
  wide_path(const wide_path&) = delete;
  wide_path& operator=(const wide_path&) = delete;
  ~wide_path() { delete[] text_; }

  std::size_t size() const noexcept { return size_; }
  const wchar_t* c_str() const noexcept { return text_; }
  wchar_t* data() noexcept { return text_; }

  /// Whether there is room for this many units, with their null.
  bool reserve(std::size_t room) noexcept {
    if (room > room_) {
      auto* const fresh = new (std::nothrow) wchar_t[2 * room];
      if (fresh == nullptr) {
        return false;
      }
      if (size_ != 0) {
        std::memcpy(fresh, text_, size_ * sizeof(wchar_t));
      }
      fresh[size_] = L'\0';
      delete[] text_;
      text_ = fresh;
      room_ = 2 * room;
    }
    return true;
  }
  bool append(const wchar_t* text) noexcept {
    const std::size_t length = std::wcslen(text);
    if (!reserve(size_ + length + 1)) {
      return false;
    }
    std::memcpy(text_ + size_, text, (length + 1) * sizeof(wchar_t));
    size_ += length;
    return true;
  }
  /// Adds a name, or a pattern of names, of what is in the directory.
  bool enter(const wchar_t* name) noexcept {
    const wchar_t last = size_ != 0 ? text_[size_ - 1] : L':';
    return ((last < 0x80 && ends_directory(static_cast<char>(last))) || append(L"\\")) &&
           append(name);
  }
  /// What was written to data(), of which there is room; false: nothing was.
  bool set_size(std::size_t size) noexcept {
    if (size != 0) {
      cut(size);
    }
    return size != 0;
  }
  void cut(std::size_t size) noexcept {
    size_ = size;
    text_[size_] = L'\0';
  }
  void leave() noexcept {
    std::size_t size = size_;
    while (size != 0 && text_[size] != L'\\') {
      --size;
    }
    cut(size);
  }

 private:
  wchar_t* text_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

/// 0, or an error.
inline io_result set_path(wide_path& to, const char* path) noexcept {
  const wide_text name(path);
  return name.error() != 0 ? name.error() : to.append(name.c_str()) ? 0 : io_result{no_memory};
}

inline entry_kind kind_of_found(const ::WIN32_FIND_DATAW& found) noexcept {
  const bool leads_on = (found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
                        (found.dwReserved0 == IO_REPARSE_TAG_SYMLINK ||
                         found.dwReserved0 == IO_REPARSE_TAG_MOUNT_POINT);
  return leads_on                                                   ? entry_kind::link
         : (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? entry_kind::directory
         : (found.dwFileAttributes & FILE_ATTRIBUTE_DEVICE) != 0    ? entry_kind::device
                                                                    : entry_kind::file;
}

/// Writes a text of `units`, with a null behind it, if it fits; its length.
inline io_result put_text(const wchar_t* text, std::size_t units, char* to,
                          std::size_t room) noexcept {
  const auto convert = [&](char* into, int bytes) {
    return ::WideCharToMultiByte(CP_UTF8, 0, text, static_cast<int>(units), into, bytes, nullptr,
                                 nullptr);
  };
  const int length = units != 0 ? convert(nullptr, 0) : 0;
  if (static_cast<std::size_t>(length) < room) {
    to[length != 0 ? convert(to, length) : 0] = '\0';
  }
  return length;
}

THRUM_OUT_OF_LINE void open_directory::close() noexcept { delete[] std::exchange(path_, nullptr); }

THRUM_OUT_OF_LINE io_result open_directory::open(const char* path) noexcept {
  const std::size_t size = std::strlen(path) + 1;
  auto* const copy = new (std::nothrow) char[size];
  if (copy == nullptr) {
    return no_memory;
  }
  std::memcpy(copy, path, size);
  close();
  path_ = copy;
  return 0;
}

THRUM_OUT_OF_LINE io_result open_directory::open_in(const open_directory& /*above*/,
                                                    const char* /*name*/,
                                                    const char* path) noexcept {
  file_status about;
  const io_result result = status_of_name(path, about);
  return result < 0                            ? result
         : about.kind == entry_kind::directory ? open(path)
                                               : io_result{-ERROR_DIRECTORY};
}

THRUM_OUT_OF_LINE io_result open_directory::open_above(const open_directory& /*below*/,
                                                       const file_status& /*expected*/) noexcept {
  return not_supported;
}

THRUM_OUT_OF_LINE io_result open_directory::status(file_status& about) const noexcept {
  return status_of_target(path_, about);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE directory_reader::~directory_reader() {
  if (names_ != nullptr) {
    ::FindClose(names_);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result directory_reader::open(const char* path) noexcept {
  if (*path == '\0') {
    return -ERROR_PATH_NOT_FOUND;
  }
  wide_path pattern;
  if (const io_result error = set_path(pattern, path); error != 0) {
    return error;
  }
  if (!pattern.enter(L"*")) {
    return no_memory;
  }
  ::WIN32_FIND_DATAW found;
  const ::HANDLE names = ::FindFirstFileW(pattern.c_str(), &found);
  if (names == INVALID_HANDLE_VALUE) {
    const io_result error = result_of(false, 0);
    return error == -ERROR_FILE_NOT_FOUND ? 0 : error;  // the empty root of a volume
  }
  names_ = names;
  has_next_ = true;
  kind_ = kind_of_found(found);
  put_text(found.cFileName, std::wcslen(found.cFileName), name_, sizeof name_);
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result directory_reader::next(const char*& name,
                                                                  entry_kind& kind) noexcept {
  for (; names_ != nullptr; has_next_ = false) {
    if (!has_next_) {
      ::WIN32_FIND_DATAW found;
      if (::FindNextFileW(names_, &found) == 0) {
        const io_result error = result_of(false, 0);
        return error == -ERROR_NO_MORE_FILES ? 0 : error;
      }
      kind_ = kind_of_found(found);
      put_text(found.cFileName, std::wcslen(found.cFileName), name_, sizeof name_);
    }
    if (std::strcmp(name_, ".") != 0 && std::strcmp(name_, "..") != 0) {
      has_next_ = false;
      name = name_;
      kind = kind_;
      return 1;
    }
  }
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result rename_file(const char* from, const char* to) noexcept {
  const wide_text old_name(from);
  const wide_text new_name(to);
  if (old_name.error() != 0 || new_name.error() != 0) {
    return old_name.error() != 0 ? old_name.error() : new_name.error();
  }
  return result_of(
      ::MoveFileExW(old_name.c_str(), new_name.c_str(), MOVEFILE_REPLACE_EXISTING) != 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result real_path(const char* path, char* to,
                                                     std::size_t room) noexcept {
  const wide_text name(path);
  if (name.error() != 0) {
    return name.error();
  }
  const ::HANDLE file =
      ::CreateFileW(name.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    return result_of(false, 0);
  }
  constexpr ::DWORD longest = 0x8000;
  wide_path found;
  const bool has_room = found.reserve(longest);
  const ::DWORD units =
      has_room ? ::GetFinalPathNameByHandleW(file, found.data(), longest, FILE_NAME_NORMALIZED) : 0;
  const io_result error = has_room ? result_of(false, 0) : io_result{no_memory};
  ::CloseHandle(file);
  if (units == 0 || units >= longest) {
    return units == 0 ? error : io_result{-ERROR_FILENAME_EXCED_RANGE};
  }
  // As users write it: C:\ or, on another machine, \\ and its name.
  constexpr std::size_t prefix = 4;      // of \\?\ alone
  constexpr std::size_t unc_prefix = 8;  // of \\?\UNC\ alone
  const bool is_unc = std::wcsncmp(found.c_str(), L"\\\\?\\UNC\\", unc_prefix) == 0;
  const bool is_long = std::wcsncmp(found.c_str(), L"\\\\?\\", prefix) == 0;
  const std::size_t skipped = is_unc ? unc_prefix - 2 : is_long ? prefix : 0;
  if (is_unc) {
    found.data()[skipped] = L'\\';
  }
  return put_text(found.c_str() + skipped, units - skipped, to, room);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result absolute_path(const char* path, char* to,
                                                         std::size_t room) noexcept {
  const wide_text name(path);
  if (name.error() != 0) {
    return name.error();
  }
  constexpr ::DWORD longest = 0x8000;
  wide_path found;
  if (!found.reserve(longest)) {
    return no_memory;
  }
  const ::DWORD units = ::GetFullPathNameW(name.c_str(), longest, found.data(), nullptr);
  return units == 0 || units >= longest ? io_result{invalid}
                                        : put_text(found.c_str(), units, to, room);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result temporary_path(char* to, std::size_t room) noexcept {
  wchar_t found[MAX_PATH + 2];
  const ::DWORD units = ::GetTempPathW(MAX_PATH + 2, found);
  if (units == 0 || units > MAX_PATH + 1) {
    return units == 0 ? result_of(false, 0) : io_result{-ERROR_FILENAME_EXCED_RANGE};
  }
  return put_text(found, units, to, room);
}

inline io_result status_at(const char* path, ::DWORD flags, file_status& status) noexcept {
  const wide_text name(path);
  if (name.error() != 0) {
    return name.error();
  }
  const ::HANDLE file =
      ::CreateFileW(name.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    return result_of(false, 0);
  }
  const io_result result =
      status_of(static_cast<handle>(reinterpret_cast<std::uintptr_t>(file)), status);
  ::CloseHandle(file);
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result status_of_name(const char* path,
                                                          file_status& status) noexcept {
  return status_at(path, FILE_FLAG_OPEN_REPARSE_POINT, status);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result status_of_target(const char* path,
                                                            file_status& status) noexcept {
  return status_at(path, 0, status);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_link(const char* path, char* to,
                                                     std::size_t room) noexcept {
  file_status about;
  return status_of_name(path, about) >= 0 && about.kind == entry_kind::link
             ? real_path(path, to, room)
             : 0;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif
