// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Making a goroutine: a G with its stack, an id, a first frame, and onto a queue.
//
// On a P whose free list holds a G nothing is allocated and no lock is taken: the G, its stack and
// the place for the callable are all warm from their last use.
#ifndef THRUM_DETAIL_SCHED_RUN_START_HPP
#define THRUM_DETAIL_SCHED_RUN_START_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/run/inherit_labels.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/sched/run/switch.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The first function on a fresh stack.
inline void goroutine_main(void* pass, void* argument) {
  auto& g = *static_cast<goroutine*>(argument);
  auto* m = static_cast<machine*>(pass);
  arrive(*m, g.context);
  *m->error_number = 0;  // as on a fresh thread
  leave_scheduler(*m);
  g.entry(g);
  base::fatal(
      "goroutine: its entry function has returned, which only the library can cause; report it");
}

/// The M if it holds a P of that scheduler, else null.
THRUM_INLINE machine* m_of(const runtime_scheduler& scheduler, machine* m) noexcept {
  return m != nullptr && m->p != nullptr && m->scheduler == &scheduler ? m : nullptr;
}

/// The calling M if it holds a P of that scheduler, else null. Inside; timers call it on g0.
inline machine* m_of(const runtime_scheduler& scheduler) noexcept {
  return m_of(scheduler, current_m());
}

THRUM_COLD inline goroutine* refill_free_list(machine& m) noexcept {
  auto& free = m.p->free_gs;
  if (!free.reload()) {
    free.load(m.scheduler->pool->take_chunk(m.scheduler->config().stack_class));
  }
  goroutine* const g = free.take();
  return g != nullptr ? g : m.scheduler->pool->take(m.scheduler->config().stack_class);
}

/// Starts loading what a G that will be started soon writes first: its head, what a start and an end touch,
/// and its first frames.
THRUM_INLINE void prefetch_fresh(const goroutine& g) noexcept {
  const char* const top = reinterpret_cast<const char*>(&g);
  __builtin_prefetch(top, 1);
  __builtin_prefetch(&g.id, 1);
  __builtin_prefetch(top - 64, 1);
  __builtin_prefetch(top - 128, 1);
  __builtin_prefetch(top - 192, 1);
}

/// A dead G, or null when the system has no memory for another stack, or make_g may have it. `m` as from
/// m_of.
THRUM_INLINE goroutine* take_g(runtime_scheduler& scheduler, machine* m,
                               std::uint8_t size_class) noexcept {
  if (m == nullptr || size_class != scheduler.config().stack_class) [[unlikely]] {
    return scheduler.pool->take(size_class);
  }
  if (goroutine* g = m->p->free_gs.take()) [[likely]] {
    if (goroutine* const after = m->p->free_gs.front()) {
      prefetch_fresh(*after);
    }
    return g;
  }
  return refill_free_list(*m);
}

/// Takes a dead G of those that idle Ps keep to themselves, or null; gives their others to the pool.
THRUM_COLD inline goroutine* take_from_idle_ps(runtime_scheduler& scheduler) noexcept {
  base::intrusive_queue<goroutine> all;
  {
    scoped guard(scheduler.idle.lock());
    scheduler.idle.for_each_p_locked([&](processor& p) { all.append(p.free_gs.take_all()); });
  }
  goroutine* const g = all.pop_front();
  scheduler.pool->put(scheduler.config().stack_class, static_cast<decltype(all)&&>(all));
  return g;
}

/// A G where take_g gives none because stacks come from hooks: a fresh one, or, if there is no memory for
/// it, one that an idle P keeps. Null: there is none, or there are no hooks. Goes outside meanwhile (SC2):
/// afterwards the caller may be on another M.
THRUM_COLD inline goroutine* make_g(section& here, runtime_scheduler& scheduler,
                                    std::uint8_t size_class) {
  goroutine* g = nullptr;
  if (scheduler.pool->has_hooks()) {
    THRUM_ASSERT(SC2, here.can_go_outside());
    here.outside([&] { g = scheduler.pool->make(size_class); });
    if (g == nullptr && size_class == scheduler.config().stack_class) {
      g = take_from_idle_ps(scheduler);
    }
  }
  return g;
}

/// Whether a goroutine with the usual stack can be started without a call of a hook. On g0, or no M.
inline bool has_stack_at_hand(runtime_scheduler& scheduler) noexcept {
  if (!scheduler.pool->has_hooks()) [[likely]] {
    return true;
  }
  machine* const m = m_of(scheduler);
  if (m == nullptr) {
    return false;
  }
  auto& free = m->p->free_gs;
  if (free.size() == 0) {
    free.load(scheduler.pool->take_chunk(scheduler.config().stack_class));
  }
  return free.size() != 0;
}

