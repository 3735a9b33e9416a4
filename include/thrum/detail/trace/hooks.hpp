// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the scheduler tells the recorder, a line at each place. Where THRUM_TRACE is 0 these functions are empty. Where
// it is 1 they are a load and a branch while nothing is recorded.
//
// The calling thread is inside the scheduler: no signal handler records between the words of an event.
#ifndef THRUM_DETAIL_TRACE_HOOKS_HPP
#define THRUM_DETAIL_TRACE_HOOKS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/trace/event_kind.hpp>
#include <thrum/detail/trace/probes.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#if THRUM_TRACE
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/queue/scoped.hpp>
#include <thrum/detail/trace/event.hpp>
#include <thrum/detail/trace/recorder.hpp>

#include <atomic>
#include <utility>
#endif

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

#if THRUM_TRACE

/// Threads that are no Ms share a writer.
struct shared_writer {
  sched::spin_lock lock{sched::lock_rank::trace};
  writer to;
};
inline constinit shared_writer of_threads;

/// Calls the program's hook: the goroutine runs, has yielded or parked (yielded), or has ended. Set before the
/// runtimes that call it. Null: there is none.
inline constinit base::set_once<void (*)(event_kind what, const sched::goroutine& g) noexcept>
    show_switch{nullptr};

/// A goroutine was ready for too long, and the record is not yet written.
inline constinit base::hint<bool> is_late{false};
/// Before this moment it is not written again.
inline constinit base::hint<std::uint64_t> next_late{0};

inline std::uint8_t number_of(const sched::runtime_scheduler& scheduler) noexcept {
  return static_cast<std::uint8_t>(scheduler.registered.number());
}

/// Names an M: its runtime's number and its own.
inline std::uint64_t owner_of(const sched::machine& m) noexcept {
  return (std::uint64_t{number_of(*m.scheduler)} << 32 | m.id) + 1;
}

inline std::uint32_t p_of(const sched::machine& m) noexcept {
  return m.p == nullptr ? event::no_p : m.p->id;
}

inline void add(sched::machine* m, const raw_event& first, const raw_event* rest = nullptr,
                std::uint32_t more = 0) noexcept {
  if (m != nullptr) {
    the_recorder.add(m->trace, owner_of(*m), first, rest, more);
    return;
  }
  sched::scoped guard(of_threads.lock);
  the_recorder.add(of_threads.to, 0, first, rest, more);
}

/// The first letters of a text, as one event.
inline raw_event name_event(std::uint64_t time, std::string_view text) noexcept {
  raw_event name{};
  name.word[0] = time;
  name.word[1] = static_cast<std::uint64_t>(event_kind::named);
  for (std::size_t i = 0; i != name_room && i != text.size() && text[i] != '\0'; ++i) {
    const auto byte = std::uint64_t{static_cast<unsigned char>(text[i])};
    name.word[1 + (i + 1) / 8] |= byte << (i + 1) % 8 * 8;
  }
  return name;
}

/// An event of an M, with its time, runtime and P.
inline event event_of(const sched::machine& m, event_kind kind, std::uint64_t goroutine = 0,
                      std::uint64_t other = 0) noexcept {
  event e;
  e.time = the_recorder.now();
  e.kind = kind;
  e.runtime = number_of(*m.scheduler);
  e.p = p_of(m);
  e.goroutine = goroutine;
  e.other = other;
  return e;
}

/// Adds an event that tells where the goroutine was started, and its name if it has one.
inline void add_with_name(sched::machine* m, event& e, const sched::goroutine& g) noexcept {
  e.other = reinterpret_cast<std::uintptr_t>(g.started_at);
  if (g.name[0] == '\0') {
    add(m, event::pack(e));
    return;
  }
  static_assert(sched::goroutine::name_capacity - 1 == name_room);
  const raw_event name = name_event(e.time, std::string_view(g.name, name_room));
  const raw_event first = event::pack(e);
  add(m, first, &name, 1);
}

