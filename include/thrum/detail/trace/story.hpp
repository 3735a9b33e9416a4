// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the events tell: which goroutine ran when and where, why it stopped, and which goroutine made it ready.
//
// Events of different Ms are merged by their times. The clock is one for all processors, and an effect is never before
// its cause: between them lie some hundred instructions, or the recorder reads the clock in order.
//
// A goroutine that runs while the recorder begins has no `runs`; its first slice begins with the record.
#ifndef THRUM_DETAIL_TRACE_STORY_HPP
#define THRUM_DETAIL_TRACE_STORY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/trace/event.hpp>
#include <thrum/detail/trace/recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

/// Names a goroutine, a P or an M among all runtimes.
struct global_id {
  std::uint8_t runtime = 0;
  std::uint64_t id = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 here
  auto operator<=>(const global_id&) const = default;
};

/// What is known of a goroutine.
struct goroutine_facts {
  std::string name;  // given to it; empty: none
  const void* started_at = nullptr;
};

/// One run of a goroutine on a P.
struct slice {
  std::uint8_t runtime = 0;
  std::uint32_t p = 0;
  std::uint32_t m = 0;
  std::uint64_t goroutine = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view ended_by;  // a wait reason, or what the scheduler did
  std::uint32_t object = 0;   // what it waits on, hashed; 0: nothing
  std::uint64_t flow = 0;     // numbers the event that made it ready; 0: unknown
  std::uint32_t labels = 0;   // index in story::labels
  bool from_call = false;     // it comes back from blocking(), or as a thread that had lost its P
};

/// Something that takes no time.
struct instant {
  std::uint64_t time = 0;
  std::uint8_t runtime = 0;
  std::uint32_t p = event::no_p;  // no_p: it stands on the M's track
  std::uint32_t m = 0;
  std::string name;
  std::uint64_t goroutine = 0;
};

/// Where the line to a run begins.
struct wakeup {
  std::uint64_t flow = 0;
  std::uint64_t time = 0;
  std::uint8_t runtime = 0;
  std::uint32_t p = event::no_p;
  std::uint64_t goroutine = 0;  // made ready
  std::uint64_t by = 0;         // 0: no goroutine
  std::string_view how;
  bool has_run = false;
};

/// A number that changes.
struct sample {
  std::uint64_t time = 0;
  std::uint8_t runtime = 0;
  std::string_view name;
  std::int64_t value = 0;
};

/// A region that a goroutine has marked.
struct region_of_user {
  std::uint8_t runtime = 0;
  std::uint64_t goroutine = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
};

struct story {
  std::map<global_id, goroutine_facts> goroutines;
  std::vector<slice> slices;
  std::vector<wakeup> wakeups;
  std::vector<instant> instants;
  std::vector<sample> samples;
  std::vector<region_of_user> regions;
  std::vector<std::string> labels = {""};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
};

class story_teller {
 public:
  /// Reads all that the recorder has since `since`. Allocates.
  story_teller(const recorder& from, std::uint64_t since, std::uint64_t now) {
    told_.begin = since;
    told_.end = now;
    told_.lost = from.lost();
    collect(from, since);
  }

  /// What a walk over the living has found, for those whose making is no longer known.
  void add_living(global_id id, std::string name, const void* started_at) {
    goroutine_facts& facts = told_.goroutines[id];
    facts.started_at = started_at;
    if (!name.empty()) {
      facts.name = std::move(name);
    }
  }

  story tell() {
    for (const entry& each : entries_) {
      take(each);
    }
    for (auto& [id, m] : ms_) {
      close(m, told_.end, "still running");
    }
    for (auto& [key, region] : open_regions_) {
      for (region_of_user& each : region) {
        each.end = told_.end;
        told_.regions.push_back(std::move(each));
      }
    }
    told_.events = entries_.size();
    return std::move(told_);
  }

 private:
  struct entry {
    event e;
    std::uint64_t owner = 0;  // 0: threads that are no Ms
    std::string name;
  };
  struct m_state {
    bool is_known = false;
    bool runs = false;
    bool gives_way = false;
    slice now;
  };

