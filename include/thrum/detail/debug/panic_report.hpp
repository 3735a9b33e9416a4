// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is said when an exception leaves a goroutine.
//
// No handler catches such an exception unless options::on_panic is set. So nothing is unwound: the C++
// runtime finds no handler and calls std::terminate where the exception was thrown, with all
// callers still on the stack. The report is made there. What leaves the main goroutine is thrown on
// by run(), and the caller of run() may catch it; so the place is noted down when it leaves, and
// reported only if nothing has caught it.
#ifndef THRUM_DETAIL_DEBUG_PANIC_REPORT_HPP
#define THRUM_DETAIL_DEBUG_PANIC_REPORT_HPP

#include <thrum/detail/arch/exception_watch.hpp>
#include <thrum/detail/base/append.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/debug/backtrace.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

using namespace base::orders;

#if THRUM_EXCEPTIONS

/// "std::out_of_range" and what it says, of the exception that is being handled.
struct exception_text {
  std::string type = "unknown";
  std::string what = "an exception that is not a std::exception";
};

[[gnu::cold]] inline exception_text describe_current_exception() {
  exception_text text;
  if (const std::type_info* const type = abi::__cxa_current_exception_type()) {
    text.type = os::symbolizer::demangled(type->name());
  }
  try {
    throw;
  } catch (const std::exception& e) {
    text.what = e.what();
  } catch (const goroutine_exit&) {
    text.what =
        "goroutine_exit was thrown in a destructor or another noexcept function, which no "
        "exception may leave; put a thrum::uncancellable there, in whose scope waits continue "
        "although the runtime stops";
  } catch (...) {
  }
  return text;
}

/// The goroutine that a panic is reported of.
struct panic_source {
  goroutine_id id = 0;
  char name[24] = {};
  const void* started_at = nullptr;
  bool is_in_bubble = false;
  std::uint64_t seed = 0;  // of the bubble

  panic_source() = default;
  explicit panic_source(const sched::goroutine& g) noexcept
      : id(g.id), started_at(starting_call(g)), is_in_bubble(g.scheduler->clock.is_virtual()) {
    static_assert(sizeof name == sizeof g.name);
    std::memcpy(name, g.name, sizeof name);
    seed = is_in_bubble ? g.scheduler->clock.own().seed : 0;
  }
};

/// Where the last exception was thrown that has left a main goroutine: it goes on from run(), on
/// another stack, where perhaps no handler catches it.
struct main_exception {
  std::atomic<bool> busy{false};
  const void* thrown = nullptr;
  panic_source source;
  os::call_stack callers;

  void note(const void* object) noexcept {
    const sched::machine* const m = sched::current_m();
    if (m == nullptr || m->g == nullptr || busy.exchange(true, acquire)) {  // [mx.busy <] as a lock
      return;
    }
    os::collect_callers(callers, 0);
    source = panic_source(*m->g);
    thrown = object;
    busy.store(false, release);  // [mx.busy >] as a lock
  }
};

/// What is done about exceptions that leave goroutines.
struct terminate_handling {
  static constexpr std::string_view process_name = "debug::terminate_handling";
  std::atomic<std::terminate_handler> ours{nullptr};
  base::set_once<std::terminate_handler> earlier{nullptr};
  std::atomic<const void*> reported{nullptr};  // the `whose` of the first report
  main_exception left_main;
};

/// Reports the exception that is being handled; does not return. `whose` stands for what panics: a
/// second panic of the same is an exception in its report.
[[noreturn]] THRUM_COLD inline void report_panic(const void* whose, const panic_source& source,
                                                 const os::call_stack& callers) noexcept {
  auto& reporting = os::process_wide<terminate_handling>::get().reported;
  const void* other = nullptr;
  // relaxed: only one reports
  if (!reporting.compare_exchange_strong(other, whose, relaxed, relaxed)) {
    if (other == whose) {
      base::fatal("panic: another exception was thrown while the first one was reported");
    }
    for (;;) {  // the other report ends the program
      os::sleep_ns(1'000'000'000);
    }
  }
  std::string text;
  base::append(text, {"thrum: panic in goroutine ", base::digits(source.id).view()});
  if (source.name[0] != '\0') {
    base::append(text, {" [", source.name, "]"});
  }
  if (source.is_in_bubble) {
    base::append(
        text,
        {" of a bubble (repeat with THRUM_BUBBLE_SEED=", base::digits(source.seed).view(), ")"});
  }
  const exception_text exception = describe_current_exception();
  base::append(text, {": ", exception.what, "\n\ttype ", exception.type, "\n"});
  base::write_error(text);  // the lines take a moment, in which another may end the program
  os::symbolizer symbols;
  std::vector<const void*> places(callers.frames, callers.frames + callers.size);
  places.push_back(source.started_at);
  symbols.find_lines(std::move(places));
  text = describe_callers(symbols, callers.frames, callers.size);
  base::append(text, {"\tstarted in ", describe_place(symbols, source.started_at)});
  base::write_error(text);
  trace_detail::end_with_trouble();
  base::abort_reported();
}

/// Reports what has left a main goroutine if it is the exception that is being handled.
[[gnu::cold]] inline void report_if_left_main(main_exception& left) noexcept {
  const std::exception_ptr current = std::current_exception();
  const void* object = nullptr;
  static_assert(sizeof current == sizeof object);
  // The ABI's libraries keep no more in it. NOLINTNEXTLINE(bugprone-undefined-memory-manipulation)
  std::memcpy(&object, &current, sizeof object);
  if (left.busy.exchange(true, acquire)) {  // [mx.busy <] as a lock
    return;
  }
  if (object != nullptr && object == left.thrown) {
    report_panic(&left, left.source, left.callers);
  }
  left.busy.store(false, release);  // [mx.busy >] as a lock
}

/// Called when the runtime of a main goroutine ends: an exception that has left that goroutine was
/// caught, and its address may be another exception's later.
inline void forget_main_exception() noexcept {
  main_exception& left = os::process_wide<terminate_handling>::get().left_main;
  if (!left.busy.exchange(true, acquire)) {  // [mx.busy <] as a lock
    left.thrown = nullptr;
    left.busy.store(false, release);  // [mx.busy >] as a lock
  }
}

[[gnu::cold]] inline void terminate_in_goroutine() {
  const sched::machine* const m = sched::current_m();
  if (m != nullptr && m->g != nullptr && std::current_exception() != nullptr) {
    os::call_stack callers;
    os::collect_callers(callers, 0);
    report_panic(m->g, panic_source(*m->g), callers);
  }
  report_if_left_main(os::process_wide<terminate_handling>::get().left_main);
  if (const std::terminate_handler earlier =
          os::process_wide<terminate_handling>::get().earlier.get()) {
    earlier();
  }
  std::abort();
}

/// Makes std::terminate in a goroutine report from now on. A terminate handler that
/// the program sets later gets the exceptions instead.
inline void install_panic_report() noexcept {
  auto& known = os::process_wide<terminate_handling>::get();
  const std::terminate_handler handler = os::first_in_process(known.ours, &terminate_in_goroutine);
  arch::observe_exception.set([](const void* thrown) noexcept {
    os::process_wide<terminate_handling>::get().left_main.note(thrown);
  });
  const std::terminate_handler found = std::get_terminate();
  if (found != handler) {
    known.earlier.set(found);
    std::set_terminate(handler);
  }
}

#else

inline void forget_main_exception() noexcept {}

inline void install_panic_report() noexcept {}

#endif

}}}  // namespace thrum::THRUM_ABI::debug

#endif