[[gnu::cold]] THRUM_NOINLINE inline void note_made(sched::machine* m,
                                                   const sched::goroutine& g) noexcept {
  event e;
  e.time = the_recorder.now();
  e.kind = event_kind::made;
  g.recorded_ready_at = e.time;
  e.runtime = number_of(*g.scheduler);
  e.goroutine = g.id;
  if (m != nullptr) {
    e.p = p_of(*m);
    e.value = m->g == nullptr ? 0 : event::limited(m->g->id);
  }
  add_with_name(m, e, g);
}

/// g was ready for too long before it runs. The thread that makes threads writes the record. A background goroutine
/// may wait for as long as others run.
[[gnu::cold]] THRUM_NOINLINE inline void note_late(sched::machine& m,
                                                   const sched::goroutine& g) noexcept {
  if (g.priority() == priority::background) {
    return;
  }
  static constexpr std::string_view text = "ready for too long";
  event e = event_of(m, event_kind::marked, g.id, reinterpret_cast<std::uintptr_t>(text.data()));
  e.value = event::limited(text.size());
  add(&m, event::pack(e));
  if (e.time >= next_late.get()) {
    next_late.set(e.time + pause_when_late.get());
    is_late.set(true);
    m.scheduler->creator.request_dump();
  }
}

/// g runs from `now` on.
THRUM_INLINE void end_wait(sched::machine& m, const sched::goroutine& g,
                           std::uint64_t now) noexcept {
  const std::uint64_t since = std::exchange(g.recorded_ready_at, 0);
  if (since != 0 && now > since && now - since > longest_wait.get()) [[unlikely]] {
    note_late(m, g);
  }
}

THRUM_NOINLINE inline void record_run(sched::machine& m, const sched::goroutine& g) noexcept {
  event e = event_of(m, event_kind::runs, g.id, reinterpret_cast<std::uintptr_t>(g.started_at));
  e.time = the_recorder.now_in_order();
  add(&m, event::pack(e));
  end_wait(m, g, e.time);
}

/// The goroutine leaves, and `next` runs in the same moment.
THRUM_NOINLINE inline void record_switch(sched::machine& m, const sched::goroutine& g,
                                         const sched::goroutine* next, bool for_good) noexcept {
  if (for_good) [[unlikely]] {
    event e = event_of(m, event_kind::ended, g.id);
    add_with_name(&m, e, g);
    if (next != nullptr) {
      e.kind = event_kind::runs;
      e.goroutine = next->id;
      e.other = reinterpret_cast<std::uintptr_t>(next->started_at);
      add(&m, event::pack(e));
      end_wait(m, *next, e.time);
    }
    return;
  }
  event e = event_of(m, event_kind::yielded, g.id, next == nullptr ? 0 : next->id);
  if (g.status.get() == sched::g_status::waiting) [[likely]] {
    e.kind = event_kind::parked;
    e.detail = static_cast<std::uint8_t>(g.reason.get());
    e.value = m.trace.object;
    m.trace.object = 0;
  }
  add(&m, event::pack(e));
  if (next != nullptr) {
    end_wait(m, *next, e.time);
  }
}

THRUM_NOINLINE inline void note_run(sched::machine& m, const sched::goroutine& g) noexcept {
  if (auto* const show = show_switch.get()) {
    show(event_kind::runs, g);
  }
  if (the_recorder.is_on()) {
    record_run(m, g);
  }
}

THRUM_NOINLINE inline void note_switch(sched::machine& m, const sched::goroutine& g,
                                       const sched::goroutine* next, bool for_good) noexcept {
  if (auto* const show = show_switch.get()) {
    show(for_good ? event_kind::ended : event_kind::yielded, g);
    if (next != nullptr) {
      show(event_kind::runs, *next);
    }
  }
  if (the_recorder.is_on()) {
    record_switch(m, g, next, for_good);
  }
}

