// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: ReadDirectoryChangesW.
//
// Purpose
//   Each directory has an operation under way that ends when something has changed in it; a file is
//   watched by its directory. The end sets an event, for which the system's own threads wait; they
//   write a byte into a pipe of ours, whose reading end is the descriptor: that a poller knows how to
//   wait for (netpoll/object_waits.hpp). The byte says no more than that read() should look.
//   Between two operations the system keeps what changes, as much as one takes.
//
//   An operation ends, too, with the thread that has begun it. Then read() begins another one.
#ifndef THRUM_DETAIL_OS_WINDOWS_FILE_WATCH_HPP
#define THRUM_DETAIL_OS_WINDOWS_FILE_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class file_watch {
 public:
  file_watch() noexcept = default;
  file_watch(const file_watch&) = delete;
  file_watch& operator=(const file_watch&) = delete;
  ~file_watch() { close(); }

  /// The descriptor, or an error below zero.
  io_result open() noexcept;
  void close() noexcept;

  /// The watch's number. May block.
  io_result add(handle fd, const char* path) noexcept;
  io_result remove(handle fd, int number) noexcept;

  /// Some changes for take_change; would_block: there are none.
  io_result read(handle fd, std::byte* to, std::size_t room) noexcept;

 private:
  struct watched;
  struct changes_to;

  static void free(watched* one) noexcept;
  /// Begins the next operation; whether that could be done.
  static bool begin(watched& one) noexcept;
  static void collect(watched& one, changes_to& to) noexcept;
  static void take_end(watched& one, changes_to& to) noexcept;
  static void take_found(watched& one, changes_to& to) noexcept;
  void collect_all(changes_to& to) noexcept;

  watched* first_ = nullptr;
  int last_number_ = 0;
  handle teller_ = no_handle;  // the end of the pipe that is written to
};

const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/descriptor.hpp>
#include <thrum/detail/os/windows/directory.hpp>
#include <thrum/detail/os/windows/pipe.hpp>
#include <thrum/detail/os/windows/wide_text.hpp>

#include <cstring>
#include <cwchar>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Before each change, whose name and a null follow.
struct file_change_head {
  file_change_seen seen;
  std::size_t size;  // of all of it
};

struct file_watch::watched {
  static constexpr ::DWORD nothing = 0xffffffff;
  static constexpr ::DWORD room = 16 * 1024;

  watched* next = nullptr;
  int number = 0;
  handle teller = no_handle;
  wide_path path;                 // as the system knows it
  wide_path folder;               // the directory that is heard; ends with a backslash
  const wchar_t* name = nullptr;  // of the file, in `path`; null: all that is in the directory
  ::HANDLE directory = nullptr;
  ::HANDLE event = nullptr;  // resets itself
  ::HANDLE wait = nullptr;
  ::OVERLAPPED pending = {};
  bool is_pending = false;
  bool is_over = false;  // there is nothing of that name any more
  ::DWORD at = nothing;  // in `found`: what was not given on yet
  alignas(::FILE_NOTIFY_INFORMATION) std::byte found[room];
};

/// Where read() puts changes.
struct file_watch::changes_to {
  static constexpr std::size_t longest_name = 1024;  // in UTF-8
  static constexpr std::size_t longest = sizeof(file_change_head) + longest_name;

  std::byte* begin;
  std::size_t room;
  std::size_t used = 0;

  /// Whether there is room for two of any length.
  bool has_room() const noexcept { return room - used >= 2 * longest; }

  void put(const file_change_seen& seen, const wchar_t* name, int units) noexcept {
    std::byte* const at = begin + used;
    file_change_head head{seen, 0};
    int size = 0;
    if (units != 0) {
      size =
          ::WideCharToMultiByte(CP_UTF8, 0, name, units, reinterpret_cast<char*>(at + sizeof head),
                                static_cast<int>(longest_name) - 1, nullptr, nullptr);
    }
    head.size = sizeof head + static_cast<std::size_t>(size) + 1;
    at[head.size - 1] = std::byte{0};
    std::memcpy(at, &head, sizeof head);
    used += head.size;
  }
  void put(const file_change_seen& seen) noexcept { put(seen, nullptr, 0); }
};

THRUM_OUT_OF_LINE const std::byte* take_change(const std::byte* at,
                                               file_change_seen& change) noexcept {
  file_change_head head;
  std::memcpy(&head, at, sizeof head);
  change = head.seen;
  change.name = reinterpret_cast<const char*>(at + sizeof head);
  return at + head.size;
}

