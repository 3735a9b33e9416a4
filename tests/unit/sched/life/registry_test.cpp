// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What exit and fork make of it is in unit/os/posix/process_test.cpp and unit/debug/trouble_test.cpp.

#include <thrum/detail/sched/life/registry.hpp>

#include "support/lone_scheduler.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

namespace {

using thrum::sched::registry;
using thrum::sched::runtime_scheduler;

bool is_used(support::lone_scheduler& scheduler, std::uint64_t number) {
  bool called = false;
  const bool said = registry::use(&*scheduler, number, [&] { called = true; });
  CHECK(said == called);
  return called;
}

bool is_visited(support::lone_scheduler& scheduler, std::uint64_t number) {
  bool called = false;
  registry::visit(&*scheduler, number, [&] { called = true; });
  return called;
}

std::vector<const runtime_scheduler*> all_shown() {
  std::vector<const runtime_scheduler*> found;
  registry::for_each([&](runtime_scheduler& each) { found.push_back(&each); });
  return found;
}

}  // namespace

TEST_CASE(
    "a scheduler is of use from its registration until it retires, and there until its removal") {
  support::lone_scheduler scheduler(1);
  registry::add(*scheduler);
  const std::uint64_t number = scheduler->registered.number();
  CHECK(is_used(scheduler, number));
  registry::retire(*scheduler);
  CHECK_FALSE(is_used(scheduler, number));
  CHECK(is_visited(scheduler, number));
  registry::remove(*scheduler);
  CHECK_FALSE(is_visited(scheduler, number));
}

TEST_CASE("a scheduler that stands where an earlier one stood is not taken for that one") {
  support::lone_scheduler scheduler(1);
  registry::add(*scheduler);
  const std::uint64_t earlier = scheduler->registered.number();
  registry::remove(*scheduler);
  registry::add(*scheduler);
  CHECK_FALSE(is_used(scheduler, earlier));
  CHECK_FALSE(is_visited(scheduler, earlier));
  CHECK(is_used(scheduler, scheduler->registered.number()));
  registry::remove(*scheduler);
}

TEST_CASE("all schedulers that are complete are found, the oldest first") {
  const std::vector<const runtime_scheduler*> before = all_shown();
  support::lone_scheduler first(1);
  support::lone_scheduler incomplete(1);
  support::lone_scheduler second(1);
  for (support::lone_scheduler* const each : {&first, &incomplete, &second}) {
    registry::add(**each);
  }
  registry::show(*second);
  registry::show(*first);
  std::vector<const runtime_scheduler*> expected = before;
  expected.push_back(&*first);
  expected.push_back(&*second);
  CHECK(all_shown() == expected);
  for (support::lone_scheduler* const each : {&first, &incomplete, &second}) {
    registry::remove(**each);
  }
  CHECK(all_shown() == before);
}

TEST_CASE("a scheduler is not removed while another thread looks at it") {
  support::lone_scheduler scheduler(1);
  registry::add(*scheduler);
  registry::show(*scheduler);
  std::atomic<bool> is_removed{false};
  std::thread remover;
  bool was_removed_before = false;
  registry::for_each([&](runtime_scheduler& each) {
    if (&each != &*scheduler) {
      return;
    }
    remover = std::thread([&] {
      registry::remove(each);
      is_removed = true;
    });
    const std::uint64_t number = each.registered.number();
    CHECK(support::eventually([&] { return !is_visited(scheduler, number); }));
    std::this_thread::sleep_for(5ms);  // time enough for a removal that does not wait
    was_removed_before = is_removed;
  });
  REQUIRE(remover.joinable());
  remover.join();
  CHECK_FALSE(was_removed_before);
}

TEST_CASE("no scheduler is removed while the thread that exits looks for those it has to hold") {
  const support::program_result r = support::run_program("exit_beside_removal");
  CHECK(r.exit_code == 3);
  CHECK(r.text == "removed afterwards\n");
}
