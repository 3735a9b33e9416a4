// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What has changed in a directory, found by two looks at it.
//
// If a system says that a directory has changed, and not what in it, the watch must look again. Two
// listings are compared name by name; a name stands for another file when the number of the file has
// changed. A change that is undone before the second look is not seen. A renamed file is gone under one
// name and there under the other.
//
// Order: first what is gone, then what has come, then what has changed; so a file that has taken the
// place of another one is removed, then created.
#ifndef THRUM_DETAIL_OS_LISTING_HPP
#define THRUM_DETAIL_OS_LISTING_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/file_modes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What is known of a file without opening it.
struct file_facts {
  std::uint64_t number = 0;  // of the file, in its file system
  std::uint64_t size = 0;
  std::int64_t written = 0;  // when its content has changed, ns
  std::int64_t touched = 0;  // when anything has
  std::uint64_t rights = 0;  // permissions and owners
  entry_kind kind = entry_kind::other;
};

/// A name in a directory.
struct listed_file {
  const char* name = "";
  file_facts facts;
  bool is_told = false;  // the system tells of what happens to the file itself
};

enum class listing_change : unsigned char { removed, created, modified, attributes };

/// Whether a program has written to it. What happens in a directory changes its facts, too: no writing.
inline bool is_modified(const file_facts& before, const file_facts& now) noexcept {
  return now.kind != entry_kind::directory &&
         (before.size != now.size || before.written != now.written);
}

/// Whether only what is around the content has changed.
inline bool has_other_attributes(const file_facts& before, const file_facts& now) noexcept {
  return before.rights != now.rights ||
         (now.kind != entry_kind::directory && before.touched != now.touched &&
          !is_modified(before, now));
}

/// Goes over two listings that are sorted by name: each(before, now) for every name, null where it is
/// not.
template <class File, class Each>
void for_each_name(std::span<File* const> before, std::span<File* const> now, Each each) {
  for (std::size_t i = 0, j = 0; i != before.size() || j != now.size();) {
    const int order = i == before.size() ? 1
                      : j == now.size()  ? -1
                                         : std::strcmp(before[i]->name, now[j]->name);
    each(order <= 0 ? before[i] : nullptr, order >= 0 ? now[j] : nullptr);
    i += order <= 0 ? 1 : 0;
    j += order >= 0 ? 1 : 0;
  }
}

/// Whether both are there, and the same file.
inline bool is_same_file(const listed_file* before, const listed_file* now) noexcept {
  return before != nullptr && now != nullptr && before->facts.number == now->facts.number &&
         before->facts.kind == now->facts.kind;
}

/// tell(change, file) for each change between two listings that are sorted by name. Of a file that is
/// new, and was not here under another name, it is also told that it was modified, if there is something
/// in it: that may have been written after it was created.
template <class File, class Tell>
void compare_listings(std::span<File* const> before, std::span<File* const> now, Tell tell) {
  for_each_name(before, now, [&](File* old, File* fresh) {
    if (old != nullptr && !is_same_file(old, fresh)) {
      tell(listing_change::removed, *old);
    }
  });
  const auto was_here = [&](const File& file) {
    for (const File* each : before) {
      if (each->facts.number == file.facts.number && each->facts.kind == file.facts.kind) {
        return true;
      }
    }
    return false;
  };
  for_each_name(before, now, [&](File* old, File* fresh) {
    if (fresh != nullptr && !is_same_file(old, fresh)) {
      tell(listing_change::created, *fresh);
      if (fresh->facts.kind == entry_kind::file && fresh->facts.size != 0 && !was_here(*fresh)) {
        tell(listing_change::modified, *fresh);
      }
    }
  });
  for_each_name(before, now, [&](File* old, File* fresh) {
    if (!is_same_file(old, fresh) || old->is_told) {
      return;
    }
    if (is_modified(old->facts, fresh->facts)) {
      tell(listing_change::modified, *fresh);
    }
    if (has_other_attributes(old->facts, fresh->facts)) {
      tell(listing_change::attributes, *fresh);
    }
  });
}

}}}  // namespace thrum::THRUM_ABI::os

#endif
