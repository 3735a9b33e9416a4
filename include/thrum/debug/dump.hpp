// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Every goroutine in words: who, in what state, since when, from where.
#ifndef THRUM_DEBUG_DUMP_HPP
#define THRUM_DEBUG_DUMP_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/debug/backtrace.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/freeze.hpp>
#include <thrum/sched/scheduler.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::inline THRUM_ABI::debug {

using namespace base::orders;

/// One goroutine. As exact as something can be that goes on meanwhile.
struct goroutine_record {
  goroutine_id id = 0;
  char name[24] = {};
  sched::g_status status = sched::g_status::idle;
  sched::wait_reason reason = sched::wait_reason::none;
  std::int64_t waiting_ms = 0;  // known to about 10 ms
  const void* started_at = nullptr;
  bool is_locked = false;  // to its thread
  const void* const* frames = nullptr;
  std::size_t size = 0;  // of frames
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
    std::copy_n(callers.frames, callers.size, next_);
    record.frames = next_;
    record.size = callers.size;
    next_ += callers.size;
  }

 private:
  std::size_t bytes_;
  const void** next_;
  const void** memory_;
};

/// From a moment that has been cut to 32 bits, up to 49 days ago; that may be a little after `now`.
constexpr std::int64_t waited_ms(std::int64_t now_ms, std::uint32_t parked_ms) noexcept {
  constexpr std::uint32_t ahead = 60'000;
  const std::uint32_t passed = static_cast<std::uint32_t>(now_ms) - parked_ms;
  return passed < std::uint32_t{0} - ahead ? passed : 0;
}

/// What can be said of one G without stopping it. False: it is not alive. No malloc.
template <class Traits>
THRUM_NO_TSAN bool describe_into(goroutine_record& record, const sched::basic_g<Traits>& g,
                                 std::int64_t now_ms) noexcept {
  // [g.status] acquire: where it stands, if it does. Exact only while all is quiet.
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
  record.started_at = g.started_at;
  record.is_locked = g.thread_locks != 0;
  if (status == sched::g_status::waiting) {
    record.reason = g.reason.load(relaxed);  // relaxed: for display
    // relaxed: for display
    record.waiting_ms = waited_ms(now_ms, g.parked_ms.load(relaxed));
  }
  return true;
}

/// Where the goroutines stand.
enum class world : std::uint8_t {
  running,  // they go on meanwhile: no callers
  quiet,    // nothing runs
  stopped,  // they are stopped for a moment
};

/// Those that are alive, by id, as many as `all` has room for. No malloc.
template <class Traits>
std::size_t collect_goroutines(sched::basic_scheduler<Traits>& scheduler, goroutine_record* all,
                               std::size_t room, frame_arena& frames,
                               const sched::basic_freeze<Traits>* frozen, bool quiet) noexcept {
  const std::int64_t now_ms = (os::now() - scheduler.started_at) / 1'000'000;
  const bool may_look = quiet || (frozen != nullptr && frozen->complete());
  std::size_t n = 0;
  scheduler.pool->for_each([&](sched::basic_g<Traits>& g) {
    if (n == room || !describe_into(all[n], g, now_ms)) {
      return;
    }
    goroutine_record& record = all[n++];
    const bool is_parked = record.status == sched::g_status::waiting ||
                           record.status == sched::g_status::runnable ||
                           record.status == sched::g_status::preempted;
    os::call_stack callers;
    if (may_look && is_parked) {
      collect_parked(g, callers);
      frames.keep(callers, record);
    } else if (frozen != nullptr) {
      if (const os::call_stack* const seen = frozen->callers_of(g)) {
        frames.keep(*seen, record);
      }
    }
  });
  std::sort(all, all + n, [](const auto& a, const auto& b) { return a.id < b.id; });
  return n;
}

/// Go's words, with the name: goroutine 7 [chan receive, 120 ms] "loader": and who calls whom.
inline std::string describe(os::symbolizer& symbols, const goroutine_record& g) {
  std::string text = "goroutine " + std::to_string(g.id) + " [";
  if (g.status == sched::g_status::waiting) {
    text.append(sched::describe(g.reason)).append(", ");
    constexpr std::int64_t minute = 60'000;
    if (g.waiting_ms < minute) {
      text.append(std::to_string(g.waiting_ms)).append(" ms");
    } else {
      text.append(std::to_string(g.waiting_ms / minute)).append(" minutes");
    }
  } else {
    text.append(describe(g.status));
  }
  text.append(g.is_locked ? ", locked to thread]" : "]");
  if (g.name[0] != '\0') {
    text.append(" \"").append(g.name).append("\"");
  }
  text.append(":\n").append(describe_callers(symbols, g.frames, g.size));
  return text.append("\tstarted in ").append(symbols.describe(g.started_at)).append("\n");
}

/// All of them, an empty line between two. `where`: whether they must be stopped to be looked at.
/// Not inside a section. Blocks the thread for as long as the look takes.
template <class Traits>
std::string describe_goroutines(sched::basic_scheduler<Traits>& scheduler, world where) {
  constexpr std::int64_t patience_ns = 100'000'000;
  const std::size_t expected = scheduler.goroutine_count();
  std::vector<goroutine_record> all(expected + expected / 8 + 16);
  frame_arena frames(all.size());
  std::size_t n = 0;
  if (where == world::stopped) {
    scheduler.begin_exclusive();
    {
      sched::basic_section<Traits> here;
      sched::basic_m<Traits>* const own =
          here.m() != nullptr && here.m()->scheduler == &scheduler ? here.m() : nullptr;
      if (own != nullptr) {
        sched::note_callers(*own);
      }
      const sched::basic_freeze<Traits> frozen(scheduler, own, patience_ns);
      n = collect_goroutines(scheduler, all.data(), all.size(), frames, &frozen, false);
    }
    scheduler.end_exclusive();
  } else {
    n = collect_goroutines<Traits>(scheduler, all.data(), all.size(), frames, nullptr,
                                   where == world::quiet);
  }
  os::symbolizer symbols;
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    text.append(text.empty() ? "" : "\n").append(describe(symbols, all[i]));
  }
  return text;
}

}  // namespace thrum::inline THRUM_ABI::debug

#endif
