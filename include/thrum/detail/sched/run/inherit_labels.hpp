// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Labels of goroutines, as the scheduler sees them: a list that never changes, which goroutines share; how it comes to a
// goroutine from the one that starts it, and leaves it at its end.
//
// A goroutine that has labels also has label_value at the end of its list of values (goroutine_local). So the end of a
// goroutine looks for nothing more than it did before there were labels.
#ifndef THRUM_DETAIL_SCHED_RUN_INHERIT_LABELS_HPP
#define THRUM_DETAIL_SCHED_RUN_INHERIT_LABELS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct label_list {
  std::atomic<std::uint32_t> holders{1};
  void (*destroy)(label_list& own) noexcept = nullptr;
  std::string_view text;  // "tenant=a, request=17", for reports
  using take_function = void (*)(void* to, std::string_view key, std::string_view value);
  /// Calls take(to, key, value) for each label.
  void (*for_each)(const label_list& own, void* to, take_function take) = nullptr;

  void hold() noexcept { holders.fetch_add(1, relaxed); }  // relaxed: the caller holds it already
  void let_go() noexcept {
    // [ll.holders <>] acq_rel: what the other holders have read, before it is destroyed
    if (holders.fetch_sub(1, acq_rel) == 1) {
      destroy(*this);
    }
  }
};

/// Whether a goroutine has ever had labels.
inline constinit base::hint<bool> has_labels{false};

inline void let_go_of_labels(local_value&) noexcept {
  if (label_list* const own = std::exchange(current_m()->g->labels, nullptr)) {
    own->let_go();
  }
}

/// The last value of each goroutine with labels. It has no key.
inline constinit local_value label_value{nullptr, 0, &let_go_of_labels};

/// Makes the end of the goroutine let go of its labels.
THRUM_COLD inline void let_go_at_end(goroutine& g) noexcept {
  local_value** last = &g.locals;
  while (*last != nullptr && *last != &label_value) {
    last = &(*last)->next;
  }
  *last = &label_value;
}

/// Gives the labels of the calling goroutine to one that it starts. Inside.
THRUM_COLD inline void inherit_labels(goroutine& g) noexcept {
  machine* const m = current_m();
  if (m != nullptr && m->g != nullptr && m->g->labels != nullptr) {
    g.labels = m->g->labels;
    g.labels->hold();
    let_go_at_end(g);
    trace_detail::labelled(m, g, g.labels->text);
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
