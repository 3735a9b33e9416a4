// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/sched/core/g.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using thrum::sched::local_value;

/// A value that says when it goes, and then makes another.
struct counted_local : local_value {
  int number = 0;
  std::vector<int>* gone = nullptr;
  local_value** list = nullptr;
  counted_local* makes = nullptr;
};

void note_local(local_value& value) noexcept {
  auto& self = static_cast<counted_local&>(value);
  self.gone->push_back(self.number);
  if (self.makes != nullptr) {
    self.makes->next = *self.list;
    *self.list = self.makes;
  }
}

}  // namespace

TEST_CASE("a goroutine's name is cut where there is no room for it, and ends there") {
  thrum::sched::goroutine g;
  CHECK(std::string(g.name).empty());
  g.set_name(std::string(100, 'x'));
  CHECK(std::string(g.name) == std::string(thrum::sched::goroutine::name_capacity - 1, 'x'));
  g.set_name("reader");
  CHECK(std::string(g.name) == "reader");
}

TEST_CASE("each goroutine-local value is destroyed once, also one that a destructor makes") {
  std::vector<int> gone;
  local_value* first = nullptr;
  counted_local values[3];
  for (int i = 0; i != 3; ++i) {
    values[i].destroy = &note_local;
    values[i].number = i;
    values[i].gone = &gone;
    values[i].list = &first;
  }
  values[0].next = &values[1];
  values[0].makes = &values[2];
  first = values;
  thrum::sched::destroy_locals(first);
  CHECK(gone == std::vector<int>{0, 2, 1});
  CHECK(first == nullptr);
}

TEST_CASE("the switch saves a goroutine's stack pointer where others read it") {
  thrum::sched::goroutine g;
  int stack = 0;
  *g.sp_slot() = &stack;
  CHECK(g.sp == &stack);
}
