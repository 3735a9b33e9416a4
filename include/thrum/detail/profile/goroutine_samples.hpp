// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a profile of goroutines and a profile of leaks share.
#ifndef THRUM_DETAIL_PROFILE_GOROUTINE_SAMPLES_HPP
#define THRUM_DETAIL_PROFILE_GOROUTINE_SAMPLES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/profile/samples.hpp>

#include <cstddef>
#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace profile_detail {

/// Blocks the thread, while it asks for lines.
inline std::string write(const samples& all, bool is_folded) {
  place_names names(all);
  return is_folded ? write_folded(all, names) : pprof_writer(all, names).write();
}

/// The name as it was when it was copied: its last byte may be any.
inline std::string name_in(const debug::goroutine_record& g) {
  std::string name;
  for (std::size_t i = 0; i != sizeof g.name && g.name[i] != '\0'; ++i) {
    name.push_back(g.name[i]);
  }
  return name;
}

inline sample_kind kind_of(const debug::goroutine_record& g) {
  sample_kind kind;
  kind.frames.assign(g.frames, g.frames + g.size);
  kind.started_at = g.started_at;
  kind.state =
      g.status == sched::g_status::waiting ? sched::describe(g.reason) : debug::describe(g.status);
  kind.name = name_in(g);
  if (g.labels != nullptr) {
    kind.add_labels(*g.labels);
  }
  return kind;
}

}}}  // namespace thrum::THRUM_ABI::profile_detail

#endif
