// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a vnode_watch keeps: files that are open to be told of, the names in a directory, what is watched,
// changes that are still untold; and what is known of a file by its status.
#ifndef THRUM_DETAIL_OS_BSD_VNODE_WATCHED_HPP
#define THRUM_DETAIL_OS_BSD_VNODE_WATCHED_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_POLLER_KQUEUE

#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/bsd/vnode_watch.hpp>
#include <thrum/detail/os/file_modes.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/listing.hpp>
#include <thrum/detail/os/posix/file.hpp>
#include <thrum/detail/os/posix/large_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/types.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

namespace vnode {

// A file that is open to be told of it only does not keep its disk from being taken out, where that can
// be said.
#if defined(O_EVTONLY)
inline constexpr int to_be_told = O_EVTONLY;
#else
inline constexpr int to_be_told = O_RDONLY;
#endif
inline constexpr int open_flags = to_be_told | O_NONBLOCK | O_CLOEXEC | large_file::open_flag;

inline constexpr unsigned written = NOTE_WRITE | NOTE_EXTEND;
inline constexpr unsigned around = NOTE_ATTRIB | NOTE_LINK;
#if defined(NOTE_REVOKE)
inline constexpr unsigned gone = NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE;
#else
inline constexpr unsigned gone = NOTE_DELETE | NOTE_RENAME;
#endif

inline std::int64_t nanoseconds_of(const ::timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The systems have two names for these.
template <class Status>
std::int64_t written_at(const Status& about) noexcept {
  if constexpr (requires { about.st_mtimespec.tv_sec; }) {
    return nanoseconds_of(about.st_mtimespec);
  } else {
    return nanoseconds_of(about.st_mtim);
  }
}
template <class Status>
std::int64_t touched_at(const Status& about) noexcept {
  if constexpr (requires { about.st_ctimespec.tv_sec; }) {
    return nanoseconds_of(about.st_ctimespec);
  } else {
    return nanoseconds_of(about.st_ctim);
  }
}

inline file_facts facts_of(const large_file::status& about) noexcept {
  constexpr ::mode_t permissions = 07777;
  file_facts facts;
  facts.number = base::convert<std::uint64_t>(about.st_ino);
  facts.size = static_cast<std::uint64_t>(about.st_size);
  facts.written = written_at(about);
  facts.touched = touched_at(about);
  facts.rights = std::uint64_t{about.st_uid} << 32 ^ std::uint64_t{about.st_gid} << 12 ^
                 std::uint64_t{static_cast<unsigned>(about.st_mode & permissions)};
  facts.kind = kind_of_mode(about.st_mode);
  return facts;
}

}  // namespace vnode

/// An open file of which the queue tells.
struct vnode_watch::observed {
  watched* in;
  entry* file;  // in a directory that is watched; null: it is what is watched
  int fd = no_handle;
};

/// Its name is behind it.
struct vnode_watch::entry : listed_file {
  observed open;
};

/// The files of a directory, in the order of their names.
class vnode_watch::names {
 public:
  names() noexcept = default;
  names(const names&) = delete;
  names& operator=(const names&) = delete;
  ~names() {
    for (entry* const each : all()) {
      free(each);
    }
    delete[] files_;
  }

  std::span<entry* const> all() const noexcept { return {files_, count_}; }

  /// Takes it over. False: no memory.
  bool add(entry* file) noexcept {
    if (count_ == room_) {
      constexpr std::size_t least = 16;
      const std::size_t room = std::max(least, 2 * room_);
      auto** const larger = new (std::nothrow) entry*[room];
      if (larger == nullptr) {
        return false;
      }
      std::copy_n(files_, count_, larger);
      delete[] std::exchange(files_, larger);
      room_ = room;
    }
    files_[count_++] = file;
    return true;
  }

  void sort() noexcept {
    std::sort(files_, files_ + count_,
              [](const entry* a, const entry* b) { return std::strcmp(a->name, b->name) < 0; });
  }

  /// Has the entries of `before` in place of its own, where they are of the same files: they may be
  /// open.
  void take_over(names& before) noexcept {
    for (std::size_t i = 0, j = 0; i != before.count_ && j != count_;) {
      entry*& old = before.files_[i];
      entry*& own = files_[j];
      const int order = std::strcmp(old->name, own->name);
      if (order == 0 && is_same_file(old, own)) {
        if (!old->is_told) {
          old->facts = own->facts;
        }
        std::swap(old, own);
      }
      i += order <= 0 ? 1 : 0;
      j += order >= 0 ? 1 : 0;
    }
  }

  void swap(names& other) noexcept {
    std::swap(files_, other.files_);
    std::swap(count_, other.count_);
    std::swap(room_, other.room_);
  }

 private:
  entry** files_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

struct vnode_watch::watched {
  watched* next = nullptr;
  int number = 0;
  handle queue = no_handle;
  observed self{this, nullptr};
  ::dev_t device = 0;
  file_facts facts;
  names files;  // in it, if it is a directory
  char* path = nullptr;

  bool is_directory() const noexcept { return facts.kind == entry_kind::directory; }
};

/// A change that no read() has taken yet. Its name is behind it.
struct vnode_watch::untold {
  untold* next;
  file_change_seen seen;

  char* name() noexcept { return reinterpret_cast<char*>(this + 1); }
};

/// What read() writes. The name, with a null, is behind it.
struct vnode_watch::packed {
  file_change_seen seen;
  std::size_t size;  // with the name
};

THRUM_OUT_OF_LINE vnode_watch::entry* vnode_watch::make_entry(watched& in, const char* name,
                                                              const file_facts& facts) noexcept {
  const std::size_t size = std::strlen(name) + 1;
  void* const room = ::operator new(sizeof(entry) + size, std::nothrow);
  if (room == nullptr) {
    return nullptr;
  }
  auto* const made = new (room) entry{{"", facts, false}, {&in, nullptr}};
  char* const own = reinterpret_cast<char*>(made + 1);
  std::memcpy(own, name, size);
  made->name = own;
  made->open.file = made;
  return made;
}

THRUM_OUT_OF_LINE void vnode_watch::free(entry* file) noexcept {
  end(file->open);
  ::operator delete(file);
}

THRUM_OUT_OF_LINE void vnode_watch::free(watched* one) noexcept {
  end(one->self);
  delete[] one->path;
  delete one;
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_POLLER_KQUEUE
#endif  // THRUM_DETAIL_OS_BSD_VNODE_WATCHED_HPP
