// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The short names of the memory orders, and how an order is justified.
//
// Every atomic access writes its order out and says why, on the same line or directly above:
//   an acquire, release, acq_rel, seq_cst or fence carries a tag that its partner carries too, what
//   the pair publishes, and which function sees it:
//       word_.store(set, release);  // [note.1] publishes the event; sees: sleep
//   a seq_cst says which store and which load need the single total order;
//   a relaxed says what makes it enough:
//       tail_.load(relaxed);  // relaxed: only the owner writes
// A tag that occurs once is a mistake: one side of the pair is missing.
#ifndef THRUM_BASE_ORDER_HPP
#define THRUM_BASE_ORDER_HPP

#include <atomic>

#include <thrum/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base { namespace orders {

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

}}}}  // namespace thrum::THRUM_ABI::base::orders

#endif  // THRUM_BASE_ORDER_HPP
