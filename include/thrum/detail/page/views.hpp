// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the live page shows, as JSON: figures, processors, and goroutines.
//
// Nothing here stops a goroutine, but the look at the callers of one. All that takes time runs inside
// blocking(), so that it occupies a thread and no processor.
#ifndef THRUM_DETAIL_PAGE_VIEWS_HPP
#define THRUM_DETAIL_PAGE_VIEWS_HPP

#include <thrum/debug/stats.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/page/http.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace page_detail {

/// Writes JSON. Any bytes become a valid text, which is harmless inside of HTML, too.
class json {
 public:
  json& begin(char bracket) { return separate().put({&bracket, 1}); }
  json& end(char bracket) { return put({&bracket, 1}); }
  json& key(std::string_view name) { return value(name).put(":"); }

  json& value(std::string_view text);
  json& value(const char* text) { return value(std::string_view(text)); }
  json& value(bool is) { return separate().put(is ? "true" : "false"); }
  template <std::integral Number>
  json& value(Number n) {
    return separate().put(std::to_string(n));
  }

  template <class Value>
  json& member(std::string_view name, const Value& what) {
    return key(name).value(what);
  }

  std::string take() { return std::move(text_); }

 private:
  json& put(std::string_view text) {
    text_.append(text);
    return *this;
  }
  json& separate() {
    const char last = text_.empty() ? '[' : text_.back();
    return put(last == '[' || last == '{' || last == ':' ? "" : ",");
  }

  std::string text_;
};

