// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where the threads of all runtimes compute: samples by timers of their CPU time.
//
// Purpose
//   A thread of a runtime has computed for a period, say 10 ms. Its timer sends it a signal. The handler notes which
//   goroutine it has interrupted, where that was started, and its callers.
//
// State
//   sampled_thread: the timer of a thread, and a ring of samples. The handler writes, the sampler's thread reads. Both
//   are made by the sampler's thread, which looks for new threads at intervals; they stay for ever.
//
// Invariants
//   CP1  the handler allocates and locks nothing, reads only the interrupted goroutine's stack, and waits for nothing:
//        a full ring drops the sample, and counts it.
//   CP2  one handler at a time writes to a ring. A timer that was closed may have a signal on its way, to a
//        thread that had the ring before: the handler sees by the key that the ring is another's now.
//
// The sampler's thread makes nothing runnable, so deadlocks are reported while it runs.
//
// Threads of hosts are left out: they need not have a signal stack.
#ifndef THRUM_DETAIL_PROFILE_CPU_SAMPLER_HPP
#define THRUM_DETAIL_PROFILE_CPU_SAMPLER_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/random.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/cpu_timer.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/profile/samples.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>
#include <thrum/detail/sched/freeze/freeze_holder.hpp>
#include <thrum/detail/sched/life/registry.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace profile_detail {

using namespace base::orders;

struct cpu_sample {
  bool in_goroutine = false;
  std::uint32_t periods = 0;
  const void* started_at = nullptr;
  char name[sched::goroutine::name_capacity] = {};
  sched::label_list* labels = nullptr;  // which the sample holds
  os::call_stack callers;
};

struct sampled_thread {
  static constexpr std::uint32_t capacity = 64;

  // -- the sampler's thread --
  std::uint64_t number = 0;  // of the thread; 0: the ring is free
  std::uint32_t opened = 0;  // how often
  bool is_alive = false;
  os::cpu_timer timer;

  std::atomic<std::uint32_t> key{0};  // that its signals must have
  std::atomic<bool> is_written{false};
  base::shared_figure<std::uint64_t> dropped{0};  // periods
  base::shared_figure<std::uint32_t> put_off{0};  // periods, for the next sample
  std::atomic<std::uint32_t> written{0};
  std::atomic<std::uint32_t> read{0};
  cpu_sample ring[capacity];
};

class cpu_sampler {
 public:
  static constexpr unsigned most_threads = 1024;

  /// The only one; for ever.
  static cpu_sampler& get() {
    static cpu_sampler* const only = new cpu_sampler();
    return *only;
  }

  /// Begins. One thread at a time begins and ends.
  void begin(unsigned rate) {
    if constexpr (!os::cpu_timer::exists) {
      base::throw_system(std::make_error_code(std::errc::not_supported),
                         "start_cpu_profile: this build has no timers of a thread's CPU time; use "
                         "a profiler of the system");
    }
    if (rate == 0 || rate > 10'000) {
      base::throw_usage("start_cpu_profile: the rate must be between 1 and 10000 samples a second");
    }
    if (is_on_.exchange(true, acquire)) {  // [cp.on <] acquire: what the last one has left
      base::throw_usage("start_cpu_profile: a profile is being made; call stop_cpu_profile first");
    }
    int error = 0;
    period_ns_ = 1'000'000'000 / rate;
    found_ = {};
    lost_ = 0;
    found_.first = {"samples", "count"};
    found_.second = {"cpu", "nanoseconds"};
    found_.shown = shown_frames::innermost;
    found_.taken_at_ns = wall_clock_ns();
    began_at_ = os::now();
    os::prepare_walks();
    if (!os::cpu_timer::install(&handle)) {
      error = ENOTSUP;
    } else {
      look();                       // the thread may have to wait for a CPU
      ends_.store(false, relaxed);  // relaxed: the start of the thread orders it
      has_ended_.clear();           // of the profile before this one
      error = os::start_detached_thread(
          [](void* self) -> void* {
            auto& own = *static_cast<cpu_sampler*>(self);
            own.run();
            own.has_ended_.wake();
            return nullptr;
          },
          this);
    }
    if (error != 0) {
      close_all();
      is_on_.store(false, release);  // [cp.on >] release: nothing has begun
      base::throw_system(std::error_code(error, std::generic_category()),
                         error == ENOTSUP
                             ? "start_cpu_profile: the program handles each real-time signal"
                             : "start_cpu_profile: no thread for the samples");
    }
    has_begun_ = true;
  }

