// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Labels: what a goroutine works for, such as a request or a tenant, for dumps, reports and traces.
//
// Fences of [lb.list]: exchange_labels, exchange_labels.
#ifndef THRUM_LABELS_HPP
#define THRUM_LABELS_HPP

#include <thrum/detail/base/config.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace sched {
struct label_list;
}

/// Adds labels to the calling goroutine until its scope ends. Goroutines that are started inside the scope inherit all
/// labels of the goroutine that starts them, and keep them to their end. Dumps, the report of a crash, traces and
/// profiles show them. A label replaces an outer one of that key. Scopes of a goroutine end in reverse order, on the goroutine that
/// began them. Without effect outside of a goroutine.
///
///     const thrum::label_scope labels({{"tenant", name}, {"request", id}});
///
/// When not to use: for data that the program reads; a context carries these.
class label_scope {
 public:
  /// Copies the texts. std::bad_alloc if there is no memory.
  explicit label_scope(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);
  ~label_scope();
  label_scope(const label_scope&) = delete;
  label_scope& operator=(const label_scope&) = delete;

 private:
  sched::label_list* outer_ = nullptr;
  bool is_open_ = false;
};

namespace this_goroutine {

/// The value of the caller's label of that key; empty if there is none.
std::string label(std::string_view key);

}  // namespace this_goroutine
}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/run/inherit_labels.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <atomic>
#include <vector>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

/// Labels with their memory.
struct label_texts : sched::label_list {
  std::vector<std::pair<std::string, std::string>> all;
  std::string joined;

  /// With those that `outer` has, if it is not null.
  label_texts(const sched::label_list* outer,
              std::initializer_list<std::pair<std::string_view, std::string_view>> more) {
    destroy = [](sched::label_list& own) noexcept { delete static_cast<label_texts*>(&own); };
    for_each = [](const sched::label_list& own, void* to, take_function take) {
      for (const auto& [key, value] : static_cast<const label_texts&>(own).all) {
        take(to, key, value);
      }
    };
    if (outer != nullptr) {
      all = static_cast<const label_texts*>(outer)->all;
    }
    for (const auto& [key, value] : more) {
      set(key, value);
    }
    for (const auto& [key, value] : all) {
      joined.append(joined.empty() ? "" : ", ").append(key).append("=").append(value);
    }
    text = joined;
  }

  void set(std::string_view key, std::string_view value) {
    for (auto& each : all) {
      if (each.first == key) {
        each.second = value;
        return;
      }
    }
    all.emplace_back(key, value);
  }
};

/// The caller, if it is a goroutine.
THRUM_NOINLINE inline sched::goroutine* labelled_caller() noexcept {
  const sched::machine* const m = sched::current_m();
  return m == nullptr ? nullptr : m->g;
}

/// Gives the goroutine, which calls this, other labels. A dump may stop it between any two instructions: what it sees is
/// complete. Returns those that it had.
inline sched::label_list* exchange_labels(sched::goroutine& g, sched::label_list* labels) noexcept {
  // [lb.list =] seq_cst: the labels are complete before the goroutine has them
  std::atomic_signal_fence(std::memory_order_seq_cst);
  sched::label_list* const before = std::exchange(g.labels, labels);
  // [lb.list =] seq_cst: the goroutine no longer has the old ones before its scope lets them go
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const sched::section here;
  trace_detail::labelled(here.m(), g, labels == nullptr ? std::string_view() : labels->text);
  return before;
}

}  // namespace go_detail

THRUM_COLD THRUM_OUT_OF_LINE label_scope::label_scope(
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  if (sched::goroutine* const g = go_detail::labelled_caller()) {
    auto* const all = new go_detail::label_texts(g->labels, labels);
    sched::has_labels.set(true);
    sched::let_go_at_end(*g);
    outer_ = go_detail::exchange_labels(*g, all);
    is_open_ = true;
  }
}

THRUM_COLD THRUM_OUT_OF_LINE label_scope::~label_scope() {
  sched::goroutine* const g = is_open_ ? go_detail::labelled_caller() : nullptr;
  if (g != nullptr) {
    go_detail::exchange_labels(*g, outer_)->let_go();
  }
}

namespace this_goroutine {

THRUM_COLD THRUM_OUT_OF_LINE std::string label(std::string_view key) {
  const sched::goroutine* const g = go_detail::labelled_caller();
  if (g != nullptr && g->labels != nullptr) {
    for (const auto& each : static_cast<const go_detail::label_texts*>(g->labels)->all) {
      if (each.first == key) {
        return each.second;
      }
    }
  }
  return {};
}

}  // namespace this_goroutine

}}  // namespace thrum::THRUM_ABI
#endif

#endif