/// How many bytes the UTF-8 character has with which a text begins; 0 if it begins with none.
inline std::size_t utf8_size(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t n = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (n == 0 || n > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  const unsigned second = n > 1 ? byte(1) : 0;
  const bool is_wrong =  // too long, a surrogate, or beyond the last character
      (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return is_wrong ? 0 : n;
}

inline json& json::value(std::string_view text) {
  separate().put("\"");
  while (!text.empty()) {
    const std::size_t n = utf8_size(text);
    const char c = text.front();
    const auto code = static_cast<unsigned char>(c);
    if (n == 0) {
      put("\\ufffd");
    } else if (n == 1 && (code < ' ' || std::string_view("\"\\<>&'\x7f").find(c) != text.npos)) {
      const char escaped[] = {
          '\\', 'u', '0', '0', "0123456789abcdef"[code >> 4], "0123456789abcdef"[code & 15U]};
      put({escaped, sizeof escaped});
    } else {
      put(text.substr(0, n));
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return put("\"");
}

/// Names of the places where goroutines were started. One thread at a time.
class place_names {
 public:
  /// Stays valid.
  const std::string& of(const void* place) {
    const auto [at, is_new] = names_.try_emplace(place);
    if (is_new) {
      at->second = place == nullptr ? "" : symbols_.describe(place);
    }
    return at->second;
  }

 private:
  os::symbolizer symbols_;
  std::unordered_map<const void*, std::string> names_;
};

/// A state as a user reads it: what a goroutine waits for, if it waits.
inline std::string_view state_of(sched::g_status status, sched::wait_reason reason) noexcept {
  return status == sched::g_status::waiting ? sched::describe(reason) : debug::describe(status);
}

/// What a P does. A guess: it goes on meanwhile.
struct processor_record {
  std::uint32_t id = 0;
  sched::p_status status = sched::p_status::idle;
  bool has_thread = false;
  std::uint32_t thread = 0;
  std::size_t queued = 0;
  std::size_t timers = 0;
  debug::goroutine_record running;  // id 0: none
};

THRUM_NO_TSAN inline processor_record look_at(const sched::processor& p) noexcept {
  processor_record seen;
  seen.id = p.id;
  seen.status = p.status.peek();
  seen.queued = p.queued();
  seen.timers = p.timers.size();
  if (const sched::machine* const m = p.m.peek()) {
    seen.has_thread = true;
    seen.thread = m->id;
    if (const sched::goroutine* const g = m->g) {
      debug::describe_into(seen.running, *g, 0);
    }
  }
  return seen;
}

inline std::string_view describe(sched::p_status status) noexcept {
  switch (status) {
    case sched::p_status::idle: return "idle";
    case sched::p_status::running: return "running";
    case sched::p_status::syscall: return "syscall";
    case sched::p_status::dead: return "dead";
  }
  return "";
}

inline void write_figures(json& to, const stats_snapshot& s) {
  to.key("stats").begin('{');
  to.member("procs", s.procs).member("idle_procs", s.idle_procs).member("threads", s.threads);
  to.member("idle_threads", s.idle_threads).member("spinning", s.spinning);
  to.member("global_queue", s.global_queue).member("background_queue", s.background_queue);
  to.member("goroutines", s.goroutines).member("runnable", s.runnable).member("running", s.running);
  to.member("waiting", s.waiting).member("in_syscall", s.in_syscall).member("created", s.created);
  to.member("finished", s.finished).member("switches", s.switches).member("steals", s.steals);
  to.member("preemptions", s.preemptions).member("signals", s.signals);
  to.member("exchanges", s.exchanges).member("hand_offs", s.hand_offs);
  to.member("retakes", s.retakes).member("stopped_without_p", s.stopped_without_p);
  to.member("timers", s.timers).member("timers_fired", s.timers_fired);
  to.member("polled_descriptors", s.polled_descriptors).member("stack_bytes", s.stack_bytes);
  to.end('}').key("latencies").begin('{');
  const auto write = [&](std::string_view name, const latency_histogram& one) {
    to.key(name).begin('[');
    for (const std::uint64_t each : one.counts) {
      to.value(each);
    }
    to.end(']');
  };
  write("ready", s.latencies.ready);
  write("poll", s.latencies.poll);
  write("slice", s.latencies.slice);
  write("timer", s.latencies.timer);
  to.end('}');
}

/// What many goroutines have in common.
struct kind {
  sched::g_status status = sched::g_status::idle;
  sched::wait_reason reason = sched::wait_reason::none;
  const void* place = nullptr;
  std::uint64_t n = 0;

  bool operator==(const kind& other) const noexcept {
    return status == other.status && reason == other.reason && place == other.place;
  }
};

struct kind_hash {
  std::size_t operator()(const kind& of) const noexcept {
    return std::hash<const void*>()(of.place) * 31 + static_cast<std::size_t>(of.status) * 64 +
           static_cast<std::size_t>(of.reason);
  }
};

/// debug::describe_into for a look at very many. False: it is not alive.
THRUM_NO_TSAN inline bool look_briefly(kind& seen, const sched::goroutine& g) noexcept {
  seen.status = g.status.peek();
  if (seen.status == sched::g_status::idle || seen.status == sched::g_status::dead) {
    return false;
  }
  seen.reason =
      seen.status == sched::g_status::waiting ? g.reason.peek() : sched::wait_reason::none;
  seen.place = debug::starting_call(g);
  return true;
}

inline void sort_by_frequency(std::vector<kind>& kinds) {
  std::sort(kinds.begin(), kinds.end(), [](const kind& a, const kind& b) {
    return a.n != b.n           ? a.n > b.n
           : a.place != b.place ? std::less<const void*>()(a.place, b.place)
                                : std::pair(a.status, a.reason) < std::pair(b.status, b.reason);
  });
}

/// How many goroutines share a state and a start, the most frequent first.
inline std::vector<kind> count_kinds(sched::runtime_scheduler& scheduler) {
  std::unordered_map<kind, std::uint64_t, kind_hash> counts;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    kind seen;
    if (look_briefly(seen, g)) {
      ++counts[seen];
    }
  });
  std::vector<kind> kinds;
  for (const auto& [each, n] : counts) {
    kinds.push_back(each);
    kinds.back().n = n;
  }
  sort_by_frequency(kinds);
  return kinds;
}

/// Figures, processors, and how many goroutines share a state and a start: the most frequent of each.
inline std::string describe_state(sched::runtime_scheduler& scheduler, place_names& places) {
  constexpr std::size_t most_kinds = 40;
  json to;
  to.begin('{').member("now_ms", (os::now() - scheduler.started_at) / 1'000'000);
  to.member("traces", THRUM_TRACE != 0);
  write_figures(to, debug::collect(scheduler));
  to.key("processors").begin('[');
  scheduler.for_each_p([&](const sched::processor& p) {
    const processor_record seen = look_at(p);
    if (seen.status == sched::p_status::dead) {
      return;
    }
    to.begin('{').member("id", seen.id).member("status", describe(seen.status));
    to.member("queued", seen.queued).member("timers", seen.timers);
    if (seen.has_thread) {
      to.member("thread", seen.thread);
    }
    if (seen.running.id != 0) {
      to.member("goroutine", seen.running.id).member("name", seen.running.name);
      to.member("place", places.of(seen.running.started_at));
    }
    to.end('}');
  });
  to.end(']');
  const std::vector<kind> kinds = count_kinds(scheduler);
  std::vector<kind> states;
  for (const kind& each : kinds) {
    const auto same = std::find_if(states.begin(), states.end(), [&](const kind& one) {
      return one.status == each.status && one.reason == each.reason;
    });
    if (same == states.end()) {
      states.push_back(each);
    } else {
      same->n += each.n;
    }
  }
  sort_by_frequency(states);
  to.key("states").begin('[');
  for (const kind& each : states) {
    to.begin('{').member("n", each.n).member("state", state_of(each.status, each.reason)).end('}');
  }
  to.end(']').member("kinds_in_all", kinds.size()).key("kinds").begin('[');
  for (std::size_t i = 0; i != kinds.size() && i != most_kinds; ++i) {
    const kind& each = kinds[i];
    to.begin('{').member("n", each.n).member("state", state_of(each.status, each.reason));
    to.member("place", places.of(each.place)).end('}');
  }
  return to.end(']').end('}').take();
}

/// Which goroutines are shown, in which order.
struct selection {
  std::string state;  // empty: any
  std::string place;  // empty: any
  std::string text;   // a part of the name or the place
  std::string order;  // id, age, state, name or place
  bool falls = false;
  std::size_t first = 0;
  std::size_t count = 0;
};

inline selection selection_of(std::string_view query) {
  constexpr std::size_t most_first = 9'900;  // what is sorted is kept in memory
  constexpr std::size_t most = 100;
  selection wanted;
  wanted.state = parameter(query, "state");
  wanted.place = parameter(query, "place");
  wanted.text = parameter(query, "text");
  wanted.order = parameter(query, "order");
  wanted.falls = parameter(query, "falls") == "1";
  wanted.first = base::convert<std::size_t>(number_parameter(query, "first", 0, most_first));
  wanted.count = base::convert<std::size_t>(number_parameter(query, "count", most, most));
  return wanted;
}

struct row {
  debug::goroutine_record g;
  std::string_view state;
  std::string_view place;
};

/// Whether one comes before another one.
inline bool comes_before(const row& a, const row& b, const selection& how) noexcept {
  int order = 0;
  if (how.order == "age") {
    order = a.g.waiting_ms < b.g.waiting_ms ? -1 : a.g.waiting_ms > b.g.waiting_ms ? 1 : 0;
  } else if (how.order == "state") {
    order = a.state.compare(b.state);
  } else if (how.order == "name") {
    order = std::strncmp(a.g.name, b.g.name, sizeof a.g.name);
  } else if (how.order == "place") {
    order = a.place.compare(b.place);
  }
  if (order == 0) {
    order = a.g.id < b.g.id ? -1 : a.g.id > b.g.id ? 1 : 0;
  }
  return how.falls ? order > 0 : order < 0;
}

/// The goroutines that are wanted, and how many others there are. Keeps no more of them than it may show.
inline std::string describe_rows(sched::runtime_scheduler& scheduler, place_names& places,
                                 const selection& wanted) {
  const auto before = [&](const row& a, const row& b) { return comes_before(a, b, wanted); };
  const std::size_t room = wanted.first + wanted.count;
  std::vector<row> kept;  // a heap, the last one in front
  std::uint64_t alive = 0;
  std::uint64_t matching = 0;
  const std::int64_t now_ms = (os::now() - scheduler.started_at) / 1'000'000;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    kind seen;
    if (!look_briefly(seen, g)) {
      return;
    }
    ++alive;
    row each;
    each.place = places.of(seen.place);
    if ((!wanted.state.empty() && wanted.state != state_of(seen.status, seen.reason)) ||
        (!wanted.place.empty() && wanted.place != each.place) ||
        !debug::describe_into(each.g, g, now_ms)) {
      return;
    }
    each.g.name[sizeof each.g.name - 1] = '\0';
    each.state = state_of(each.g.status, each.g.reason);
    if (!(contains_word(each.g.name, wanted.text) || contains_word(each.place, wanted.text))) {
      return;
    }
    ++matching;
    if (kept.size() == room) {
      if (room == 0 || !before(each, kept.front())) {
        return;
      }
      std::pop_heap(kept.begin(), kept.end(), before);
      kept.pop_back();
    }
    kept.push_back(each);
    std::push_heap(kept.begin(), kept.end(), before);
  });
  std::sort_heap(kept.begin(), kept.end(), before);
  json to;
  to.begin('{').member("alive", alive).member("matching", matching);
  to.member("first", wanted.first).key("rows").begin('[');
  for (std::size_t i = wanted.first; i < kept.size(); ++i) {
    const row& each = kept[i];
    to.begin('{').member("id", each.g.id).member("name", each.g.name);
    to.member("state", each.state).member("place", each.place);
    if (each.g.status == sched::g_status::waiting) {
      to.member("age_ms", each.g.waiting_ms);
    }
    to.member("locked", each.g.is_locked).end('}');
  }
  return to.end(']').end('}').take();
}

}}}  // namespace thrum::THRUM_ABI::page_detail

#endif
