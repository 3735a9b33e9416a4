// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What this_goroutine.hpp declares: the bodies that are not inlined.
#ifndef THRUM_THIS_GOROUTINE_DEFINITION_HPP
#define THRUM_THIS_GOROUTINE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/g.hpp>
#include <thrum/sched/core/priority.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/run/background.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/this_goroutine.hpp>

#include <cstdint>
#include <stop_token>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace this_goroutine {

THRUM_OUT_OF_LINE void name(std::string_view text) noexcept {
  auto* const m = sched::current_m();
  if (m != nullptr && m->g != nullptr) {
    m->g->set_name(text);
  }
}

THRUM_OUT_OF_LINE std::string_view name() noexcept {
  auto* const m = sched::current_m();
  return m != nullptr && m->g != nullptr ? std::string_view(m->g->name) : std::string_view();
}

THRUM_OUT_OF_LINE thrum::priority priority() noexcept {
  auto* const m = sched::current_m();
  return m != nullptr && m->g != nullptr ? m->g->priority() : thrum::priority::normal;
}

THRUM_OUT_OF_LINE void priority(thrum::priority level) noexcept {
  const sched::section here;
  auto* const m = sched::current_m();
  if (m == nullptr || m->g == nullptr) {
    return;
  }
  sched::goroutine& g = *m->g;
  g.flags =
      static_cast<std::uint8_t>((g.flags & ~sched::g_background) | sched::initial_flags(level));
  if (m->p != nullptr) {  // not inside blocking()
    sched::show_priority(*m->p, g);
  }
}

THRUM_OUT_OF_LINE void exit() {
  auto* const m = sched::current_m();
  if (m == nullptr || m->g == nullptr) {
    base::throw_usage("this_goroutine::exit: called outside of a goroutine");
  }
  sched::exit_goroutine();
}

THRUM_OUT_OF_LINE std::stop_token stop_token() noexcept {
  const runtime* const own = runtime::current();
  return own != nullptr ? own->stop_token() : std::stop_token();
}

}}}  // namespace thrum::THRUM_ABI::this_goroutine

#endif