THRUM_OUT_OF_LINE io_result file_watch::open() noexcept {
  handle ends[2];
  const io_result result = open_pipe(ends);
  if (result < 0) {
    return result;
  }
  teller_ = ends[1];
  return static_cast<io_result>(ends[0]);
}

THRUM_OUT_OF_LINE void file_watch::close() noexcept {
  while (watched* const one = first_) {
    first_ = one->next;
    free(one);
  }
  if (teller_ != no_handle) {
    os::close(teller_);
    teller_ = no_handle;
  }
}

THRUM_OUT_OF_LINE void file_watch::free(watched* one) noexcept {
  if (one->is_pending) {
    ::DWORD none = 0;
    ::CancelIoEx(one->directory, &one->pending);
    ::GetOverlappedResult(one->directory, &one->pending, &none, TRUE);
  }
  if (one->wait != nullptr) {
    ::UnregisterWaitEx(one->wait, INVALID_HANDLE_VALUE);  // and it does not tell any more
  }
  for (const ::HANDLE each : {one->event, one->directory}) {
    if (each != nullptr) {
      ::CloseHandle(each);
    }
  }
  delete one;
}

THRUM_OUT_OF_LINE bool file_watch::begin(watched& one) noexcept {
  constexpr ::DWORD what = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME |
                           FILE_NOTIFY_CHANGE_ATTRIBUTES | FILE_NOTIFY_CHANGE_SIZE |
                           FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_SECURITY;
  one.pending = {};
  one.pending.hEvent = one.event;
  one.at = watched::nothing;
  one.is_pending = ::ReadDirectoryChangesW(one.directory, one.found, watched::room, FALSE, what,
                                           nullptr, &one.pending, nullptr) != 0;
  return one.is_pending;
}

THRUM_OUT_OF_LINE io_result file_watch::add(handle /*fd*/, const char* path) noexcept {
  const wide_text given(path);
  if (given.error() != 0) {
    return given.error();
  }
  auto* const fresh = new (std::nothrow) watched;
  if (fresh == nullptr) {
    return no_memory;
  }
  const auto failed = [&](io_result error) {
    free(fresh);
    return error;
  };
  const ::DWORD units = ::GetFullPathNameW(given.c_str(), 0, nullptr, nullptr);
  if (units == 0) {
    return failed(result_of(false, 0));
  }
  if (!fresh->path.reserve(units + 1) || !fresh->path.set_size(::GetFullPathNameW(
                                             given.c_str(), units, fresh->path.data(), nullptr))) {
    return failed(no_memory);
  }
  const ::DWORD attributes = ::GetFileAttributesW(fresh->path.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) {
    return failed(result_of(false, 0));
  }
  for (const watched* each = first_; each != nullptr; each = each->next) {
    if (!each->is_over && ::CompareStringOrdinal(each->path.c_str(), -1, fresh->path.c_str(), -1,
                                                 TRUE) == CSTR_EQUAL) {
      return failed(each->number);
    }
  }
  if (!fresh->folder.append(fresh->path.c_str())) {
    return failed(no_memory);
  }
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    fresh->folder.leave();
    fresh->name = fresh->path.c_str() + fresh->folder.size() + 1;
  }
  if (!fresh->folder.enter(L"")) {
    return failed(no_memory);
  }
  const ::HANDLE directory =
      ::CreateFileW(fresh->folder.c_str(), FILE_LIST_DIRECTORY,
                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, nullptr);
  if (directory == INVALID_HANDLE_VALUE) {
    return failed(result_of(false, 0));
  }
  fresh->directory = directory;
  fresh->teller = teller_;
  fresh->event = ::CreateEventW(nullptr, FALSE, FALSE, nullptr);
  const auto tell = [](void* of, ::BOOLEAN) {
    write_pipe(static_cast<const watched*>(of)->teller, "", 1);  // full: there is one already
  };
  if (fresh->event == nullptr ||
      ::RegisterWaitForSingleObject(&fresh->wait, fresh->event, tell, fresh, INFINITE,
                                    WT_EXECUTEDEFAULT) == 0 ||
      !begin(*fresh)) {
    return failed(result_of(false, 0));
  }
  fresh->number = ++last_number_;
  fresh->next = first_;
  first_ = fresh;
  return fresh->number;
}