/// Gives a G back that take_g gave and that was not launched.
inline void untake_g(runtime_scheduler& scheduler, goroutine& g) noexcept {
  base::context_destroy(g.context);
  base::intrusive_queue<goroutine> one;
  one.push_back(&g);
  scheduler.pool->put(g.size_class, static_cast<decltype(one)&&>(one));
}

/// Makes the top of the goroutine's stack usable, as far as a task of so many bytes and the first frame
/// reach. False: there is no memory.
inline bool open_for_task(goroutine& g, std::size_t bytes, std::size_t alignment) noexcept {
  constexpr std::size_t frame_bytes = 1024;
  return g.extent.reach(g.stack_low, reinterpret_cast<char*>(&g) - bytes - alignment - frame_bytes);
}

/// Room for `bytes` at the top of the goroutine's stack.
inline void* reserve_task(goroutine& g, std::size_t bytes, std::size_t alignment) noexcept {
  auto* const top = reinterpret_cast<char*>(&g);
  base::context_create(g.context, g.stack_low, static_cast<std::size_t>(top - g.stack_low));
  const std::size_t align = alignment > arch::stack_alignment ? alignment : arch::stack_alignment;
  const auto address = (reinterpret_cast<std::uintptr_t>(top) - bytes) & ~(align - 1);
  g.task = reinterpret_cast<void*>(address);
  return g.task;
}

inline goroutine_id next_id(runtime_scheduler& scheduler, machine* m) noexcept {
  if (m == nullptr) {
    return scheduler.take_ids(1);
  }
  processor& p = *m->p;
  if (p.next_id == p.last_id) [[unlikely]] {
    p.next_id = scheduler.take_ids(traits::id_batch);
    p.last_id = p.next_id + traits::id_batch;
  }
  return p.next_id++;
}

/// Readies the first frame of a G with a task. `id`, `entry`, `discard_result` and `join` are set.
THRUM_INLINE void prepare_launch(runtime_scheduler& scheduler, goroutine& g,
                                 std::uint8_t flags = 0) noexcept {
  g.scheduler = &scheduler;
  g.exceptions = {};
  g.exiting = false;
  g.moved_much = false;
  g.wakes_earned = 0;
  g.uncancellable = 0;
  g.flags = flags;
  g.sp.set(
      arch::prepare_stack(g.task, {g.stack_low, g.extent.limit(g.stack_low)}, &goroutine_main, &g));
}

/// Lets a G run that is ready for it. `flags`: those of g, which the compiler mostly knows.
THRUM_INLINE void launch_prepared(runtime_scheduler& scheduler, machine* m, goroutine& g,
                                  std::uint8_t flags) noexcept {
  trace_detail::made(m, g);
  if (m != nullptr) [[likely]] {
    m->p->counts.created.add();
    ready_next(*m, g, flags);
  } else {
    scheduler.count_created_elsewhere();
    ready_elsewhere(g);
  }
}

/// launch() in a program with labels: a function of its own, so that launch() keeps nothing for it.
THRUM_COLD inline void launch_labelled(runtime_scheduler& scheduler, machine* m, goroutine& g,
                                       std::uint8_t flags) noexcept {
  prepare_launch(scheduler, g, flags);
  inherit_labels(g);
  launch_prepared(scheduler, m, g, flags);
}

/// Lets a G with a task run, which is set as for prepare_launch.
THRUM_INLINE void launch(runtime_scheduler& scheduler, machine* m, goroutine& g,
                         std::uint8_t flags = 0) noexcept {
  if (has_labels.get()) [[unlikely]] {
    launch_labelled(scheduler, m, g, flags);
    return;
  }
  prepare_launch(scheduler, g, flags);
  launch_prepared(scheduler, m, g, flags);
}

/// Lets a G with a task run on the host's thread `where` only.
THRUM_COLD inline void launch_on(host_thread& where, runtime_scheduler& scheduler, machine* m,
                                 goroutine& g) noexcept {
  prepare_launch(scheduler, g);
  g.bound = &where.m;
  g.flags = g_bound | g_on_host;
  inherit_labels(g);
  trace_detail::made(m, g);
  if (m != nullptr) {
    m->p->counts.created.add();
  } else {
    scheduler.count_created_elsewhere();
  }
  ready_on_host(g);
}

/// What a goroutine is made for.
struct task_form {
  std::size_t size;
  std::size_t alignment;
  void (*run)(goroutine&);
  void (*discard)(goroutine&) noexcept;
  join_state join;
};