THRUM_NOINLINE inline void note_ready(sched::machine* m, const sched::goroutine& g,
                                      readied_by how) noexcept {
  event e;
  e.time = the_recorder.now();
  e.kind = event_kind::readied;
  g.recorded_ready_at = e.time;
  e.runtime = number_of(*g.scheduler);
  e.goroutine = g.id;
  if (m == nullptr || m->scheduler != g.scheduler) {
    how = how == readied_by::poller ? how : readied_by::thread;
  } else {
    e.p = p_of(*m);
    if (how == readied_by::goroutine) {
      how = m->g == nullptr ? readied_by::scheduler : how;
      e.other = m->g == nullptr ? 0 : m->g->id;
    }
  }
  e.detail = static_cast<std::uint8_t>(how);
  add(m, event::pack(e));
}

/// An event of the M's goroutine, or of the M.
[[gnu::cold]] THRUM_NOINLINE inline void note(sched::machine& m, event_kind kind,
                                              std::uint64_t value = 0,
                                              std::uint64_t other = 0) noexcept {
  event e = event_of(m, kind, m.g == nullptr ? 0 : m.g->id, other);
  e.time = the_recorder.now_in_order();
  e.value = event::limited(value);
  add(&m, event::pack(e));
}

/// An event of a P that the monitor, or an M without a P, has taken.
[[gnu::cold]] THRUM_NOINLINE inline void note_p(const sched::runtime_scheduler& scheduler,
                                                event_kind kind, std::uint32_t p,
                                                std::uint64_t goroutine,
                                                std::uint64_t other) noexcept {
  event e;
  e.time = the_recorder.now_in_order();
  e.kind = kind;
  e.runtime = number_of(scheduler);
  e.p = p;
  e.goroutine = goroutine;
  e.other = other;
  add(sched::current_m(), event::pack(e));
}

/// A figure of the scheduler, on the P of the calling thread's M.
[[gnu::cold]] THRUM_NOINLINE inline void note_figure(const sched::runtime_scheduler& scheduler,
                                                     event_kind kind,
                                                     std::uint64_t value) noexcept {
  sched::machine* const m = sched::current_m();
  event e;
  e.time = the_recorder.now_in_order();
  e.kind = kind;
  e.runtime = number_of(scheduler);
  e.p = m == nullptr || m->scheduler != &scheduler ? event::no_p : p_of(*m);
  e.value = event::limited(value);
  add(m, event::pack(e));
}

/// The labels of g are another text, of which the first letters are recorded.
[[gnu::cold]] THRUM_NOINLINE inline void note_labels(sched::machine* m, const sched::goroutine& g,
                                                     std::string_view text) noexcept {
  event e;
  e.time = the_recorder.now();
  e.kind = event_kind::labelled;
  e.runtime = number_of(*g.scheduler);
  e.goroutine = g.id;
  if (m != nullptr) {
    e.p = p_of(*m);
  }
  constexpr std::uint32_t most = 5;
  raw_event pieces[most];
  std::uint32_t n = 0;
  for (; n != most && !text.empty(); ++n) {
    pieces[n] = name_event(e.time, text);
    text.remove_prefix(text.size() < name_room ? text.size() : name_room);
  }
  add(m, event::pack(e), pieces, n);
}

