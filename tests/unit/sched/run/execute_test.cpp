// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/sched/run/execute.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <cstdint>

TEST_CASE("a goroutine that an idle thread begins is the one that runs there, and is counted") {
  thrum::runtime runtime(support::with_procs(1));
  const auto switches = [&] { return runtime.scheduler().ps[0].counts.switches.get(); };
  const auto before = switches();
  struct {
    bool runs_here = false;
    bool is_running = false;
    bool has_started = false;
    decltype(switches()) counted{};
  } seen;
  // Nothing else runs, so no other goroutine hands it the processor.
  runtime.block_on([&] {
    const thrum::sched::section here;
    const thrum::sched::goroutine& g = *here.g();
    seen.runs_here = g.scheduler == &runtime.scheduler();
    seen.is_running = g.status == thrum::sched::g_status::running;
    seen.has_started = (g.flags & thrum::sched::g_started) != 0;
    seen.counted = switches();
  });
  CHECK(seen.runs_here);
  CHECK(seen.is_running);
  CHECK(seen.has_started);
  CHECK(seen.counted > before);
}
