// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Every goroutine in words: its number and name, its state, since when, and its callers.
//
// How many goroutines do the same: by state, what they wait for, and where they were started.
#ifndef THRUM_DETAIL_DEBUG_DUMP_HPP
#define THRUM_DETAIL_DEBUG_DUMP_HPP

#include <thrum/detail/base/append.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/debug/dump_form.hpp>
#include <thrum/detail/debug/tally.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/freeze/freeze.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>
#include <thrum/detail/sched/run/inherit_labels.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

/// One goroutine. Inexact if it runs while it is recorded.
struct goroutine_record {
  goroutine_id id = 0;
  char name[24] = {};
  sched::g_status status = sched::g_status::idle;
  sched::wait_reason reason = sched::wait_reason::none;
  std::int64_t waiting_ms = 0;  // known to about 10 ms
  const void* started_at = nullptr;
  bool is_locked = false;  // to its thread
  const void* const* frames = nullptr;
  std::size_t size = 0;                 // of frames
  sched::label_list* labels = nullptr;  // held by the list that it is in
};

constexpr std::string_view describe(sched::g_status status) noexcept {
  switch (status) {
    case sched::g_status::idle: return "idle";
    case sched::g_status::runnable: return "runnable";
    case sched::g_status::running: return "running";
    case sched::g_status::syscall: return "syscall";
    case sched::g_status::waiting: return "waiting";
    case sched::g_status::dead: return "dead";
    case sched::g_status::preempted: return "preempted";
  }
  return "";
}

/// Pages for the callers of many goroutines; only what is touched counts.
class frame_arena {
 public:
  explicit frame_arena(std::size_t goroutines) noexcept
      : bytes_((goroutines + 1) * sizeof(os::call_stack::frames)),
        next_(static_cast<const void**>(os::map(bytes_))),
        memory_(next_) {}
  ~frame_arena() {
    if (memory_ != nullptr) {
      os::unmap(memory_, bytes_);
    }
  }
  frame_arena(const frame_arena&) = delete;
  frame_arena& operator=(const frame_arena&) = delete;

  /// Keeps a copy. No malloc.
  void keep(const os::call_stack& callers, goroutine_record& record) noexcept {
    if (memory_ == nullptr) {
      return;
    }
    std::memcpy(next_, callers.frames, callers.size * sizeof *next_);
    record.frames = next_;
    record.size = callers.size;
    next_ += callers.size;
  }

 private:
  std::size_t bytes_;
  const void** next_;
  const void** memory_;
};

/// The time since a moment that was cut to 32 bits, up to 49 days ago, or a little after `now`.
constexpr std::int64_t waited_ms(std::int64_t now_ms, std::uint32_t parked_ms) noexcept {
  constexpr std::uint32_t ahead = 60'000;
  const std::uint32_t passed = static_cast<std::uint32_t>(now_ms) - parked_ms;
  return passed < std::uint32_t{0} - ahead ? passed : 0;
}

/// Writes what can be told of one G without stopping it. False: it is not alive. No malloc.
THRUM_NO_TSAN inline bool describe_into(goroutine_record& record, const sched::goroutine& g,
                                        std::int64_t now_ms) noexcept {
  // [g.status <] acquire: where it stands, if it does. Exact only while all is quiet.
  const sched::g_status status = g.status.load(acquire);
  if (status == sched::g_status::idle || status == sched::g_status::dead) {
    return false;
  }
  record.id = g.id;
  for (std::size_t i = 0; i != sizeof g.name; ++i) {
    // Byte by byte: the name may change meanwhile, and ThreadSanitizer looks into memmove.
    record.name[i] = const_cast<const volatile char&>(g.name[i]);
  }
  record.status = status;
  record.started_at = starting_call(g);
  record.is_locked = g.thread_locks != 0;
  if (status == sched::g_status::waiting) {
    record.reason = g.reason.peek();
    record.waiting_ms = waited_ms(now_ms, g.parked_ms.get());
  }
  return true;
}

/// Where the goroutines stand.
enum class world : std::uint8_t {
  running,  // they go on meanwhile: no callers
  quiet,    // nothing runs
  stopped,  // they are stopped for a moment
};

/// The goroutines that were alive when it began, by id, each with what can be seen of it.
///
/// While all goroutines stand still, no client is served. So they are looked at in pieces: as many
/// as `piece` in one freeze, which lasts well under a millisecond then, and between two freezes
/// they go on for as long as they stood. The picture is not of one moment, but each goroutine in it
/// is.
class goroutine_list {
 public:
  static constexpr std::size_t piece = 128;