/// `m` makes g, which will be ready in a moment. Null: a thread without an M does.
THRUM_INLINE void made(sched::machine* m, const sched::goroutine& g) noexcept {
  THRUM_PROBE2(made, g.id, m == nullptr || m->g == nullptr ? 0 : m->g->id);
  if (the_recorder.is_on()) [[unlikely]] {
    note_made(m, g);
  }
}
/// m puts g on the processor.
THRUM_INLINE void runs(sched::machine& m, const sched::goroutine& g) noexcept {
  THRUM_PROBE2(runs, g.id, g.name);
  if (the_recorder.sees_switches()) [[unlikely]] {
    note_run(m, g);
  }
}
/// g, which has never left the thread of m, has a processor again.
THRUM_INLINE void continues(sched::machine& m, const sched::goroutine& g) noexcept {
  THRUM_PROBE2(runs, g.id, g.name);
  if (the_recorder.is_on()) [[unlikely]] {
    record_run(m, g);
  }
}
/// g leaves m for `next`; null: for g0.
THRUM_INLINE void switches(sched::machine& m, const sched::goroutine& g,
                           const sched::goroutine* next, bool for_good) noexcept {
  THRUM_PROBE2(leaves, g.id, static_cast<int>(for_good));
#if THRUM_USDT
  if (next != nullptr) {
    THRUM_PROBE2(runs, next->id, next->name);
  }
#endif
  if (the_recorder.sees_switches()) [[unlikely]] {
    note_switch(m, g, next, for_good);
  }
}
/// The goroutine of m is about to wait on that object.
THRUM_INLINE void waits_on(sched::machine& m, const void* object) noexcept {
  m.trace.object = event::hashed(object);
}
/// The calling thread, whose M is `m`, makes g ready.
THRUM_INLINE void readied(sched::machine* m, const sched::goroutine& g) noexcept {
  THRUM_PROBE1(ready, g.id);
  if (the_recorder.is_on()) [[unlikely]] {
    note_ready(m, g, readied_by::goroutine);
  }
}
/// As readied(), for each of a queue.
THRUM_INLINE void readied_all(sched::machine* m,
                              const base::intrusive_queue<sched::goroutine>& gs) noexcept {
#if THRUM_USDT
  for (const sched::goroutine* g = gs.front(); g != nullptr; g = g->queue_next) {
    THRUM_PROBE1(ready, g->id);
  }
#endif
  if (the_recorder.is_on()) [[unlikely]] {
    for (const sched::goroutine* g = gs.front(); g != nullptr; g = g->queue_next) {
      note_ready(m, *g, readied_by::goroutine);
    }
  }
}
/// The poller makes g ready.
THRUM_INLINE void readied_by_poller(const sched::goroutine& g) noexcept {
  THRUM_PROBE1(ready, g.id);
  if (the_recorder.is_on()) [[unlikely]] {
    note_ready(sched::current_m(), g, readied_by::poller);
  }
}
/// Something happens to the goroutine of m, or to m.
THRUM_INLINE void happens(sched::machine& m, event_kind kind, std::uint64_t value = 0,
                          std::uint64_t other = 0) noexcept {
  THRUM_PROBE4(event, static_cast<int>(kind), m.g == nullptr ? 0 : m.g->id, value, other);
  if (the_recorder.is_on()) [[unlikely]] {
    note(m, kind, value, other);
  }
}
/// Something happens to a P.
THRUM_INLINE void happens_to(const sched::runtime_scheduler& scheduler, event_kind kind,
                             std::uint32_t p, std::uint64_t goroutine = 0,
                             std::uint64_t other = 0) noexcept {
  THRUM_PROBE4(event, static_cast<int>(kind), goroutine, 0, other);
  if (the_recorder.is_on()) [[unlikely]] {
    note_p(scheduler, kind, p, goroutine, other);
  }
}
/// g has these labels from now on. Null: a thread without an M is the caller.
THRUM_INLINE void labelled(sched::machine* m, const sched::goroutine& g,
                           std::string_view text) noexcept {
  if (the_recorder.is_on()) [[unlikely]] {
    note_labels(m, g, text);
  }
}
/// A poll has made so many goroutines ready.
THRUM_INLINE void polled(const sched::runtime_scheduler& scheduler, std::size_t n) noexcept {
  THRUM_PROBE4(event, static_cast<int>(event_kind::polled), 0, n, 0);
  if (the_recorder.is_on() && n != 0) [[unlikely]] {
    note_figure(scheduler, event_kind::polled, n);
  }
}
/// There are so many Ps now.
THRUM_INLINE void procs_changed(const sched::runtime_scheduler& scheduler, unsigned n) noexcept {
  if (the_recorder.is_on()) [[unlikely]] {
    note_figure(scheduler, event_kind::procs, n);
  }
}
/// The P goes on the idle list, whose lock the caller holds, unless it is out of service.
THRUM_INLINE void idle_began(const sched::runtime_scheduler& scheduler,
                             const sched::processor& p) noexcept {
  if (the_recorder.is_on() && p.id < scheduler.procs()) [[unlikely]] {
    note_p(scheduler, event_kind::idle_began, p.id, 0, 0);
  }
}
/// The P has left the idle list, whose lock the caller holds. Null: there was none.
THRUM_INLINE void idle_ended(const sched::runtime_scheduler& scheduler,
                             const sched::processor* p) noexcept {
  if (the_recorder.is_on() && p != nullptr) [[unlikely]] {
    note_p(scheduler, event_kind::idle_ended, p->id, 0, 0);
  }
}