THRUM_OUT_OF_LINE io_result file_watch::remove(handle /*fd*/, int number) noexcept {
  for (watched** link = &first_; *link != nullptr; link = &(*link)->next) {
    if ((*link)->number == number) {
      watched* const found = *link;
      *link = found->next;
      free(found);
      return 0;
    }
  }
  return invalid;
}

THRUM_OUT_OF_LINE io_result file_watch::read(handle fd, std::byte* to, std::size_t room) noexcept {
  changes_to changes{to, room};
  collect_all(changes);
  if (changes.used == 0) {
    // If a change was told before this, the second look sees it.
    char told[64];
    while (read_pipe(fd, told, sizeof told) > 0) {
    }
    collect_all(changes);
  }
  return changes.used != 0 ? static_cast<io_result>(changes.used) : io_result{would_block};
}

THRUM_OUT_OF_LINE void file_watch::collect_all(changes_to& to) noexcept {
  for (watched** link = &first_; *link != nullptr;) {
    watched* const one = *link;
    collect(*one, to);
    if (one->is_over) {
      *link = one->next;
      free(one);
    } else {
      link = &one->next;
    }
  }
}

THRUM_OUT_OF_LINE void file_watch::collect(watched& one, changes_to& to) noexcept {
  while (to.has_room() && !one.is_over) {
    if (one.at != watched::nothing) {
      take_found(one, to);
    } else if (one.is_pending && HasOverlappedIoCompleted(&one.pending)) {
      take_end(one, to);
    } else {
      return;
    }
  }
}

THRUM_OUT_OF_LINE void file_watch::take_end(watched& one, changes_to& to) noexcept {
  one.is_pending = false;
  ::DWORD size = 0;
  const bool worked = ::GetOverlappedResult(one.directory, &one.pending, &size, FALSE) != 0;
  const ::DWORD error = worked ? 0 : ::GetLastError();
  if (worked && size != 0) {
    one.at = 0;
    return;
  }
  if (worked || error == ERROR_NOTIFY_ENUM_DIR) {
    to.put({.number = one.number, .is_lost = true});
  }
  const bool goes_on = worked || error == ERROR_NOTIFY_ENUM_DIR || error == ERROR_OPERATION_ABORTED;
  if (!goes_on || !begin(one)) {
    to.put({.number = one.number, .is_removed = true, .is_directory = one.name == nullptr});
    to.put({.number = one.number, .is_last = true});
    one.is_over = true;
  }
}

THRUM_OUT_OF_LINE void file_watch::take_found(watched& one, changes_to& to) noexcept {
  ::FILE_NOTIFY_INFORMATION change;
  std::memcpy(&change, one.found + one.at, sizeof change);
  constexpr std::size_t name_at = offsetof(::FILE_NOTIFY_INFORMATION, FileName);
  const auto* const name = reinterpret_cast<const wchar_t*>(one.found + one.at + name_at);
  const int units = static_cast<int>(change.FileNameLength / sizeof(wchar_t));
  const bool is_asked_for =
      one.name == nullptr || ::CompareStringOrdinal(name, units, one.name, -1, TRUE) == CSTR_EQUAL;
  const ::DWORD next = change.NextEntryOffset;
  if (is_asked_for) {
    file_change_seen seen{.number = one.number};
    seen.is_created =
        change.Action == FILE_ACTION_ADDED || change.Action == FILE_ACTION_RENAMED_NEW_NAME;
    seen.is_removed =
        change.Action == FILE_ACTION_REMOVED || change.Action == FILE_ACTION_RENAMED_OLD_NAME;
    seen.is_modified = change.Action == FILE_ACTION_MODIFIED;
    if (!seen.is_removed && one.name == nullptr) {
      wide_path changed;
      wchar_t text[changes_to::longest_name];
      const std::size_t length = static_cast<std::size_t>(units);
      if (length < changes_to::longest_name) {
        std::wmemcpy(text, name, length);
        text[length] = L'\0';
        if (changed.append(one.folder.c_str()) && changed.append(text)) {
          const ::DWORD attributes = ::GetFileAttributesW(changed.c_str());
          seen.is_directory =
              attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        }
      }
    }
    to.put(seen, name, one.name == nullptr ? units : 0);
    if (seen.is_removed && one.name != nullptr) {
      to.put({.number = one.number, .is_last = true});
      one.is_over = true;
      return;
    }
  }
  if (next != 0) {
    one.at += next;
  } else if (!begin(one)) {
    to.put({.number = one.number, .is_last = true});
    one.is_over = true;
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_FILE_WATCH_HPP