  /// All goroutines, or only the one with this id. Allocates; not inside a section.
  explicit goroutine_list(sched::runtime_scheduler& scheduler, goroutine_id only = 0)
      : scheduler_(scheduler), all_(find_alive(scheduler, only)), frames_(all_.size()) {}

  ~goroutine_list() {
    for (const seen& each : all_) {
      if (each.record.labels != nullptr) {
        each.record.labels->let_go();
      }
    }
  }
  goroutine_list(const goroutine_list&) = delete;
  goroutine_list& operator=(const goroutine_list&) = delete;

  /// Blocks the thread for as long as the look takes. Once.
  void look(world where) {
    if (where == world::stopped) {
      look_in_pieces();
      return;
    }
    for (seen& each : all_) {
      look_at(each, where == world::quiet, nullptr);
    }
  }

  /// Calls f(record) for each that is still alive.
  template <class F>
  void for_each(F f) const {
    for (const seen& each : all_) {
      if (each.is_alive) {
        f(each.record);
      }
    }
  }

 private:
  struct seen {
    const sched::goroutine* g = nullptr;
    goroutine_record record;
    bool is_alive = true;
  };

  static std::int64_t now_ms(const sched::runtime_scheduler& scheduler) noexcept {
    return (os::now() - scheduler.started_at) / 1'000'000;
  }

  static std::vector<seen> find_alive(sched::runtime_scheduler& scheduler, goroutine_id only) {
    std::vector<seen> found;
    const std::int64_t now = now_ms(scheduler);
    scheduler.pool->for_each([&](sched::goroutine& g) {
      seen each;
      each.g = &g;
      if (describe_into(each.record, g, now) && (only == 0 || each.record.id == only)) {
        found.push_back(each);
      }
    });
    if (!found.empty()) {
      std::qsort(found.data(), found.size(), sizeof(seen), [](const void* a, const void* b) {
        const goroutine_id one = static_cast<const seen*>(a)->record.id;
        const goroutine_id other = static_cast<const seen*>(b)->record.id;
        return one < other ? -1 : one == other ? 0 : 1;
      });
    }
    return found;
  }

  void look_in_pieces() {
    constexpr int most_failures = 20;  // then a goroutine does not stop at all
    int failures = 0;
    for (std::size_t first = 0; first < all_.size();) {
      const std::int64_t begin = os::now();
      const std::size_t last = first + piece < all_.size() ? first + piece : all_.size();
      const bool done = look_at_piece(first, last, failures == most_failures);
      failures += !done;
      first = done ? last : first;
      if (first < all_.size()) {
        os::sleep_ns(os::now() - begin);
      }
    }
  }

  /// False: not all goroutines have stopped in time; nothing was looked at. `anyway`: those that
  /// are parked are left without their callers then.
  bool look_at_piece(std::size_t first, std::size_t last, bool anyway) {
    constexpr std::int64_t patience_ns = 5'000'000;
    bool complete = false;
    scheduler_.freeze.begin_exclusive();
    {
      sched::section here;
      sched::machine* const own =
          here.m() != nullptr && here.m()->scheduler == &scheduler_ ? here.m() : nullptr;
      if (own != nullptr) {
        sched::note_callers(*own);
      }
      // FZ1: to the end of its life
      const sched::freezer frozen(scheduler_, own, anyway ? 0 : patience_ns);
      complete = frozen.complete();
      for (std::size_t i = first; i != last && (complete || anyway); ++i) {
        look_at(all_[i], complete, &frozen);
      }
    }
    scheduler_.freeze.end_exclusive();
    return complete || anyway;
  }

  /// No malloc.
  void look_at(seen& each, bool may_walk, const sched::freezer* frozen) noexcept {
    goroutine_record& record = each.record;
    const goroutine_id expected = record.id;
    record = {};
    each.is_alive = describe_into(record, *each.g, now_ms(scheduler_)) && record.id == expected;
    if (!each.is_alive) {
      return;  // it has ended; another may have its place
    }
    const bool is_parked = record.status == sched::g_status::waiting ||
                           record.status == sched::g_status::runnable ||
                           record.status == sched::g_status::preempted;
    if (may_walk && each.g->labels != nullptr) {
      record.labels = each.g->labels;
      record.labels->hold();
    }
    if (may_walk && is_parked) {
      os::call_stack callers;
      collect_parked(*each.g, callers);
      frames_.keep(callers, record);
    } else if (frozen != nullptr) {
      if (const os::call_stack* const noted = frozen->callers_of(*each.g)) {
        frames_.keep(*noted, record);
      }
    }
  }

