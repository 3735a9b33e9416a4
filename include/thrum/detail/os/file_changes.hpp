// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What all systems say of changes of files.
#ifndef THRUM_DETAIL_OS_FILE_CHANGES_HPP
#define THRUM_DETAIL_OS_FILE_CHANGES_HPP

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What has happened to something that is watched, or in it. One of the first claims is true.
struct file_change_seen {
  int number = 0;  // of the watch
  bool is_created = false;
  bool is_removed = false;
  bool is_modified = false;
  bool has_attributes = false;  // permissions, owner, times have changed
  bool is_lost = false;         // changes came faster than they were read
  bool is_last = false;         // the watch has ended
  bool is_moved =
      false;  // the watched thing itself: the system goes on watching it, as something else
  bool is_directory = false;  // that it has happened to
  const char* name = "";      // in the directory that is watched; empty: the watched thing itself
};

}}}  // namespace thrum::THRUM_ABI::os

#endif
