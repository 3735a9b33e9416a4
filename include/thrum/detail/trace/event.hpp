// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What an event says, and how its four words hold it.
//
//   word 0   when, in units of the recorder's clock
//   word 1   kind (8 bits), detail (8), the runtime's number (8), P (13), value (27)
//   word 2   the goroutine that the event is about; of a switch, the one that leaves
//   word 3   an address or a second goroutine, by kind
#ifndef THRUM_DETAIL_TRACE_EVENT_HPP
#define THRUM_DETAIL_TRACE_EVENT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/trace/chunk.hpp>
#include <thrum/detail/trace/event_kind.hpp>  // IWYU pragma: export

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

/// The letters of a goroutine's name that a `named` event has room for.
inline constexpr std::uint32_t name_room = 23;

/// An event, unpacked.
struct event {
  static constexpr std::uint32_t no_p = 0x1FFF;
  static constexpr std::uint32_t value_bits = 27;
  static constexpr std::uint32_t most_value = (1U << value_bits) - 1;

  std::uint64_t time = 0;
  event_kind kind = event_kind::none;
  std::uint8_t detail = 0;
  std::uint8_t runtime = 0;
  std::uint32_t p = no_p;
  std::uint32_t value = 0;
  std::uint64_t goroutine = 0;
  std::uint64_t other = 0;

  THRUM_INLINE static raw_event pack(const event& e) noexcept {
    return {{e.time,
             static_cast<std::uint64_t>(e.kind) | std::uint64_t{e.detail} << 8 |
                 std::uint64_t{e.runtime} << 16 | std::uint64_t{e.p} << 24 |
                 std::uint64_t{e.value} << 37,
             e.goroutine, e.other}};
  }
  static event unpack(const raw_event& raw) noexcept {
    const std::uint64_t what = raw.word[1];
    event e;
    e.time = raw.word[0];
    e.kind = static_cast<event_kind>(what & 0xFF);
    e.detail = static_cast<std::uint8_t>(what >> 8);
    e.runtime = static_cast<std::uint8_t>(what >> 16);
    e.p = static_cast<std::uint32_t>(what >> 24) & no_p;
    e.value = static_cast<std::uint32_t>(what >> 37);
    e.goroutine = raw.word[2];
    e.other = raw.word[3];
    return e;
  }

  /// As many bits of a number as a value holds, all ones if it is larger.
  static constexpr std::uint32_t limited(std::uint64_t n) noexcept {
    return n < most_value ? static_cast<std::uint32_t>(n) : most_value;
  }
  /// An object by which it can be told from most others.
  static std::uint32_t hashed(const void* object) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(object) >> 4) & most_value;
  }
};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
