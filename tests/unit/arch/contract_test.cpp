// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The concepts of a processor. That the one we are on satisfies them is asserted where it is chosen;
// here is shown that each refuses one that does less.
#include <thrum/detail/arch/chosen_processor.hpp>
#include <thrum/detail/arch/contract.hpp>

#include <cstdint>

#include "../../support/catch.hpp"

namespace {

namespace arch = thrum::arch;

struct passes_nothing : arch::chosen_processor {
  static void switch_stack(void**, void*) noexcept;
};
struct prepares_without_entry : arch::chosen_processor {
  static void* prepare_stack(void*, void*) noexcept;
};
struct registers_without_sp : arch::chosen_processor {
  struct frame_registers {
    std::uintptr_t value[1];
    std::uintptr_t pc;
  };
};
struct watches_without_argument : arch::chosen_processor {
  static void call_watched(void (*)());
};
struct asks_a_pointer : arch::chosen_processor {
  static std::uintptr_t ask_valgrind(std::uintptr_t) noexcept;
};

}  // namespace

TEST_CASE("a processor that does less than its contract asks is refused") {
  STATIC_REQUIRE_FALSE(arch::switches_stacks<passes_nothing>);
  STATIC_REQUIRE_FALSE(arch::switches_stacks<prepares_without_entry>);
  STATIC_REQUIRE_FALSE(arch::tells_registers<registers_without_sp>);
  STATIC_REQUIRE_FALSE(arch::watches_exceptions<watches_without_argument>);
  STATIC_REQUIRE_FALSE(arch::asks_valgrind<asks_a_pointer>);
}