  void collect(const recorder& from, std::uint64_t since) {
    struct copied {
      chunk::seen seen;
      std::vector<raw_event> events;
    };
    std::vector<copied> all;
    const auto room = std::make_unique<room_for_chunk>();
    for (std::size_t i = 0; i != from.size(); ++i) {
      const chunk::seen seen = from[i].copy(room->events);
      if (seen.count != 0) {
        all.push_back({seen, {room->events, room->events + seen.count}});
      }
    }
    std::sort(all.begin(), all.end(),
              [](const copied& a, const copied& b) { return a.seen.stamp < b.seen.stamp; });
    const bool is_cut = from.claims() > from.size();
    std::uint64_t first = is_cut ? ~std::uint64_t{0} : since;
    for (const copied& each : all) {
      if (is_cut && each.seen.stamp + from.size() > from.claims()) {
        first = std::min(first, each.events.front().word[0]);
      }
      bool may_be_named = false;
      for (const raw_event& raw : each.events) {
        const event e = event::unpack(raw);
        if (e.time < since) {
          may_be_named = false;
        } else if (e.kind != event_kind::named) {
          entries_.push_back({e, each.seen.owner, {}});
          may_be_named = true;
        } else if (may_be_named) {
          entries_.back().name += name_in(raw);
        }
      }
    }
    told_.begin = std::max(since, std::min(first, told_.end));
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const entry& a, const entry& b) { return a.e.time < b.e.time; });
  }

  struct room_for_chunk {
    raw_event events[chunk::capacity];
  };

  static std::string name_in(const raw_event& raw) {
    std::string name;
    for (std::size_t i = 0; i != name_room; ++i) {
      const char letter = static_cast<char>(raw.word[1 + (i + 1) / 8] >> (i + 1) % 8 * 8);
      if (letter == '\0') {
        break;
      }
      name.push_back(letter);
    }
    return name;
  }

  static std::uint32_t m_number(std::uint64_t owner) noexcept {
    return static_cast<std::uint32_t>(owner - 1);
  }

  void open(m_state& m, const event& e, std::uint64_t owner, std::uint64_t goroutine) {
    close(m, e.time, "unknown");
    m.is_known = true;
    m.runs = true;
    m.now = {};
    m.now.runtime = e.runtime;
    m.now.p = e.p;
    m.now.m = m_number(owner);
    m.now.goroutine = goroutine;
    m.now.begin = e.time;
    if (const auto labels = labels_.find({e.runtime, goroutine}); labels != labels_.end()) {
      m.now.labels = labels->second;
    }
    const auto found = ready_.find({e.runtime, goroutine});
    if (found != ready_.end()) {
      told_.wakeups[found->second].has_run = true;
      m.now.flow = told_.wakeups[found->second].flow;
      ready_.erase(found);
      count(e, "runnable", runnable_[e.runtime], -1);
    }
  }

  void close(m_state& m, std::uint64_t time, std::string_view why, std::uint32_t object = 0) {
    if (!m.runs) {
      return;
    }
    m.runs = false;
    m.now.end = time;
    m.now.ended_by = why;
    m.now.object = object;
    if (time >= told_.begin) {
      m.now.begin = std::max(m.now.begin, told_.begin);
      told_.slices.push_back(m.now);
    }
  }

  /// A goroutine leaves an M of which nothing is known: it has run there since the record began.
  void meet(m_state& m, const event& e, std::uint64_t owner) {
    if (!m.is_known && told_.lost == 0 && e.p != event::no_p) {
      event at_begin = e;
      at_begin.time = told_.begin;
      open(m, at_begin, owner, e.goroutine);
    }
    m.is_known = true;
  }

  void leave(const entry& each, std::string_view why, std::uint64_t next) {
    m_state& m = ms_[each.owner];
    meet(m, each.e, each.owner);
    close(m, each.e.time, m.gives_way ? "time slice over" : why, each.e.value);
    m.gives_way = false;
    if (next != 0) {
      open(m, each.e, each.owner, next);
    }
  }

  void ready(const event& e, std::string_view how, std::uint64_t by) {
    told_.wakeups.push_back(
        {told_.wakeups.size() + 1, e.time, e.runtime, e.p, e.goroutine, by, how});
    if (ready_.insert_or_assign({e.runtime, e.goroutine}, told_.wakeups.size() - 1).second) {
      count(e, "runnable", runnable_[e.runtime], 1);
    }
  }

  void count(const event& e, std::string_view name, std::int64_t& value, std::int64_t change) {
    value += change;
    if (e.time >= told_.begin) {
      told_.samples.push_back({e.time, e.runtime, name, value});
    }
  }

  void tell_instant(const entry& each, std::string text) {
    if (each.e.time >= told_.begin) {
      told_.instants.push_back({each.e.time, each.e.runtime, each.e.p,
                                each.owner == 0 ? 0 : m_number(each.owner), std::move(text),
                                each.e.goroutine});
    }
  }

  std::uint32_t index_of_labels(const std::string& text) {
    const auto [found, is_new] =
        indices_.emplace(text, static_cast<std::uint32_t>(told_.labels.size()));
    if (is_new) {
      told_.labels.push_back(text);
    }
    return found->second;
  }

  void tell_idle(const entry& each, const char* text) {
    const event& e = each.e;
    tell_instant(each, text);
    if (e.time >= told_.begin) {
      const auto n = static_cast<std::int64_t>(idle_[e.runtime].size());
      told_.samples.push_back({e.time, e.runtime, "idle processors", n});
    }
  }

  static std::string text_of(const event& e) {
    return {reinterpret_cast<const char*>(static_cast<std::uintptr_t>(e.other)), e.value};
  }

  void take(const entry& each) {
    const event& e = each.e;
    m_state& m = ms_[each.owner];
    const global_id g{e.runtime, e.goroutine};
    switch (e.kind) {
      case event_kind::none:
      case event_kind::named: break;
      case event_kind::made: {
        goroutine_facts& facts = told_.goroutines[g];
        facts.started_at = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(e.other));
        if (!each.name.empty()) {
          facts.name = each.name;
        }
        ready(e, "started", e.value);
        count(e, "goroutines", alive_[e.runtime], 1);
        break;
      }
      case event_kind::parked:
        leave(each, sched::describe(static_cast<sched::wait_reason>(e.detail)), e.other);
        break;
      case event_kind::yielded: leave(each, "yielded", e.other); break;
      case event_kind::ended:
        if (goroutine_facts& facts = told_.goroutines[g]; facts.started_at == nullptr) {
          facts.started_at = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(e.other));
        }
        if (!each.name.empty()) {
          told_.goroutines[g].name = each.name;
        }
        leave(each, "ended", 0);
        labels_.erase(g);
        count(e, "goroutines", alive_[e.runtime], -1);
        break;
      case event_kind::runs: open(m, e, each.owner, e.goroutine); break;
      case event_kind::readied: {
        static constexpr std::string_view words[] = {"goroutine", "scheduler", "poller", "thread"};
        ready(e, words[e.detail & 3], e.other);
        break;
      }
      case event_kind::interrupted:
        meet(m, e, each.owner);
        close(m, e.time, "interrupted");
        tell_instant(each, "preemption");
        break;
      case event_kind::gives_way:
        m.gives_way = true;
        tell_instant(each, "preemption");
        break;
      case event_kind::taken: {
        const std::uint64_t owner = (std::uint64_t{e.runtime} << 32 | e.other) + 1;
        m_state& victim = ms_[owner];
        meet(victim, e, owner);
        close(victim, e.time, "blocked without blocking()");
        tell_instant(each, "retake");
        break;
      }
      case event_kind::handed_off: tell_instant(each, "hand-off"); break;
      case event_kind::stolen: tell_instant(each, "steals " + std::to_string(e.value)); break;
      case event_kind::timers: tell_instant(each, "timers: " + std::to_string(e.value)); break;
      case event_kind::polled: tell_instant(each, "polled: " + std::to_string(e.value)); break;
      case event_kind::call_began:
        meet(m, e, each.owner);
        close(m, e.time, "blocking()");
        break;
      case event_kind::call_ended:
        if (!m.runs) {
          open(m, e, each.owner, e.goroutine);
          m.now.from_call = true;
        }
        break;
      case event_kind::thread_began: count(e, "threads", threads_[e.runtime], 1); break;
      case event_kind::thread_ended: count(e, "threads", threads_[e.runtime], -1); break;
      case event_kind::marked: tell_instant(each, text_of(e)); break;
      case event_kind::region_began:
        open_regions_[g].push_back(
            {e.runtime, e.goroutine, std::max(e.time, told_.begin), 0, text_of(e)});
        break;
      case event_kind::region_ended:
        if (auto& open = open_regions_[g]; !open.empty()) {
          open.back().end = e.time;
          if (e.time >= told_.begin) {
            told_.regions.push_back(std::move(open.back()));
          }
          open.pop_back();
        }
        break;
      case event_kind::procs:
        told_.samples.push_back({e.time, e.runtime, "processors", e.value});
        break;
      case event_kind::labelled:
        if (each.name.empty()) {
          labels_.erase(g);
          break;
        }
        labels_[g] = index_of_labels(each.name);
        if (m.runs && m.now.goroutine == e.goroutine && m.now.runtime == e.runtime) {
          m.now.labels = labels_[g];
        }
        break;
      case event_kind::idle_began:
        if (idle_[e.runtime].insert(e.p).second) {
          tell_idle(each, "idle");
        }
        break;
      case event_kind::idle_ended:
        if (idle_[e.runtime].erase(e.p) != 0) {
          tell_idle(each, "busy");
        }
        break;
    }
  }

  story told_;
  std::vector<entry> entries_;
  std::map<std::uint64_t, m_state> ms_;
  std::map<global_id, std::size_t> ready_;  // indices of wakeups
  std::map<global_id, std::vector<region_of_user>> open_regions_;
  std::map<std::uint8_t, std::int64_t> runnable_;
  std::map<std::uint8_t, std::int64_t> alive_;
  std::map<std::uint8_t, std::int64_t> threads_;
  std::map<std::uint8_t, std::set<std::uint32_t>> idle_;
  std::map<global_id, std::uint32_t> labels_;
  std::map<std::string, std::uint32_t> indices_;  // of story::labels
};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
