// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// debug/tracy: goroutines as fibers of the Tracy profiler (github.com/wolfpld/tracy).
//
//   // in every source file: -DTHRUM_TRACE=1 -DTRACY_ENABLE -DTRACY_FIBERS; link TracyClient.cpp
//   #include <thrum/debug/tracy.hpp>
//
//   int main() {
//     thrum::debug::start_tracy_fibers();  // before the first runtime
//     return thrum::run([] { ... });
//   }
//
// A ZoneScoped in a goroutine may then span waits: its zone stands in the goroutine's own track, whichever threads
// run it. Define the macros for Tracy's own files, too. Without TRACY_ENABLE start_tracy_fibers() does nothing. The header includes
// <tracy/Tracy.hpp>, unless the source file has included Tracy's header before.
//
// A track has the name that the goroutine had at its first run, and a number: "worker 3". A goroutine that ends gives its
// track to the next one of its name, as Tracy keeps a track for good.
#ifndef THRUM_DEBUG_TRACY_HPP
#define THRUM_DEBUG_TRACY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/trace.hpp>

#ifdef TRACY_ENABLE

#ifndef TRACY_FIBERS
#error "thrum: <thrum/debug/tracy.hpp> needs TRACY_FIBERS beside TRACY_ENABLE in every source file"
#endif
#ifndef TracyFiberEnter
#include <tracy/Tracy.hpp>
#endif

#include <cstddef>
#include <cstdio>
#include <functional>
#include <mutex>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

namespace tracy_detail {

/// A track. Tracy knows it by the address of its text, and may read the text at any time: it stays for good.
struct track {
  struct family* of = nullptr;
  track* next = nullptr;  // while no goroutine has it
  char text[40] = {};
};

/// The tracks of one name.
struct family {
  family* next = nullptr;
  track* free = nullptr;
  unsigned count = 0;
  char name[24] = {};
};

/// All tracks. Without exceptions: the scheduler calls.
class tracks {
 public:
  /// Null: there is no memory.
  track* take(std::string_view name) noexcept {
    const std::lock_guard held(mutex_);
    family* const of = find(name.empty() ? std::string_view("goroutine") : name);
    if (of == nullptr) {
      return nullptr;
    }
    track* taken = of->free;
    if (taken != nullptr) {
      of->free = taken->next;
      return taken;
    }
    taken = new (std::nothrow) track;
    if (taken != nullptr) {
      taken->of = of;
      std::snprintf(taken->text, sizeof taken->text, "%s %u", of->name, ++of->count);
    }
    return taken;
  }

  void give_back(track& own) noexcept {
    const std::lock_guard held(mutex_);
    own.next = own.of->free;
    own.of->free = &own;
  }

 private:
  family* find(std::string_view name) noexcept {
    family*& first = by_name_[std::hash<std::string_view>()(name) % buckets];
    for (family* each = first; each != nullptr; each = each->next) {
      if (each->name == name) {
        return each;
      }
    }
    auto* const made = new (std::nothrow) family;
    if (made != nullptr) {
      name.copy(made->name, sizeof made->name - 1);
      made->next = first;
      first = made;
    }
    return made;
  }

  static constexpr std::size_t buckets = 256;
  std::mutex mutex_;
  family* by_name_[buckets] = {};
};

inline void show(const trace::switch_step& step) noexcept {
  static tracks& all = *new tracks();  // for good: goroutines may run while the process ends
  using kind = trace::switch_step::kind;
  auto* own = static_cast<track*>(step.own);
  if (step.what == kind::enters) {
    if (own == nullptr) {
      step.own = own = all.take(step.name);
    }
    if (own != nullptr) {
      TracyFiberEnter(own->text);
    }
    return;
  }
  TracyFiberLeave;
  if (step.what == kind::ends && own != nullptr) {
    all.give_back(*own);
  }
}

}  // namespace tracy_detail

namespace debug {

/// Tells Tracy when a goroutine runs, by trace::on_switch, whose rules hold: call it before the first runtime is
/// made; goroutines are not interrupted then. usage_error if there is a runtime, or without THRUM_TRACE=1.
inline void start_tracy_fibers() { trace::on_switch(&tracy_detail::show); }

}  // namespace debug

}}  // namespace thrum::THRUM_ABI

#else

namespace thrum { inline namespace THRUM_ABI { namespace debug {

inline void start_tracy_fibers() {}

}}}  // namespace thrum::THRUM_ABI::debug

#endif

#endif
