// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: EVFILT_VNODE of kqueue.
//
// Purpose
//   The descriptor of a watch is a kqueue of its own. It can be read when the system has something to
//   tell of a file that is open here for that, and a poller waits for it as for another descriptor
//   (netpoll/kqueue.hpp).
//
//   For a directory the system reports that something in it has changed, not what. Then its names
//   are listed again and compared with the old ones (os/listing.hpp). The system reports a write only
//   for a file that is open here. So every file in a watched directory takes a descriptor; a file that
//   cannot be opened is compared when something else has changed.
//
// What cannot be seen
//   A file that came and was gone before its directory was listed. Several writes count as one.
//   If there are no descriptors left for new files, the watch reports a loss.
//
// One event at a time: handling an event may close files that a second event would be about.
#ifndef THRUM_DETAIL_OS_BSD_VNODE_WATCH_HPP
#define THRUM_DETAIL_OS_BSD_VNODE_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_POLLER_KQUEUE

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/listing.hpp>
#include <thrum/detail/os/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class vnode_watch {
 public:
  vnode_watch() noexcept = default;
  vnode_watch(const vnode_watch&) = delete;
  vnode_watch& operator=(const vnode_watch&) = delete;
  ~vnode_watch() { close(); }

  /// The descriptor, which is the caller's, or an error below zero.
  io_result open() noexcept;
  /// Closes all but the descriptor.
  void close() noexcept;

  /// The watch's number. May block, as may read().
  io_result add(handle queue, const char* path) noexcept;
  io_result remove(handle queue, int number) noexcept;

  /// Some changes for take_change; would_block: there are none.
  io_result read(handle queue, std::byte* to, std::size_t room) noexcept;

  /// The one at `at`; where the next one is.
  static const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept;

 private:
  struct watched;
  struct entry;
  struct observed;
  struct untold;
  struct packed;
  class names;

  static entry* make_entry(watched& in, const char* name, const file_facts& facts) noexcept;
  static void free(entry* file) noexcept;
  static void free(watched* one) noexcept;
  static bool observe(observed& file, unsigned what) noexcept;
  static void end(observed& file) noexcept;

  /// The names that are in a directory now.
  static io_result list(watched& one, names& found) noexcept;
  /// Opens those that are not told of yet. An error: there are no descriptors left.
  io_result observe_names(watched& one) noexcept;
  io_result observe_file(watched& one, entry& file) noexcept;
  void look_again(watched& one) noexcept;

  static bool is_still_there(const watched& one) noexcept;
  void take_event(observed& from, unsigned what) noexcept;
  /// Takes an event of an open file, with what is known of it, and its name in what is watched.
  void take_file_event(const observed& from, file_facts& facts, const char* name,
                       unsigned what) noexcept;

  void tell(const watched& one, listing_change change, const char* name,
            bool is_directory) noexcept;
  void tell(const file_change_seen& seen, const char* name) noexcept;

  handle queue_ = no_handle;
  watched* first_ = nullptr;
  untold* first_untold_ = nullptr;
  untold* last_untold_ = nullptr;
  int last_number_ = 0;
  bool has_lost_ = false;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/os/bsd/vnode_watched.hpp>
