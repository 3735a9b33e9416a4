// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A story as Perfetto's protobuf: three quarters of the bytes of Chrome's JSON, and lines from the very event that made a
// goroutine ready.
//
// Each P, each M, each counter and each goroutine that has marked a region is a track. Field numbers are those of
// Perfetto's public definitions: trace_packet.proto, track_event.proto, track_descriptor.proto.
#ifndef THRUM_DETAIL_TRACE_PERFETTO_HPP
#define THRUM_DETAIL_TRACE_PERFETTO_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/protobuf.hpp>
#include <thrum/detail/trace/goroutine_names.hpp>
#include <thrum/detail/trace/story.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

using base::message_writer;

class perfetto_writer {
 public:
  perfetto_writer(const story& told, goroutine_names& names, const time_scale& scale)
      : told_(told), names_(names), scale_(scale) {}

  std::string write() {
    for (const slice& each : told_.slices) {
      const std::uint64_t on_p = track({kind::p, each.runtime, each.p});
      const std::uint64_t on_m = track({kind::m, each.runtime, each.m});
      for (const std::uint64_t where : {on_p, on_m}) {
        message_writer begin = event_on(where, slice_begin);
        begin.text(event_name, names_.of({each.runtime, each.goroutine}));
        describe(begin, each);
        if (each.flow != 0 && where == on_p) {
          begin.fixed(event_flow_ends, each.flow);
        }
        put(each.begin, begin);
        put(each.end, event_on(where, slice_end));
      }
    }
    for (const wakeup& each : told_.wakeups) {
      if (each.time >= told_.begin) {
        write_wakeup(each);
      }
    }
    for (const instant& each : told_.instants) {
      message_writer at = event_on(track_of(each.runtime, each.p, each.m), slice_instant);
      at.text(event_name, each.name);
      annotate(at, "goroutine", each.goroutine);
      put(each.time, at);
    }
    for (const sample& each : told_.samples) {
      const std::uint64_t where = track({kind::counter, each.runtime, 0, each.name});
      put(each.time, event_on(where, slice_counter)
                         .number(event_counter, static_cast<std::uint64_t>(each.value)));
    }
    for (const region_of_user& each : told_.regions) {
      const std::uint64_t where = track({kind::goroutine, each.runtime, each.goroutine});
      put(each.begin, event_on(where, slice_begin).text(event_name, each.name));
      put(each.end, event_on(where, slice_end));
    }
    return std::move(out_);
  }

 private:
  enum class kind : std::uint8_t { runtime_ps, runtime_ms, p, m, counter, goroutine };
  struct track_key {
    kind what;
    std::uint8_t runtime = 0;
    std::uint64_t number = 0;
    std::string_view name = {};
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 here
    auto operator<=>(const track_key&) const = default;
  };
  // TracePacket, TrackDescriptor, TrackEvent, DebugAnnotation
  static constexpr std::uint32_t packet_time = 8, packet_sequence = 10, packet_event = 11,
                                 packet_flags = 13, packet_track = 60;
  static constexpr std::uint32_t track_uuid = 1, track_name = 2, track_parent = 5,
                                 track_counter = 8;
  static constexpr std::uint32_t event_annotation = 4, event_type = 9, event_track = 11,
                                 event_name = 23, event_counter = 30, event_flow = 47,
                                 event_flow_ends = 48;
  static constexpr std::uint32_t annotation_number = 3, annotation_text = 6, annotation_name = 10;
  static constexpr std::uint64_t slice_begin = 1, slice_end = 2, slice_instant = 3,
                                 slice_counter = 4;

  static std::uint64_t uuid_of(const track_key& key) noexcept {
    std::uint64_t hash = 0xCBF2'9CE4'8422'2325;  // FNV-1a
    const auto mix = [&hash](std::uint64_t value) {
      for (int i = 0; i != 8; ++i) {
        hash = (hash ^ (value >> 8 * i & 0xFF)) * 0x100'0000'01B3;
      }
    };
    mix(static_cast<std::uint64_t>(key.what));
    mix(key.runtime);
    mix(key.number);
    for (const char each : key.name) {
      mix(static_cast<unsigned char>(each));
    }
    return hash;
  }

