// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// frame_walk.hpp, part by part: what the unwind table's instructions and expressions mean, on bytes
// and registers that are made by hand. Walks over stacks as they are: frame_walk_test.cpp.
// The codes are those of the DWARF standard, version 5, sections 2.5 and 6.4.

#include "support/catch.hpp"

#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

namespace {

using thrum::os::byte_reader;
using thrum::sched::frame_rules;
using thrum::sched::register_rule;
using thrum::sched::stack_bounds;
using frame_state = thrum::arch::frame_registers;
using rule_kind = register_rule::kind;
using code_bytes = std::vector<std::uint8_t>;

byte_reader reader_of(const code_bytes& code) {
  const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
  return {begin, begin + code.size()};
}

/// A code and the bytes of its operand, which stand in the processor's order; here from the lowest.
code_bytes with_operand(std::uint8_t code, code_bytes bytes) {
  if constexpr (std::endian::native == std::endian::big) {
    std::reverse(bytes.begin(), bytes.end());
  }
  bytes.insert(bytes.begin(), code);
  return bytes;
}

code_bytes joined(std::initializer_list<code_bytes> parts) {
  code_bytes all;
  for (const code_bytes& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// A stack of eight words, of which the third is 0x1234.
struct small_stack {
  std::array<std::uintptr_t, 8> words{0, 0, 0x1234, 0, 0, 0, 0, 0};
  std::uintptr_t at(std::size_t i) const {
    return reinterpret_cast<std::uintptr_t>(words.data()) + i * sizeof(std::uintptr_t);
  }
  stack_bounds bounds() const { return {at(0), at(8)}; }
};

/// What an expression comes to; nothing if it is not understood. Register 1 holds 100.
std::optional<std::uintptr_t> value_of(const code_bytes& code,
                                       std::optional<std::uintptr_t> pushed = {},
                                       const stack_bounds& bounds = {}) {
  frame_state at;
  at.value[1] = 100;
  thrum::sched::expression_reader expressions(at, bounds);
  std::uintptr_t result = 0;
  const std::uintptr_t first = pushed.value_or(0);
  if (!expressions.read(reader_of(code), pushed ? &first : nullptr, result)) {
    return std::nullopt;
  }
  return result;
}

constexpr auto minus(std::intptr_t n) { return static_cast<std::uintptr_t>(-n); }

/// The rules at `address` of a function that begins at 1000, whose instructions are these.
std::optional<frame_rules> rules_at(std::uintptr_t address, const code_bytes& common,
                                    const code_bytes& own) {
  thrum::os::unwind_entry entry;
  entry.common = reader_of(common);
  entry.own = reader_of(own);
  entry.begin = 1000;
  entry.code_unit = 2;
  entry.data_unit = -8;
  frame_rules rules;
  if (!thrum::sched::rule_reader(entry, address).read(rules)) {
    return std::nullopt;
  }
  return rules;
}

/// A frame at `own` whose caller's frame is at word 4, and the return address in register 6.
struct frame_of_stack {
  small_stack stack;
  frame_state at;
  frame_rules rules;
  static constexpr std::uint64_t return_column = 6;
  static constexpr int other = frame_state::sp == 3 ? 2 : 3;  // a register without a meaning

  frame_of_stack() {
    at.value[frame_state::sp] = stack.at(1);
    at.value[other] = 33;
    rules.frame_register = frame_state::sp;
    rules.frame_offset = 3 * sizeof(std::uintptr_t);
  }
  bool step(bool moves = true) {
    return thrum::sched::step_to_caller(at, rules, return_column, stack.bounds(), moves);
  }
};

}  // namespace

TEST_CASE("an expression pushes constants of each size, with and without a sign") {
  CHECK(value_of({0x30}) == 0U);
  CHECK(value_of({0x4F}) == 31U);
  CHECK(value_of({0x08, 0xFF}) == 255U);
  CHECK(value_of({0x09, 0xFF}) == minus(1));
  CHECK(value_of(with_operand(0x0A, {0xFE, 0xFF})) == 0xFFFEU);
  CHECK(value_of(with_operand(0x0B, {0xFE, 0xFF})) == minus(2));
  CHECK(value_of(with_operand(0x0C, {0xFD, 0xFF, 0xFF, 0xFF})) == 0xFFFFFFFDU);
  CHECK(value_of(with_operand(0x0D, {0xFD, 0xFF, 0xFF, 0xFF})) == minus(3));
  CHECK(value_of({0x10, 0x80, 0x01}) == 128U);
  CHECK(value_of({0x11, 0x7F}) == minus(1));
}

TEST_CASE("an expression adds to a register") {
  CHECK(value_of({0x71, 0x08}) == 108U);
  CHECK(value_of({0x71, 0x7F}) == 99U);
}

TEST_CASE("an expression computes with the two values that were pushed last") {
  const auto of = [](std::uint8_t operation) { return value_of({0x36, 0x33, operation}); };  // 6, 3
  CHECK(of(0x1A) == 2U);
  CHECK(of(0x1C) == 3U);
  CHECK(of(0x21) == 7U);
  CHECK(of(0x22) == 9U);
  CHECK(of(0x24) == 48U);
  CHECK(of(0x25) == 0U);
  CHECK(value_of({0x36, 0x31, 0x25}) == 3U);
  CHECK(value_of({0x36, 0x08, 64, 0x24}) == 0U);
  CHECK(value_of({0x36, 0x08, 64, 0x25}) == 0U);
}

TEST_CASE("an expression compares values with their signs") {
  const auto of = [](std::uint8_t operation, std::uint8_t left, std::uint8_t right) {
    return value_of({0x09, left, 0x09, right, operation});
  };
  constexpr std::uint8_t minus_one = 0xFF;
  CHECK(of(0x29, 1, 1) == 1U);
  CHECK(of(0x29, 1, 2) == 0U);
  CHECK(of(0x2E, 1, 1) == 0U);
  CHECK(of(0x2E, 1, 2) == 1U);
  CHECK(of(0x2A, 1, 1) == 1U);
  CHECK(of(0x2A, minus_one, 1) == 0U);
  CHECK(of(0x2B, 1, 1) == 0U);
  CHECK(of(0x2B, 1, minus_one) == 1U);
  CHECK(of(0x2C, 1, 1) == 1U);
  CHECK(of(0x2C, 1, minus_one) == 0U);
  CHECK(of(0x2D, 1, 1) == 0U);
  CHECK(of(0x2D, minus_one, 1) == 1U);
}

TEST_CASE("an expression duplicates, drops and adds to the value that was pushed last") {
  CHECK(value_of({0x35, 0x12, 0x22}) == 10U);
  CHECK(value_of({0x35, 0x36, 0x13}) == 5U);
  CHECK(value_of({0x35, 0x23, 0x02}) == 7U);
}

TEST_CASE("an expression begins with the value that it was given") {
  CHECK(value_of({0x23, 0x01}, 41) == 42U);
}

TEST_CASE("an expression reads words of the stack and no others") {
  const small_stack stack;
  CHECK(value_of({0x06}, stack.at(2), stack.bounds()) == 0x1234U);
  CHECK(value_of({0x06}, stack.at(8), stack.bounds()) == std::nullopt);
  CHECK(value_of({0x06}, stack.at(2) + 1, stack.bounds()) == std::nullopt);
}

TEST_CASE("an expression that is not understood has no value") {
  CHECK(value_of({}) == std::nullopt);
  CHECK(value_of({0x36, 0x13}) == std::nullopt);         // nothing is left
  CHECK(value_of({0x13}) == std::nullopt);               // nothing to drop
  CHECK(value_of({0x36, 0x22}) == std::nullopt);         // one value for two
  CHECK(value_of({0x36, 0x33, 0xF0}) == std::nullopt);   // no such code
  CHECK(value_of({0x0A, 0x01}) == std::nullopt);         // ends in the middle
  CHECK(value_of(code_bytes(8, 0x31)) == 1U);            // as many as there is room for
  CHECK(value_of(code_bytes(9, 0x31)) == std::nullopt);  // one more
}

TEST_CASE("rules hold from the instruction on at which they are given") {
  // The frame is register 4 + 16; from 1004 on + 24, from 1008 on register 5.
  const code_bytes common = {0x0C, 4, 16};
  const code_bytes own = joined({{0x42, 0x0E, 24, 0x02, 2, 0x0D, 5},
                                 with_operand(0x03, {2, 0}),
                                 {0x0E, 40},
                                 with_operand(0x04, {2, 0, 0, 0}),
                                 {0x0E, 48}});
  const auto offset = [&](std::uintptr_t address) {
    return rules_at(address, common, own)->frame_offset;
  };
  CHECK(offset(1003) == 16);
  CHECK(offset(1004) == 24);
  CHECK(rules_at(1007, common, own)->frame_register == 4);
  CHECK(rules_at(1008, common, own)->frame_register == 5);
  CHECK(offset(1011) == 24);
  CHECK(offset(1012) == 40);
  CHECK(offset(1015) == 40);
  CHECK(offset(1016) == 48);
}

TEST_CASE("each instruction gives its register the rule of its name") {
  const auto rule = [](const code_bytes& own) { return rules_at(1000, {}, own)->registers[3]; };
  CHECK(rule({0x83, 2}).how == rule_kind::saved_at);
  CHECK(rule({0x83, 2}).number == -16);
  CHECK(rule({0x05, 3, 2}).number == -16);
  CHECK(rule({0x11, 3, 0x7E}).how == rule_kind::saved_at);
  CHECK(rule({0x11, 3, 0x7E}).number == 16);
  CHECK(rule({0x2F, 3, 2}).number == 16);
  CHECK(rule({0x07, 3}).how == rule_kind::undefined);
  CHECK(rule({0x07, 3, 0x08, 3}).how == rule_kind::same);
  CHECK(rule({0x09, 3, 7}).how == rule_kind::in_register);
  CHECK(rule({0x09, 3, 7}).number == 7);
  CHECK(rule({0x14, 3, 2}).how == rule_kind::is_offset);
  CHECK(rule({0x14, 3, 2}).number == -16);
  CHECK(rule({0x15, 3, 0x7E}).number == 16);
  CHECK(rule({0x10, 3, 1, 0x31}).how == rule_kind::saved_at_sum);
  CHECK(rule({0x16, 3, 1, 0x31}).how == rule_kind::is_sum);
  CHECK(rule({0x83, 2, 0x16, 3, 1, 0x31, 0x00}).how == rule_kind::is_sum);
}

TEST_CASE("a rule is restored to what the common instructions say") {
  const code_bytes common = {0x83, 1};
  CHECK(rules_at(1000, common, {0x83, 5})->registers[3].number == -40);
  CHECK(rules_at(1000, common, {0x83, 5, 0xC3})->registers[3].number == -8);
  CHECK(rules_at(1000, common, {0x83, 5, 0x06, 3})->registers[3].number == -8);
}

TEST_CASE("rules are remembered and taken back, three deep") {
  CHECK(rules_at(1000, {}, {0x0E, 8, 0x0A, 0x0E, 16, 0x0B})->frame_offset == 8);
  CHECK(rules_at(1000, {}, {0x0A, 0x0A, 0x0A}));
  CHECK_FALSE(rules_at(1000, {}, {0x0A, 0x0A, 0x0A, 0x0A}));
  CHECK_FALSE(rules_at(1000, {}, {0x0B}));
}

TEST_CASE("a table with an unknown instruction, or that ends in the middle of one, has no rules") {
  CHECK_FALSE(rules_at(1000, {}, {0x3F, 0}));
  CHECK_FALSE(rules_at(1000, {}, {0x0E}));
  CHECK_FALSE(rules_at(1000, {0x0E}, {}));
}

TEST_CASE("a caller's register is found by each kind of rule") {
  constexpr auto word = static_cast<std::int64_t>(sizeof(std::uintptr_t));
  const auto after = [](const register_rule& rule) {
    frame_of_stack frame;
    frame.rules.registers[5] = rule;
    frame.at.value[5] = 55;
    REQUIRE(frame.step());
    return frame.at.value[5];
  };
  CHECK(after({rule_kind::same, 0, {}}) == 55);
  CHECK(after({rule_kind::undefined, 0, {}}) == 55);
  CHECK(after({rule_kind::in_register, frame_of_stack::other, {}}) == 33);
  CHECK(after({rule_kind::in_register, 0, {}}) == 0);

  frame_of_stack offset;
  offset.rules.registers[5] = {rule_kind::is_offset, -word, {}};
  REQUIRE(offset.step());
  CHECK(offset.at.value[5] == offset.stack.at(3));

  frame_of_stack saved;
  saved.rules.registers[5] = {rule_kind::saved_at, -2 * word, {}};
  REQUIRE(saved.step());
  CHECK(saved.at.value[5] == 0x1234);

  const code_bytes two_below = {0x42, 0x1C};  // the frame's address - 18
  frame_of_stack sum;
  sum.rules.registers[5] = {rule_kind::is_sum, 0, reader_of(two_below)};
  REQUIRE(sum.step());
  CHECK(sum.at.value[5] == sum.stack.at(4) - 18);

  const code_bytes two_words_below = {0x30 + 2 * word, 0x1C};  // the frame's address less two words
  frame_of_stack saved_at_sum;
  saved_at_sum.rules.registers[5] = {rule_kind::saved_at_sum, 0, reader_of(two_words_below)};
  REQUIRE(saved_at_sum.step());
  CHECK(saved_at_sum.at.value[5] == 0x1234);
}

TEST_CASE("a caller goes on at its return address, with its frame as the stack pointer") {
  frame_of_stack frame;
  frame.rules.registers[frame_of_stack::return_column] = {
      rule_kind::saved_at, -2 * std::int64_t{sizeof(std::uintptr_t)}, {}};
  REQUIRE(frame.step());
  CHECK(frame.at.pc == 0x1234);
  CHECK(frame.at.value[frame_of_stack::return_column] == 0x1234);
  CHECK(frame.at.value[frame_state::sp] == frame.stack.at(4) - frame_state::below_frame);
}

TEST_CASE("a frame whose return address is undefined is the last one") {
  frame_of_stack frame;
  frame.rules.registers[frame_of_stack::return_column] = {rule_kind::undefined, 0, {}};
  CHECK_FALSE(frame.step());
}

TEST_CASE("rules that do not fit the stack end a walk") {
  const auto fails = [](auto spoil, bool moves = true) {
    frame_of_stack frame;
    spoil(frame);
    return !frame.step(moves);
  };
  constexpr auto word = static_cast<std::int64_t>(sizeof(std::uintptr_t));
  CHECK_FALSE(fails([](frame_of_stack&) {}));
  CHECK(fails([](frame_of_stack& of) { of.rules.frame_offset += 1; }));     // not aligned
  CHECK(fails([](frame_of_stack& of) { of.rules.frame_offset = -word; }));  // below
  CHECK(fails([](frame_of_stack& of) { of.rules.frame_offset = 0; }));      // does not move
  CHECK_FALSE(fails([](frame_of_stack& of) { of.rules.frame_offset = 0; }, false));
  CHECK_FALSE(fails([](frame_of_stack& of) { of.rules.frame_offset = 7 * word; }));  // the end
  CHECK(fails([](frame_of_stack& of) { of.rules.frame_offset = 8 * word; }));        // beyond it
  CHECK(fails([](frame_of_stack& of) {
    of.rules.registers[5] = {rule_kind::saved_at, 5 * word, {}};
  }));
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{frame_state::count}}) {
    CHECK(fails([&](frame_of_stack& of) {
      of.rules.registers[5] = {rule_kind::in_register, number, {}};
    }));
  }
  CHECK(fails([](frame_of_stack& of) {
    of.rules.frame_register = frame_state::count;  // no such register; what lies behind them fits
    of.at.pc = of.stack.at(1);
  }));
  const code_bytes unknown = {0xF0};
  for (const rule_kind how : {rule_kind::is_sum, rule_kind::saved_at_sum}) {
    CHECK(fails([&](frame_of_stack& of) { of.rules.registers[5] = {how, 0, reader_of(unknown)}; }));
  }
}