/// Whether goroutines may be interrupted anywhere: not where a hook may want a lock that they hold.
inline bool allows_interrupts() noexcept { return show_switch.get() == nullptr; }

/// A report is about to end the program. Allocates; not for the handler of a signal.
[[gnu::cold]] inline void end_with_trouble() noexcept {
  if (auto* const write = write_at_trouble.get()) {
    write();
  }
}

/// Whether the record of a crash is wanted, or written.
enum class crash_record : std::uint8_t { none, wanted, written };
inline constinit std::atomic<crash_record> at_crash{crash_record::none};

/// A signal is about to end the program, and its handler calls. The thread that makes threads writes the record; this
/// one waits for it, but not for ever: the heap may be spoilt, or its lock be held here.
[[gnu::cold]] inline void end_with_crash(sched::runtime_scheduler& scheduler) noexcept {
  if (!the_recorder.is_on()) {
    return;
  }
  at_crash.store(crash_record::wanted, release);  // [tr.crash >] release: the events before it
  scheduler.creator.request_dump();
  constexpr int tries = 500;  // 5 s
  // [tr.crash <] acquire: the file
  for (int i = 0; i != tries && at_crash.load(acquire) != crash_record::written; ++i) {
    os::sleep_ns(10'000'000);
  }
}

/// For the thread that makes threads. False: there is no crash.
[[gnu::cold]] inline bool write_for_crash() noexcept {
  // [tr.crash <] acquire: the events before it
  if (at_crash.load(acquire) != crash_record::wanted) {
    return false;
  }
  end_with_trouble();
  at_crash.store(crash_record::written, release);  // [tr.crash >] release: the file
  return true;
}

#else

inline void end_with_trouble() noexcept {}
inline void end_with_crash(sched::runtime_scheduler&) noexcept {}
constexpr bool write_for_crash() noexcept { return false; }
inline void start_by_environment() noexcept {}
constexpr bool allows_interrupts() noexcept { return true; }
constexpr bool keeps_flight() noexcept { return false; }
constexpr bool take_late() noexcept { return false; }
inline void write_flight() noexcept {}
// Each takes what the one above takes; a caller computes nothing that costs.
THRUM_INLINE void made(sched::machine*, const sched::goroutine&) noexcept {}
THRUM_INLINE void runs(sched::machine&, const sched::goroutine&) noexcept {}
THRUM_INLINE void continues(sched::machine&, const sched::goroutine&) noexcept {}
THRUM_INLINE void switches(sched::machine&, const sched::goroutine&, const sched::goroutine*,
                           bool) noexcept {}
THRUM_INLINE void waits_on(sched::machine&, const void*) noexcept {}
THRUM_INLINE void readied(sched::machine*, const sched::goroutine&) noexcept {}
THRUM_INLINE void readied_all(sched::machine*,
                              const base::intrusive_queue<sched::goroutine>&) noexcept {}
THRUM_INLINE void readied_by_poller(const sched::goroutine&) noexcept {}
THRUM_INLINE void happens(sched::machine&, event_kind, std::uint64_t = 0,
                          std::uint64_t = 0) noexcept {}
THRUM_INLINE void happens_to(const sched::runtime_scheduler&, event_kind, std::uint32_t,
                             std::uint64_t = 0, std::uint64_t = 0) noexcept {}
THRUM_INLINE void labelled(sched::machine*, const sched::goroutine&, std::string_view) noexcept {}
THRUM_INLINE void polled(const sched::runtime_scheduler&, std::size_t) noexcept {}
THRUM_INLINE void procs_changed(const sched::runtime_scheduler&, unsigned) noexcept {}
THRUM_INLINE void idle_began(const sched::runtime_scheduler&, const sched::processor&) noexcept {}
THRUM_INLINE void idle_ended(const sched::runtime_scheduler&, const sched::processor*) noexcept {}

#endif

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