  /// Ends, and returns the samples. Blocks the thread.
  samples end() {
    if (!has_begun_) {
      base::throw_usage("stop_cpu_profile: no profile is being made; call start_cpu_profile first");
    }
    ends_.store(true, relaxed);  // relaxed: the thread looks again soon
    has_ended_.sleep();
    has_begun_ = false;
    samples all = std::move(found_);
    all.duration_ns = static_cast<std::uint64_t>(os::now() - began_at_);
    all.period = static_cast<std::uint64_t>(period_ns_);
    const std::uint64_t lost = std::exchange(lost_, 0);
    is_on_.store(false, release);  // [cp.on >] release: all is as it was
    if (lost != 0) {
      sample_kind dropped;
      dropped.state = "dropped";
      all.add(std::move(dropped), lost, lost * all.period);
    }
    return all;
  }

 private:
  /// The sampler's thread.
  void run() {
    const os::passive_thread_scope makes_nothing_runnable;
    os::set_thread_name("thrum/profile");
    while (!ends_.load(relaxed)) {  // relaxed: it looks again soon
      look();
      os::sleep_ns(10'000'000);
    }
    close_all();
  }

  void close_all() noexcept {
    for (unsigned i = 0; i != used_; ++i) {
      sampled_thread& each =
          *all_[i].load(relaxed);  // relaxed: a sampler has written it, one at a time
      close(each);
      collect(each);
    }
  }

  /// Gives each new thread a timer, and collects samples. Without memory a thread has to wait, and samples are lost.
  void look() noexcept {
    for (unsigned i = 0; i != used_; ++i) {
      all_[i].load(relaxed)->is_alive = false;  // relaxed: a sampler has written it, one at a time
    }
    sched::registry::for_each([this](sched::runtime_scheduler& scheduler) {
      const unsigned made = scheduler.ms.made();
      for (unsigned i = 0; i < made; ++i) {
        keep(os::number_of(scheduler.ms[i].self));
      }
    });
    for (unsigned i = 0; i != used_; ++i) {
      sampled_thread& each =
          *all_[i].load(relaxed);  // relaxed: a sampler has written it, one at a time
      if (each.number != 0 && !each.is_alive) {
        close(each);
      }
      collect(each);
    }
  }

  /// A thread is there: it has a timer from now on.
  void keep(std::uint64_t number) noexcept {
    if (number == 0) {
      return;
    }
    unsigned free = used_;
    for (unsigned i = 0; i != used_; ++i) {
      sampled_thread& each =
          *all_[i].load(relaxed);  // relaxed: a sampler has written it, one at a time
      if (each.number == number) {
        each.is_alive = true;
        return;
      }
      free = each.number == 0 && free == used_ ? i : free;
    }
    if (free == most_threads) {
      return;
    }
    if (free == used_) {
      auto* const made = new (std::nothrow) sampled_thread();
      if (made == nullptr) {
        return;
      }
      all_[free].store(made, release);  // [cp.all >] release: the ring
      ++used_;
    }
    sampled_thread& each =
        *all_[free].load(relaxed);  // relaxed: a sampler has written it, one at a time
    const std::uint32_t key = free | ++each.opened * most_threads;
    each.key.store(key, release);  // [cp.key >] release: the ring is empty
    // The first sample comes somewhere in the first period: a short profile has its share of samples, too.
    const std::int64_t first_ns = 1 + random_.below(static_cast<std::uint32_t>(period_ns_));
    if (each.timer.open(number, key, first_ns, period_ns_)) {
      each.number = number;
      each.is_alive = true;
    } else {
      each.key.store(0, release);  // [cp.key >] release: as in close()
    }
  }

  static void close(sampled_thread& each) noexcept {
    each.timer.close();
    each.number = 0;
    const std::uint32_t put_off = each.put_off.get();
    each.put_off.take(put_off);
    each.dropped.add(put_off);
    each.key.store(0, release);  // [cp.key >] release: signals on their way find no ring
  }

  void collect(sampled_thread& from) noexcept {
    const std::uint32_t written = from.written.load(acquire);  // [cp.ring <] acquire: the samples
    std::uint32_t read = from.read.load(relaxed);              // relaxed: this thread writes it
    for (; read != written; ++read) {
      const cpu_sample& each = from.ring[read % sampled_thread::capacity];
      THRUM_TRY { add(each); }
      THRUM_CATCH_ALL { lost_ += each.periods; }
      if (each.labels != nullptr) {
        each.labels->let_go();
      }
    }
    from.read.store(read, release);  // [cp.read >] release: the room
    if (const std::uint64_t dropped = from.dropped.get(); dropped != 0) {
      from.dropped.take(dropped);
      lost_ += dropped;
    }
  }

