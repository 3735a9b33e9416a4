// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/current.hpp>

#include "support/bare_scheduler.hpp"
#include "support/test.hpp"

using thrum::sched::current_m;
using thrum::sched::is_goroutine;

namespace {

/// By whoever sets the M of a thread.
std::atomic<thrum::sched::machine*> told_m{nullptr};

}  // namespace

TEST_CASE("a thread has the M that it has set, and other threads do not have it") {
  support::bare_scheduler scheduler(1);
  CHECK(current_m() == nullptr);
  const auto m = scheduler.stray_m();
  thrum::sched::set_current_m(m.get());
  const bool is_mine = current_m() == m.get();
  bool has_none = false;
  std::thread([&] { has_none = current_m() == nullptr; }).join();
  thrum::sched::set_current_m(nullptr);
  CHECK(is_mine);
  CHECK(has_none);
  CHECK(current_m() == nullptr);
}

TEST_CASE("a thread's M is stored under the key of all shared objects, and removed at its end") {
  const auto& key = thrum::os::process_wide<thrum::sched::current_key>::get().key;
  support::bare_scheduler scheduler(1);
  const auto m = scheduler.stray_m();
  thrum::sched::set_current_m(m.get());
  const bool is_known = key.get() == m.get();
  thrum::sched::set_current_m(nullptr);
  CHECK(is_known);
  CHECK(key.get() == nullptr);
}

#if !THRUM_SHARED_OBJECT

TEST_CASE("the executable asks to be told of a thread's M, and takes it over") {
  auto& known = thrum::os::process_wide<thrum::sched::current_key>::get();
  auto* const tell = known.tell_executable.load();
  REQUIRE(tell != nullptr);
  support::bare_scheduler scheduler(1);
  const auto m = scheduler.stray_m();
  tell(m.get());
  const bool was_told = current_m() == m.get();
  tell(nullptr);
  CHECK(was_told);
  CHECK(current_m() == nullptr);
}

#endif

TEST_CASE("a thread that sets its M knows it by itself, and tells the executable") {
  auto& known = thrum::os::process_wide<thrum::sched::current_key>::get();
  support::bare_scheduler scheduler(1);
  const auto m = scheduler.stray_m();
  auto* const before = known.tell_executable.exchange(
      [](thrum::sched::machine* of_this_thread) noexcept { told_m = of_this_thread; });
  thrum::sched::set_current_m(m.get());
  const bool knows = current_m() == m.get();
  const bool has_told = told_m == m.get();
  thrum::sched::set_current_m(nullptr);
  known.tell_executable.store(before);
  CHECK(knows);
  CHECK(has_told);
  CHECK(told_m == nullptr);
}

TEST_CASE("a thread counts as a goroutine only while it runs one that has a processor") {
  bool with_both = false;
  bool without_p = true;
  bool on_g0 = true;
  {
    support::bare_scheduler scheduler(1);
    support::pretended_m m(scheduler);
    with_both = is_goroutine();
    m->p = nullptr;
    without_p = is_goroutine();
    m->p = &m.p;
    m->g = nullptr;
    on_g0 = is_goroutine();
  }
  CHECK(with_both);
  CHECK_FALSE(without_p);
  CHECK_FALSE(on_g0);
  CHECK_FALSE(is_goroutine());
  support::with_runtime([] {
    CHECK(is_goroutine());
    CHECK_FALSE(thrum::blocking([] { return is_goroutine(); }));
  });
}
