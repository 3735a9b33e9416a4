// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The short names of the memory orders, and how an order is justified.
//
// Every atomic access writes its orders out, by these names or the standard's, and its comment says
// why, on its lines, directly above its statement, or above the run of accesses it belongs to:
//
//   a release, acquire, acq_rel or seq_cst, and each fence, has a bracket of its own. It names the
//   pairing and shows the side: `>` publishes, `<` sees, `<>` does both, `=` takes part in the
//   total order. Behind it: what is published, and where it is seen.
//       word_.store(set, release);          // [note.1 >] what was done before; sees: sleep
//       if (word_.load(acquire) == set) {   // [note.1 <] what was done before wake
//       if (count_.fetch_sub(1, acq_rel) == 1) {  // [ft.refs <>] every use by others
//       sleeps_.exchange(true, seq_cst);    // [mon.sleep =] before the look at the list
//   The sign is the order that is written: > release, < acquire, <> acq_rel, = seq_cst. With two
//   pairings at one access: [rq.3 <, rq.4 <>], which together are an acq_rel.
//   A total order says which store and which load need it.
//
//   a relaxed says what makes it enough, or where that is explained:
//       tail_.load(relaxed);  // relaxed: only the owner writes
//       tail_.load(relaxed);  // relaxed: as in push
//   The types of base/relaxed.hpp say it once for all accesses of an object. Two more need no word:
//   the failure of a weak compare-exchange, which is tried again, and a load whose value a
//   compare-exchange of the same function checks. A failure of a strong one says what is enough.
//
//   the fences of a pairing are listed once, where it is explained, by the functions that hold
//   them:
//       Fences of [m.inside]: enter_scheduler, take_from.
//   A light_fence and a heavy_fence are two halves of one: `=`. A relaxed that relies on a fence
//   names it, and where it stands if that is another function:
//       m.inside.store(1, relaxed);  // relaxed: ordered by the fence of [m.inside]
//
// A seq_cst is never a store but an exchange, though the old value is of no use. On x86-64 the two are
// one instruction. On aarch64 a seq_cst store and a later seq_cst load are in order by a rule about
// that pair of instructions. qemu does not keep this rule and lets the load go first: with 7.2, in 3 of
// 100 races of two threads that store and then look, neither saw the other (decision 26).
//
// A pairing has both sides, and has them on the same object unless a fence stands in between. A tag
// without a sign, [note.1], only refers to it. No operator and no conversion touches an atomic; an
// order is never behind a variable. What a template does with objects of unknown type is known by
// the names alone: a member that is an atomic elsewhere is taken for one.
#ifndef THRUM_DETAIL_BASE_ORDER_HPP
#define THRUM_DETAIL_BASE_ORDER_HPP

#include <atomic>

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace base { namespace orders {

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

}}}}  // namespace thrum::THRUM_ABI::base::orders

#endif  // THRUM_DETAIL_BASE_ORDER_HPP