  sched::runtime_scheduler& scheduler_;
  std::vector<seen> all_;
  frame_arena frames_;
};

/// Go's words, with the name: goroutine 7 [chan receive, 120 ms] "loader": and its callers.
[[gnu::cold]] inline std::string describe(os::symbolizer& symbols, const goroutine_record& g) {
  std::string text;
  base::append(text, {"goroutine ", base::digits(g.id).view(), " ["});
  if (g.status == sched::g_status::waiting) {
    constexpr std::int64_t minute = 60'000;
    const bool is_long = g.waiting_ms >= minute;
    base::append(text, {sched::describe(g.reason), ", ",
                        base::digits(is_long ? g.waiting_ms / minute : g.waiting_ms).view(),
                        is_long ? " minutes" : " ms"});
  } else {
    base::append(text, {describe(g.status)});
  }
  base::append(text, {g.is_locked ? ", locked to thread]" : "]"});
  if (g.name[0] != '\0') {
    base::append(text, {" \"", g.name, "\""});
  }
  if (g.labels != nullptr) {
    base::append(text, {" {", g.labels->text, "}"});
  }
  const bool is_unknown = g.size == 0 && g.status == sched::g_status::running;
  base::append(
      text, {":\n", describe_callers(symbols, g.frames, g.size), is_unknown ? "\tnot walked\n" : "",
             "\tstarted in ", describe_place(symbols, g.started_at)});
  return text;
}

/// All of them, an empty line between two; with places in the source, if `with_lines`, which starts
/// processes and blocks the thread. Not inside a section.
[[gnu::cold]] inline std::string describe_goroutines(const goroutine_list& all, bool with_lines) {
  os::symbolizer symbols;
  if (with_lines) {
    tally seen;
    all.for_each([&](const goroutine_record& g) {
      for (std::size_t i = 0; i != g.size; ++i) {
        seen.add(g.frames[i]);
      }
      seen.add(g.started_at);
    });
    std::vector<const void*> places;
    for (const tally::entry& each : seen.by_kind()) {
      places.push_back(each.place);
    }
    symbols.find_lines(std::move(places));
  }
  std::string text;
  all.for_each([&](const goroutine_record& g) {
    base::append(text, {text.empty() ? "" : "\n", describe(symbols, g)});
  });
  return text;
}

/// Describes the goroutines as they are now. `where`: whether they must be stopped for that.
/// Blocks the thread for as long as the look takes, too.
[[gnu::cold]] inline std::string describe_goroutines(sched::runtime_scheduler& scheduler,
                                                     world where, bool with_lines) {
  goroutine_list all(scheduler);
  all.look(where);
  return describe_goroutines(all, with_lines);
}

/// A line for each kind, the most frequent first. No goroutine is stopped. Not inside a section.
[[gnu::cold]] inline std::string count_goroutines(sched::runtime_scheduler& scheduler) {
  tally kinds;
  std::uint64_t total = 0;
  scheduler.pool->for_each([&](sched::goroutine& g) {
    goroutine_record record;
    if (describe_into(record, g, 0)) {
      kinds.add(record.started_at, static_cast<std::uint32_t>(record.status) << 8 |
                                       static_cast<std::uint32_t>(record.reason));
      ++total;
    }
  });
  os::symbolizer symbols;
  std::string text;
  base::append(text, {"goroutines: ", base::digits(total).view(), "\n"});
  for (const tally::entry& each : kinds.by_frequency()) {
    const auto status = static_cast<sched::g_status>(each.kind >> 8);
    const auto reason = static_cast<sched::wait_reason>(each.kind & 0xFF);
    base::append(text,
                 {base::digits(each.n).view(), " [",
                  status == sched::g_status::waiting ? sched::describe(reason) : describe(status),
                  "] started in ", symbols.describe(each.place), "\n"});
  }
  return text;
}

/// Writes them in one of the two forms. `blocking(f)` returns f(), which may block the thread. Not
/// inside a section.
template <class Blocking>
void write_goroutines(sched::runtime_scheduler& scheduler, std::FILE* to, dump_form form,
                      Blocking blocking) {
  std::string text;
  if (form == dump_form::counts) {
    text = count_goroutines(scheduler);
  } else {
    goroutine_list all(scheduler);
    all.look(world::stopped);
    text = blocking([&all] { return describe_goroutines(all, true); });
  }
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif  // THRUM_DETAIL_DEBUG_DUMP_HPP