  /// A track, which is described when it is named for the first time.
  std::uint64_t track(const track_key& key) {
    const std::uint64_t uuid = uuid_of(key);
    if (!known_.insert(uuid).second) {
      return uuid;
    }
    message_writer descriptor;
    descriptor.number(track_uuid, uuid);
    const std::string runtime = " of runtime " + std::to_string(key.runtime);
    switch (key.what) {
      case kind::runtime_ps: descriptor.text(track_name, "processors" + runtime); break;
      case kind::runtime_ms: descriptor.text(track_name, "threads" + runtime); break;
      case kind::p:
        descriptor.text(track_name, "P" + std::to_string(key.number));
        descriptor.number(track_parent, track({kind::runtime_ps, key.runtime}));
        break;
      case kind::m:
        descriptor.text(track_name, "M" + std::to_string(key.number));
        descriptor.number(track_parent, track({kind::runtime_ms, key.runtime}));
        break;
      case kind::counter:
        descriptor.text(track_name, key.name);
        descriptor.number(track_parent, track({kind::runtime_ps, key.runtime}));
        descriptor.message(track_counter, {});
        break;
      case kind::goroutine:
        descriptor.text(track_name, "goroutine " + std::to_string(key.number) + " " +
                                        names_.of({key.runtime, key.number}));
        break;
    }
    put_packet(message_writer().message(packet_track, descriptor));
    return uuid;
  }

  std::uint64_t track_of(std::uint8_t runtime, std::uint32_t p, std::uint32_t m) {
    return p != event::no_p ? track({kind::p, runtime, p}) : track({kind::m, runtime, m});
  }

  static message_writer event_on(std::uint64_t where, std::uint64_t type) {
    message_writer event;
    event.number(event_type, type).number(event_track, where);
    return event;
  }

  static void annotate(message_writer& to, std::string_view name, std::uint64_t value) {
    to.message(event_annotation,
               message_writer().text(annotation_name, name).number(annotation_number, value));
  }
  static void annotate(message_writer& to, std::string_view name, std::string_view value) {
    to.message(event_annotation,
               message_writer().text(annotation_name, name).text(annotation_text, value));
  }

  void describe(message_writer& to, const slice& each) {
    annotate(to, "goroutine", each.goroutine);
    annotate(to, "processor", each.p);
    annotate(to, "thread", each.m);
    annotate(to, "ended by", each.ended_by);
    if (each.from_call) {
      annotate(to, "from call", 1);
    }
    if (each.object != 0) {
      annotate(to, "object", each.object);
    }
    if (each.labels != 0) {
      annotate(to, "labels", told_.labels[each.labels]);
    }
    annotate(to, "started in", names_.place_of({each.runtime, each.goroutine}));
    if (each.flow != 0) {
      const wakeup& cause = told_.wakeups.begin()[static_cast<std::ptrdiff_t>(each.flow - 1)];
      annotate(to, "ready for ns", static_cast<std::uint64_t>(scale_.ns(each.begin, cause.time)));
      annotate(to, "made ready by",
               cause.by != 0 ? "goroutine " + std::to_string(cause.by) : std::string(cause.how));
    }
  }

  void write_wakeup(const wakeup& each) {
    message_writer at = event_on(track_of(each.runtime, each.p, 0), slice_instant);
    at.text(event_name, each.how == "started" ? "go" : "ready");
    annotate(at, "goroutine", each.goroutine);
    annotate(at, "flow", each.flow);
    annotate(at, "by", each.by);
    annotate(at, "how", each.how);
    if (each.has_run) {
      at.fixed(event_flow, each.flow);
    }
    put(each.time, at);
  }

  void put(std::uint64_t time, const message_writer& event) {
    message_writer packet;
    packet.number(packet_time, static_cast<std::uint64_t>(scale_.ns(time, told_.begin)));
    packet.message(packet_event, event);
    put_packet(packet);
  }
  void put_packet(message_writer packet) {
    packet.number(packet_sequence, 1);
    if (out_.empty()) {
      packet.number(packet_flags, 1);  // nothing is known from before
    }
    out_.append(message_writer().message(1, packet).bytes());
  }

  const story& told_;
  goroutine_names& names_;
  const time_scale& scale_;
  std::string out_;
  std::set<std::uint64_t> known_;
};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