/// A goroutine from its making to its launch, inside. A program starts goroutines in many places: what does
/// not depend on the type of the task stands in functions that are compiled once.
class fresh_goroutine {
 public:
  /// With room for a task. std::system_error if there is no memory for its stack.
  fresh_goroutine(section& here, runtime_scheduler& scheduler, const task_form& form,
                  std::size_t stack_size, std::string_view name);
  fresh_goroutine(const fresh_goroutine&) = delete;
  fresh_goroutine& operator=(const fresh_goroutine&) = delete;
  THRUM_INLINE ~fresh_goroutine() {
    if (g_ != nullptr) [[unlikely]] {
      give_back(scheduler_, *g_);
    }
  }

  /// Builds the task. What is built may allocate, so that happens outside, unless it cannot throw.
  template <class Task, class... From>
  THRUM_INLINE void build(From&&... from) {
    void* const place = g_->task;
    if constexpr (noexcept(::new (place) Task{std::forward<From>(from)...})) {
      ::new (place) Task{std::forward<From>(from)...};
    } else {
      const bool stepped = here_.step_outside();
      ::new (place) Task{std::forward<From>(from)...};
      if (stepped) {
        here_.step_inside();
      }
      m_ = m_of(scheduler_);
    }
  }

  goroutine& g() const noexcept { return *g_; }

  /// Lets it run. `caller` is where it was started, for reports.
  void launch(const void* caller, std::uint8_t flags) noexcept;
  /// Lets it run on the host's thread `where` only.
  void launch_on(const void* caller, host_thread& where) noexcept;

 private:
  // Given what they need, rather than the object, which can so be kept in registers.
  static goroutine* make(section& here, runtime_scheduler& scheduler, std::uint8_t size_class);
  [[noreturn]] static void fail(section& here);
  static void give_back(runtime_scheduler& scheduler, goroutine& g) noexcept;

  section& here_;
  runtime_scheduler& scheduler_;
  machine* m_;
  goroutine* g_;
};

THRUM_INLINE fresh_goroutine::fresh_goroutine(section& here, runtime_scheduler& scheduler,
                                              const task_form& form, std::size_t stack_size,
                                              std::string_view name)
    : here_(here), scheduler_(scheduler), m_(m_of(scheduler, here.thread_m())) {
  std::uint8_t size_class = scheduler.config().stack_class;
  if (stack_size != 0) [[unlikely]] {
    size_class = usable_stack_class(stack_size);
  }
  // A task that is large beside its stack gets a larger stack.
  if (form.size > (std::size_t{1} << min_stack_class) / 4) {
    const std::uint8_t needed = usable_stack_class(form.size * 4);
    size_class = needed > size_class ? needed : size_class;
  }
  g_ = take_g(scheduler, m_, size_class);
  if (g_ == nullptr) [[unlikely]] {
    g_ = make(here_, scheduler, size_class);
    m_ = m_of(scheduler);
  }
  if (!open_for_task(*g_, form.size, form.alignment)) [[unlikely]] {
    untake_g(scheduler, *g_);
    fail(here_);
  }
  reserve_task(*g_, form.size, form.alignment);
  g_->id = next_id(scheduler, m_);
  g_->entry = form.run;
  g_->discard_result = form.discard;
  g_->join.set(form.join);
  if (name.empty()) [[likely]] {
    g_->name[0] = '\0';
  } else {
    g_->set_name(name);
  }
}

/// Where no dead G is at hand.
THRUM_COLD inline goroutine* fresh_goroutine::make(section& here, runtime_scheduler& scheduler,
                                                   std::uint8_t size_class) {
  goroutine* const g = make_g(here, scheduler, size_class);
  if (g == nullptr) {
    fail(here);
  }
  return g;
}

THRUM_COLD inline void fresh_goroutine::fail(section& here) {
  here.step_outside();
  base::throw_system(os::error_code_of(os::no_memory),
                     "go: no memory for the stack of another goroutine; raise the memory limit, "
                     "vm.max_map_count, vm.overcommit_ratio or what options::memory gives, or "
                     "start fewer");
}

/// The constructor of a task has thrown.
THRUM_COLD inline void fresh_goroutine::give_back(runtime_scheduler& scheduler,
                                                  goroutine& g) noexcept {
  const section here;
  untake_g(scheduler, g);
}

THRUM_INLINE void fresh_goroutine::launch(const void* caller, std::uint8_t flags) noexcept {
  goroutine& g = *std::exchange(g_, nullptr);
  g.started_at = caller;
  sched::launch(scheduler_, m_, g, flags);
}

THRUM_COLD inline void fresh_goroutine::launch_on(const void* caller, host_thread& where) noexcept {
  goroutine& g = *std::exchange(g_, nullptr);
  g.started_at = caller;
  sched::launch_on(where, scheduler_, m_, g);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