  void add(const cpu_sample& each) {
    sample_kind kind;
    kind.frames.assign(each.callers.frames, each.callers.frames + each.callers.size);
    kind.started_at = each.started_at;
    kind.name = each.name;
    kind.state = each.in_goroutine ? "" : "scheduler";
    if (each.labels != nullptr) {
      kind.add_labels(*each.labels);
    }
    found_.add(std::move(kind), each.periods,
               each.periods * static_cast<std::uint64_t>(period_ns_));
  }

  /// CP1
  THRUM_NO_TSAN static void handle(const os::cpu_timer_signal& signal) noexcept {
    sampled_thread* const to =
        all_[signal.value % most_threads].load(acquire);  // [cp.all <] acquire: the ring
    if (to == nullptr) {
      return;
    }
    if (to->is_written.exchange(true, acquire)) {  // [cp.writer <] acquire: the other's sample
      to->dropped.add(signal.periods);
      return;
    }
    if (to->key.load(acquire) == signal.value) {  // [cp.key <] acquire: CP2
      write(*to, signal);
    }
    to->is_written.store(false, release);  // [cp.writer >] release: the sample
  }

  THRUM_NO_TSAN static void write(sampled_thread& to, const os::cpu_timer_signal& signal) noexcept {
    const std::uint32_t at = to.written.load(relaxed);  // relaxed: no other writes now
    // [cp.read <] acquire: the room
    if (at - to.read.load(acquire) == sampled_thread::capacity) {
      to.dropped.add(signal.periods);
      return;
    }
    const void* context = signal.context;
    auto registers = arch::interrupted_registers(os::machine_state(context));
    const auto is_in_handler = [&] {
      const std::uintptr_t sp = registers.value[arch::frame_registers::sp];
      return sp > signal.signals_low && sp <= signal.signals_high;
    };
    if (is_in_handler()) {
      // A signal for the goroutine came together with this one.
      context = os::cpu_timer::outer_context(context, registers.value[arch::frame_registers::sp]);
      if (context != nullptr) {
        registers = arch::interrupted_registers(os::machine_state(context));
      }
      if (context == nullptr || is_in_handler()) {
        // The next sample finds the goroutine near to where it is now, because it keeps its thread.
        to.put_off.add(signal.periods);
        return;
      }
    }
    const std::uint32_t put_off = to.put_off.get();
    to.put_off.take(put_off);
    cpu_sample& sample = to.ring[at % sampled_thread::capacity];
    sample.periods = signal.periods + put_off;
    sample.started_at = nullptr;
    sample.name[0] = '\0';
    sample.labels = nullptr;
    sample.callers.size = 0;
    const sched::machine* const m = sched::current_m();
    const sched::goroutine* const g = m == nullptr ? nullptr : m->g;
    sample.in_goroutine = g != nullptr;
    if (g != nullptr) {
      sample.started_at = debug::starting_call(*g);
      for (std::size_t i = 0; i + 1 != sizeof sample.name; ++i) {
        sample.name[i] = const_cast<const volatile char&>(g->name[i]);
      }
      sample.name[sizeof sample.name - 1] = '\0';
      if (sched::label_list* const labels = g->labels) {
        labels->hold();  // the goroutine holds them, and stands still
        sample.labels = labels;
      }
      sched::walk_interrupted(context, sched::stack_of(*g), sample.callers);
    }
    if (sample.callers.size == 0) {  // on another stack
      sample.callers.frames[sample.callers.size++] = reinterpret_cast<const void*>(registers.pc);
    }
    to.written.store(at + 1, release);  // [cp.ring >] release: the sample
  }

  /// A handler comes to them without a guard of a static local.
  static inline constinit std::atomic<sampled_thread*> all_[most_threads]{};

  base::random random_{static_cast<std::uint64_t>(os::now())};
  unsigned used_ = 0;  // rings that were made
  std::int64_t period_ns_ = 0;
  std::int64_t began_at_ = 0;
  samples found_;
  std::uint64_t lost_ = 0;  // periods
  os::note has_ended_;
  bool has_begun_ = false;
  std::atomic<bool> is_on_{false};
  std::atomic<bool> ends_{false};
};

}}}  // namespace thrum::THRUM_ABI::profile_detail

#endif
