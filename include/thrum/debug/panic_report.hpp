// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What is said when an exception leaves a goroutine.
//
// Nobody catches such an exception unless options::on_panic is set. So nothing is unwound: the C++
// runtime finds no handler and calls std::terminate where the exception was thrown, with all
// callers still on the stack. The report is made there.
#ifndef THRUM_DEBUG_PANIC_REPORT_HPP
#define THRUM_DEBUG_PANIC_REPORT_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/fatal.hpp>
#include <thrum/base/order.hpp>
#include <thrum/debug/backtrace.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/current.hpp>
#include <thrum/sched/uncancellable.hpp>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace thrum::inline THRUM_ABI::debug {

using namespace base::orders;

#if THRUM_EXCEPTIONS

/// "std::out_of_range" and what it says, of the exception that is being handled.
struct exception_text {
  std::string type = "unknown";
  std::string what = "an exception that is not a std::exception";
};

inline exception_text describe_current_exception() {
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
        "told to end, but it waits in a destructor or another noexcept function, which no "
        "exception "
        "may leave; put a thrum::uncancellable there, in whose scope a wait goes on though the "
        "runtime stops";
  } catch (...) {
  }
  return text;
}

/// What is done about exceptions that leave goroutines.
struct terminate_handling {
  static constexpr std::string_view process_name = "debug::terminate_handling";
  std::atomic<std::terminate_handler> ours{nullptr};
  std::atomic<std::terminate_handler> earlier{nullptr};
  std::atomic<const void*> reported{nullptr};
};

/// Reports the exception that is being handled; does not return.
template <class Traits>
[[noreturn]] THRUM_COLD void report_panic(const sched::basic_g<Traits>& g) noexcept {
  auto& reporting = os::process_wide<terminate_handling>::get().reported;
  const void* other = nullptr;
  // relaxed: one reports
  if (!reporting.compare_exchange_strong(other, &g, relaxed, relaxed)) {
    if (other == &g) {
      base::fatal("panic: another exception while the first one was reported");
    }
    for (;;) {  // the other report ends the program
      os::sleep_ns(1'000'000'000);
    }
  }
  os::call_stack callers;
  os::collect_callers(callers, 0);
  std::string text = "thrum: panic in goroutine " + std::to_string(g.id);
  if (g.name[0] != '\0') {
    text.append(" [").append(g.name).append("]");
  }
  const exception_text exception = describe_current_exception();
  text.append(": ").append(exception.what).append("\n\ttype ").append(exception.type).append("\n");
  os::symbolizer symbols;
  text.append(describe_callers(symbols, callers.frames, callers.size));
  text.append("\tstarted in ").append(symbols.describe(g.started_at)).append("\n");
  base::write_error(text);
  std::abort();
}

template <class Traits>
void terminate_in_goroutine() {
  const sched::basic_m<Traits>* const m = sched::current_m<Traits>();
  if (m != nullptr && m->g != nullptr && std::current_exception() != nullptr) {
    report_panic(*m->g);
  }
  // relaxed: set before we were installed
  if (const std::terminate_handler earlier =
          os::process_wide<terminate_handling>::get().earlier.load(relaxed)) {
    earlier();
  }
  std::abort();
}

/// From now on std::terminate in a goroutine reports. Who sets another handler later sees the
/// exceptions himself.
template <class Traits>
void install_panic_report() noexcept {
  auto& known = os::process_wide<terminate_handling>::get();
  std::terminate_handler handler = nullptr;
  // relaxed: a constant once set
  if (known.ours.compare_exchange_strong(handler, &terminate_in_goroutine<Traits>, relaxed,
                                         relaxed)) {  // relaxed: as above
    handler = &terminate_in_goroutine<Traits>;
  }
  const std::terminate_handler found = std::get_terminate();
  if (found != handler) {
    known.earlier.store(found, relaxed);  // relaxed: as where it is read
    std::set_terminate(handler);
  }
}

#else

template <class Traits>
void install_panic_report() noexcept {}

#endif

}  // namespace thrum::inline THRUM_ABI::debug

#endif