#include <thrum/detail/os/posix/directory.hpp>
#include <thrum/detail/os/posix/large_file.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_OUT_OF_LINE const std::byte* vnode_watch::take_change(const std::byte* at,
                                                            file_change_seen& change) noexcept {
  packed head;
  std::memcpy(&head, at, sizeof head);
  change = head.seen;
  change.name = reinterpret_cast<const char*>(at + sizeof head);
  return at + head.size;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result vnode_watch::open() noexcept {
  const io_result made = result_of(::kqueue());
  if (made >= 0) {
    queue_ = handle_of(made);
    ::fcntl(queue_, F_SETFD, FD_CLOEXEC);
  }
  return made;
}

THRUM_OUT_OF_LINE void vnode_watch::close() noexcept {
  while (watched* const one = first_) {
    first_ = one->next;
    free(one);
  }
  while (untold* const one = first_untold_) {
    first_untold_ = one->next;
    ::operator delete(one);
  }
  last_untold_ = nullptr;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool vnode_watch::observe(observed& file, unsigned what) noexcept {
  struct ::kevent change {};
  EV_SET(&change, static_cast<std::uintptr_t>(file.fd), EVFILT_VNODE, EV_ADD | EV_CLEAR, what, 0,
         &file);
  return ::kevent(file.in->queue, &change, 1, nullptr, 0, nullptr) == 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void vnode_watch::end(observed& file) noexcept {
  if (file.fd != no_handle) {
    struct ::kevent change {};
    EV_SET(&change, static_cast<std::uintptr_t>(file.fd), EVFILT_VNODE, EV_DELETE, 0, 0, nullptr);
    ::kevent(file.in->queue, &change, 1, nullptr, 0, nullptr);
    ::close(std::exchange(file.fd, no_handle));
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result vnode_watch::list(watched& one, names& found) noexcept {
  const int fd = ::openat(one.self.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  ::DIR* const directory = ::fdopendir(fd);
  if (directory == nullptr) {
    ::close(fd);
    return no_memory;
  }
  io_result result = 0;
  while (const large_file::entry* const next = next_entry(directory)) {
    large_file::status about{};
    if (large_file::fstatat(fd, next->d_name, about, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;  // it has gone meanwhile
    }
    entry* const made = make_entry(one, next->d_name, vnode::facts_of(about));
    if (made == nullptr || !found.add(made)) {
      ::operator delete(made);
      result = no_memory;
      break;
    }
  }
  result = result == 0 ? -errno : result;  // of next_entry
  ::closedir(directory);
  found.sort();
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result vnode_watch::observe_file(watched& one,
                                                                     entry& file) noexcept {
  const bool is_file = file.facts.kind == entry_kind::file;
  if (!is_file && file.facts.kind != entry_kind::directory) {
    return 0;  // to open it might do something
  }
  const int fd = ::openat(one.self.fd, file.name, vnode::open_flags | O_NOFOLLOW);
  if (fd < 0) {
    const io_result error = -errno;
    return out_of_handles(error) ? error : 0;
  }
  file.open.fd = fd;
  large_file::status about{};
  if (!observe(file.open, is_file ? vnode::written | vnode::around | NOTE_DELETE : NOTE_ATTRIB) ||
      large_file::fstat(fd, about) != 0 ||
      vnode::facts_of(about).number != file.facts.number) {  // another one by now
    end(file.open);
    return 0;
  }
  file.is_told = true;
  const file_facts now = vnode::facts_of(about);
  if (is_modified(file.facts, now)) {
    tell(one, listing_change::modified, file.name, false);
  }
  file.facts = now;
  return 0;
}

THRUM_OUT_OF_LINE io_result vnode_watch::observe_names(watched& one) noexcept {
  for (entry* const each : one.files.all()) {
    if (!each->is_told) {
      if (const io_result result = observe_file(one, *each); result < 0) {
        return result;
      }
    }
  }
  return 0;
}

THRUM_OUT_OF_LINE void vnode_watch::look_again(watched& one) noexcept {
  names now;
  if (list(one, now) < 0) {
    has_lost_ = true;  // or it is gone, which the next event says
    return;
  }
  compare_listings(one.files.all(), now.all(), [&](listing_change change, const entry& file) {
    tell(one, change, file.name, file.facts.kind == entry_kind::directory);
  });
  now.take_over(one.files);
  one.files.swap(now);
  has_lost_ = observe_names(one) < 0 || has_lost_;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result vnode_watch::add(handle /*queue*/,
                                                            const char* path) noexcept {
  const std::size_t size = std::strlen(path) + 1;
  auto* const fresh = new (std::nothrow) watched;
  if (fresh == nullptr) {
    return no_memory;
  }
  const auto failed = [&](io_result result) {
    free(fresh);
    return result;
  };
  fresh->queue = queue_;
  fresh->path = new (std::nothrow) char[size];
  if (fresh->path == nullptr) {
    return failed(no_memory);
  }
  std::memcpy(fresh->path, path, size);
  const int fd = ::openat(AT_FDCWD, path, vnode::open_flags);
  if (fd < 0) {
    return failed(-errno);
  }
  fresh->self.fd = fd;
  large_file::status about{};
  if (large_file::fstat(fd, about) != 0) {
    return failed(-errno);
  }
  fresh->device = about.st_dev;
  fresh->facts = vnode::facts_of(about);
  for (const watched* each = first_; each != nullptr; each = each->next) {
    if (each->device == fresh->device && each->facts.number == fresh->facts.number) {
      return failed(each->number);
    }
  }
  fresh->number = ++last_number_;
  // Told of before it is listed: nothing falls in between.
  if (!observe(fresh->self, vnode::written | vnode::around | vnode::gone)) {
    return failed(-errno);
  }
  if (fresh->is_directory()) {
    io_result result = list(*fresh, fresh->files);
    result = result == 0 ? observe_names(*fresh) : result;
    if (result < 0) {
      return failed(result);
    }
  }
  fresh->next = first_;
  first_ = fresh;
  return fresh->number;
}

THRUM_OUT_OF_LINE io_result vnode_watch::remove(handle /*queue*/, int number) noexcept {
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

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result vnode_watch::read(handle /*queue*/, std::byte* to,
                                                             std::size_t room) noexcept {
  std::size_t used = 0;
  for (;;) {
    while (untold* const next = first_untold_) {
      const std::size_t name_size = std::strlen(next->name()) + 1;
      const packed head{next->seen, sizeof(packed) + name_size};
      if (head.size > room - used) {
        break;
      }
      std::memcpy(to + used, &head, sizeof head);
      std::memcpy(to + used + sizeof head, next->name(), name_size);
      used += head.size;
      first_untold_ = next->next;
      last_untold_ = first_untold_ != nullptr ? last_untold_ : nullptr;
      ::operator delete(next);
    }
    if (used != 0) {
      return static_cast<io_result>(used);
    }
    if (std::exchange(has_lost_, false)) {
      const packed head{{.is_lost = true}, sizeof(packed) + 1};
      std::memcpy(to, &head, sizeof head);
      to[sizeof head] = std::byte{0};
      return static_cast<io_result>(head.size);
    }
    struct ::kevent event {};
    const ::timespec at_once{};
    const int n = ::kevent(queue_, nullptr, 0, &event, 1, &at_once);
    if (n <= 0) {
      return n < 0 ? -errno : would_block;
    }
    take_event(*static_cast<observed*>(event.udata), base::convert<unsigned>(event.fflags));
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool vnode_watch::is_still_there(const watched& one) noexcept {
  large_file::status about{};
  return large_file::stat(one.path, about) == 0 && about.st_dev == one.device &&
         vnode::facts_of(about).number == one.facts.number;
}

THRUM_OUT_OF_LINE void vnode_watch::take_event(observed& from, unsigned what) noexcept {
  watched& one = *from.in;
  if (from.file != nullptr) {
    // That it is gone, or has another name, its directory tells.
    take_file_event(from, from.file->facts, from.file->name, what);
  } else if ((what & vnode::gone) != 0 && !is_still_there(one)) {
    tell(one, listing_change::removed, "", one.is_directory());
    tell({.number = one.number, .is_last = true}, "");
    remove(queue_, one.number);
  } else if (one.is_directory()) {
    if ((what & (vnode::written | NOTE_LINK)) != 0) {
      look_again(one);
    }
    take_file_event(from, one.facts, "", what & NOTE_ATTRIB);
  } else {
    take_file_event(from, one.facts, "", what);
  }
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void vnode_watch::take_file_event(const observed& from,
                                                                   file_facts& facts,
                                                                   const char* name,
                                                                   unsigned what) noexcept {
  large_file::status about{};
  if (what == 0 || large_file::fstat(from.fd, about) != 0) {
    return;
  }
  const file_facts now = vnode::facts_of(about);
  const bool is_directory = now.kind == entry_kind::directory;
  const bool has_other_rights = now.rights != facts.rights;
  const bool is_written = (what & vnode::written) != 0;
  facts = now;
  if (is_written) {
    tell(*from.in, listing_change::modified, name, is_directory);
  }
  // What is written, or put into a directory, touches it as well.
  if (has_other_rights ||
      ((what & vnode::around) != 0 && (what & NOTE_DELETE) == 0 && !is_written && !is_directory)) {
    tell(*from.in, listing_change::attributes, name, is_directory);
  }
}

THRUM_OUT_OF_LINE void vnode_watch::tell(const watched& one, listing_change change,
                                         const char* name, bool is_directory) noexcept {
  file_change_seen seen;
  seen.number = one.number;
  seen.is_removed = change == listing_change::removed;
  seen.is_created = change == listing_change::created;
  seen.is_modified = change == listing_change::modified;
  seen.has_attributes = change == listing_change::attributes;
  seen.is_directory = is_directory;
  tell(seen, name);
}

THRUM_OUT_OF_LINE void vnode_watch::tell(const file_change_seen& seen, const char* name) noexcept {
  const std::size_t size = std::strlen(name) + 1;
  void* const room = ::operator new(sizeof(untold) + size, std::nothrow);
  if (room == nullptr) {
    has_lost_ = true;
    return;
  }
  auto* const made = new (room) untold{nullptr, seen};
  std::memcpy(made->name(), name, size);
  (last_untold_ != nullptr ? last_untold_->next : first_untold_) = made;
  last_untold_ = made;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_POLLER_KQUEUE
#endif  // THRUM_DETAIL_OS_BSD_VNODE_WATCH_HPP
