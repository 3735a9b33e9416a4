// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The callers on a stack that stands still, whatever it was doing when it was made to.
//
// Purpose
//   A dump looks at goroutines that a signal has interrupted at any instruction: in the middle of
//   the unwinder, with an exception half thrown and the stack pointer already elsewhere; in the
//   loader; in a function's last instructions, which not every compiler describes rightly. The
//   unwinder of exceptions, which trusts its tables and the stack, ends such a program.
//
// So each step is checked
//   FW1  only words of the goroutine's own stack are read
//   FW2  each frame lies above the one before it
//   FW3  nothing is called that locks or allocates
//   What fails a check ends the walk: a wrong rule costs lines of the report, never the program.
//
// Runs in the handler of a signal; uses about 6 KiB of its stack.
#ifndef THRUM_DETAIL_SCHED_FREEZE_FRAME_WALK_HPP
#define THRUM_DETAIL_SCHED_FREEZE_FRAME_WALK_HPP

#include <cstddef>
#include <cstdint>

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// The addresses that a stack may use: low included, high not.
struct stack_bounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  /// How far below `low` the innermost frame may begin: into the guard, if the stack is used up.
  std::uintptr_t below = 0;

  bool holds_word(std::uintptr_t at) const noexcept {
    return at % sizeof(at) == 0 && at >= low && at < high && high - at >= sizeof(at);
  }
};

/// A word of another's stack. The sanitizers cannot know that this is allowed.
THRUM_NOINLINE THRUM_NO_SANITIZE inline std::uintptr_t word_at(std::uintptr_t at) noexcept {
  return *reinterpret_cast<const volatile std::uintptr_t*>(at);
}

/// How one register of the caller is found.
struct register_rule {
  enum class kind : std::uint8_t {
    same,
    undefined,
    saved_at,      // the frame's address and `number`
    is_offset,     // the same, but the sum itself
    in_register,   // `number`
    saved_at_sum,  // an expression says where
    is_sum,        // an expression says what
  };
  kind how = kind::same;
  std::int64_t number = 0;
  os::byte_reader expression;
};

/// All rules that hold at one instruction.
struct frame_rules {
  register_rule registers[arch::frame_registers::count];
  bool frame_is_sum = false;
  std::uint64_t frame_register = 0;
  std::int64_t frame_offset = 0;
  os::byte_reader frame_expression;
};

/// Runs the instructions of a table up to an address. False: something is not understood.
class rule_reader {
 public:
  rule_reader(const os::unwind_entry& entry, std::uintptr_t address) noexcept
      : entry_(entry), address_(address), at_(entry.begin) {}

  bool read(frame_rules& rules) noexcept {
    if (!run(entry_.common, rules)) {
      return false;
    }
    initial_ = rules;
    at_ = entry_.begin;
    return run(entry_.own, rules);
  }

 private:
  using kind = register_rule::kind;

  static void set(frame_rules& rules, std::uint64_t number, const register_rule& rule) noexcept {
    if (number < arch::frame_registers::count) {
      rules.registers[number] = rule;
    }
  }

  static os::byte_reader block(os::byte_reader& in) noexcept {
    const std::uint64_t bytes = in.unsigned_number();
    const std::uintptr_t begin = in.at();
    in.skip(bytes);
    return in.failed() ? os::byte_reader() : os::byte_reader(begin, in.at());
  }

  std::int64_t in_units(std::uint64_t n) const noexcept {
    return static_cast<std::int64_t>(n) * entry_.data_unit;
  }

  /// False: the instructions from here on are about what lies behind the address.
  bool advance(std::uint64_t units) noexcept {
    at_ += base::convert<std::uintptr_t>(units * entry_.code_unit);
    return at_ <= address_;
  }

  bool run(os::byte_reader in, frame_rules& rules) noexcept {
    while (!in.at_end()) {
      const auto code = in.read<std::uint8_t>();
      const std::uint64_t low = code & 0x3FU;
      switch (code & 0xC0U) {
        case 0x40:
          if (!advance(low)) {
            return true;
          }
          continue;
        case 0x80: set(rules, low, {kind::saved_at, in_units(in.unsigned_number()), {}}); continue;
        case 0xC0: restore(rules, low); continue;
        default: break;
      }
      bool behind = false;
      if (!run_long(code, in, rules, behind)) {
        return false;
      }
      if (behind) {
        return true;
      }
    }
    return !in.failed();
  }

  void restore(frame_rules& rules, std::uint64_t number) const noexcept {
    if (number < arch::frame_registers::count) {
      rules.registers[number] = initial_.registers[number];
    }
  }

  bool run_long(std::uint8_t code, os::byte_reader& in, frame_rules& rules, bool& behind) noexcept {
    switch (code) {
      case 0x00: return true;
      case 0x01:
        at_ = in.pointer(entry_.pointer_form);
        behind = at_ > address_;
        return true;
      case 0x02: behind = !advance(in.read<std::uint8_t>()); return true;
      case 0x03: behind = !advance(in.read<std::uint16_t>()); return true;
      case 0x04: behind = !advance(in.read<std::uint32_t>()); return true;
      case 0x0A:
        if (depth_ == max_depth) {
          return false;
        }
        kept_[depth_++] = rules;
        return true;
      case 0x0B:
        if (depth_ == 0) {
          return false;
        }
        rules = kept_[--depth_];
        return true;
      case 0x0C:
      case 0x12:
        rules.frame_is_sum = false;
        rules.frame_register = in.unsigned_number();
        rules.frame_offset = code == 0x0C ? static_cast<std::int64_t>(in.unsigned_number())
                                          : in.signed_number() * entry_.data_unit;
        return true;
      case 0x0D:
        rules.frame_is_sum = false;
        rules.frame_register = in.unsigned_number();
        return true;
      case 0x0E: rules.frame_offset = static_cast<std::int64_t>(in.unsigned_number()); return true;
      case 0x13: rules.frame_offset = in.signed_number() * entry_.data_unit; return true;
      case 0x0F:
        rules.frame_is_sum = true;
        rules.frame_expression = block(in);
        return true;
      case 0x2D: return true;  // the return address is signed: see plain_address
      case 0x2E: in.unsigned_number(); return true;
      default: return run_register(code, in, rules);
    }
  }

  bool run_register(std::uint8_t code, os::byte_reader& in, frame_rules& rules) noexcept {
    const std::uint64_t number = in.unsigned_number();
    switch (code) {
      case 0x05: set(rules, number, {kind::saved_at, in_units(in.unsigned_number()), {}}); break;
      case 0x06: restore(rules, number); break;
      case 0x07: set(rules, number, {kind::undefined, 0, {}}); break;
      case 0x08: set(rules, number, {kind::same, 0, {}}); break;
      case 0x09:
        set(rules, number,
            {kind::in_register, static_cast<std::int64_t>(in.unsigned_number()), {}});
        break;
      case 0x10: set(rules, number, {kind::saved_at_sum, 0, block(in)}); break;
      case 0x11:
        set(rules, number, {kind::saved_at, in.signed_number() * entry_.data_unit, {}});
        break;
      case 0x14: set(rules, number, {kind::is_offset, in_units(in.unsigned_number()), {}}); break;
      case 0x15:
        set(rules, number, {kind::is_offset, in.signed_number() * entry_.data_unit, {}});
        break;
      case 0x16: set(rules, number, {kind::is_sum, 0, block(in)}); break;
      case 0x2F: set(rules, number, {kind::saved_at, -in_units(in.unsigned_number()), {}}); break;
      default: return false;
    }
    return true;
  }

  static constexpr std::size_t max_depth = 3;

  const os::unwind_entry& entry_;
  const std::uintptr_t address_;
  std::uintptr_t at_;
  frame_rules initial_;
  frame_rules kept_[max_depth];
  std::size_t depth_ = 0;
};

/// Works out an expression, which begins with `pushed` on its stack if there is one.
class expression_reader {
 public:
  expression_reader(const arch::frame_registers& at, const stack_bounds& bounds) noexcept
      : at_(at), bounds_(bounds) {}

  bool read(os::byte_reader in, const std::uintptr_t* pushed, std::uintptr_t& result) noexcept {
    size_ = 0;
    if (pushed != nullptr) {
      push(*pushed);
    }
    while (!in.at_end()) {
      if (!run(in.read<std::uint8_t>(), in)) {
        return false;
      }
    }
    if (in.failed() || size_ == 0) {
      return false;
    }
    result = stack_[size_ - 1];
    return true;
  }

 private:
  static constexpr std::size_t capacity = 8;
  static constexpr std::size_t word_bits = 8 * sizeof(std::uintptr_t);

  bool push(std::uintptr_t value) noexcept {
    if (size_ == capacity) {
      return false;
    }
    stack_[size_++] = value;
    return true;
  }

  bool run(std::uint8_t code, os::byte_reader& in) noexcept {
    if (code >= 0x30 && code <= 0x4F) {
      return push(code - 0x30U);
    }
    if (code >= 0x70 && code <= 0x8F) {
      const std::size_t number = code - 0x70U;
      const std::int64_t offset = in.signed_number();
      return number < arch::frame_registers::count &&
             push(at_.value[number] + static_cast<std::uintptr_t>(offset));
    }
    switch (code) {
      case 0x08: return push(in.read<std::uint8_t>());
      case 0x09: return push(static_cast<std::uintptr_t>(std::intptr_t{in.read<std::int8_t>()}));
      case 0x0A: return push(in.read<std::uint16_t>());
      case 0x0B: return push(static_cast<std::uintptr_t>(std::intptr_t{in.read<std::int16_t>()}));
      case 0x0C: return push(in.read<std::uint32_t>());
      case 0x0D: return push(static_cast<std::uintptr_t>(std::intptr_t{in.read<std::int32_t>()}));
      case 0x10: return push(base::convert<std::uintptr_t>(in.unsigned_number()));
      case 0x11: return push(static_cast<std::uintptr_t>(in.signed_number()));
      default: break;
    }
    if (size_ == 0) {
      return false;
    }
    std::uintptr_t& top = stack_[size_ - 1];
    switch (code) {
      case 0x06:
        if (!bounds_.holds_word(top)) {
          return false;
        }
        top = word_at(top);
        return true;
      case 0x12: return push(top);
      case 0x13: --size_; return true;
      case 0x23: top += base::convert<std::uintptr_t>(in.unsigned_number()); return true;
      default: return run_on_two(code);
    }
  }

  bool run_on_two(std::uint8_t code) noexcept {
    if (size_ < 2) {
      return false;
    }
    const std::uintptr_t right = stack_[--size_];
    std::uintptr_t& left = stack_[size_ - 1];
    const auto is_signed = [](std::uintptr_t value) { return static_cast<std::intptr_t>(value); };
    switch (code) {
      case 0x1A: left &= right; return true;
      case 0x1C: left -= right; return true;
      case 0x21: left |= right; return true;
      case 0x22: left += right; return true;
      case 0x24: left = right < word_bits ? left << right : 0; return true;
      case 0x25: left = right < word_bits ? left >> right : 0; return true;
      case 0x29: left = left == right; return true;
      case 0x2A: left = is_signed(left) >= is_signed(right); return true;
      case 0x2B: left = is_signed(left) > is_signed(right); return true;
      case 0x2C: left = is_signed(left) <= is_signed(right); return true;
      case 0x2D: left = is_signed(left) < is_signed(right); return true;
      case 0x2E: left = left != right; return true;
      default: return false;
    }
  }

  const arch::frame_registers& at_;
  const stack_bounds& bounds_;
  std::uintptr_t stack_[capacity] = {};
  std::size_t size_ = 0;
};

/// Steps from a frame to its caller's. False: there is no caller, or the rules do not fit the stack.
/// `moves`: the caller's frame must lie higher, and not just as high.
inline bool step_to_caller(arch::frame_registers& at, const frame_rules& rules,
                           std::uint64_t return_column, const stack_bounds& bounds,
                           bool moves) noexcept {
  using registers = arch::frame_registers;
  using kind = register_rule::kind;
  expression_reader expressions(at, bounds);
  std::uintptr_t frame = 0;
  if (rules.frame_is_sum) {
    if (!expressions.read(rules.frame_expression, nullptr, frame)) {
      return false;
    }
  } else if (rules.frame_register < registers::count) {
    frame = at.value[rules.frame_register] + static_cast<std::uintptr_t>(rules.frame_offset);
  }
  const std::uintptr_t sp = at.value[registers::sp];
  // FW2
  if (frame % sizeof(frame) != 0 || frame < sp || (moves && frame == sp) || frame > bounds.high ||
      return_column >= registers::count) {
    return false;
  }
  registers caller = at;
  caller.value[registers::sp] = frame - registers::below_frame;
  for (std::size_t i = 0; i != registers::count; ++i) {
    const register_rule& rule = rules.registers[i];
    std::uintptr_t place = frame + static_cast<std::uintptr_t>(rule.number);
    switch (rule.how) {
      case kind::same: continue;
      case kind::undefined:
        if (i == return_column) {
          return false;  // the end of the stack
        }
        continue;
      case kind::is_offset: caller.value[i] = place; continue;
      case kind::in_register:
        if (rule.number < 0 || static_cast<std::size_t>(rule.number) >= registers::count) {
          return false;
        }
        caller.value[i] = at.value[rule.number];
        continue;
      case kind::is_sum:
        if (!expressions.read(rule.expression, &frame, caller.value[i])) {
          return false;
        }
        continue;
      case kind::saved_at_sum:
        if (!expressions.read(rule.expression, &frame, place)) {
          return false;
        }
        break;
      case kind::saved_at: break;
    }
    if (!bounds.holds_word(place)) {
      return false;
    }
    caller.value[i] = word_at(place);
  }
  caller.pc = arch::plain_address(caller.value[return_column]);
  caller.value[return_column] = caller.pc;
  at = caller;
  return true;
}

/// Goes to the caller of a function that does not exist: it was called by a bad pointer. False: unknown
/// how, on this processor.
inline bool leave_bad_call(arch::frame_registers& at, const stack_bounds& bounds) noexcept {
  constexpr bool is_in_register = arch::return_register >= 0;
  constexpr std::size_t number =
      is_in_register ? static_cast<std::size_t>(arch::return_register) : 0;
  if (is_in_register) {
    at.pc = arch::plain_address(at.value[number]);
    return true;
  }
  std::uintptr_t& sp = at.value[arch::frame_registers::sp];
  if (arch::return_register == arch::return_unknown || !bounds.holds_word(sp)) {
    return false;
  }
  at.pc = word_at(sp);
  sp += sizeof sp;
  return true;
}

/// The callers of a stack that stands still with these registers. `interrupted`: its innermost
/// function stands at that instruction, and not inside a call that returns there. FW3: it is also
/// called in the handlers of signals.
THRUM_NOINLINE inline void walk_frames(arch::frame_registers at, bool interrupted,
                                       const stack_bounds& bounds, os::call_stack& out) noexcept {
  using registers = arch::frame_registers;
  out.size = 0;
  const std::uintptr_t begin = at.value[registers::sp];
  if (begin < bounds.low - bounds.below || begin > bounds.high) {
    return;  // on another stack: a signal's, or a foreign coroutine's
  }
  while ((at.pc != 0 || interrupted) && out.size != os::call_stack::capacity) {
    const std::uintptr_t address = interrupted ? at.pc : at.pc - 1;
    out.frames[out.size++] = reinterpret_cast<const void*>(address);
    os::code_file file;
    os::unwind_entry entry;
    const bool is_code = os::find_code_file(address, file);
    if (!is_code && interrupted && out.size == 1 && leave_bad_call(at, bounds)) {
      interrupted = false;
      continue;
    }
    if (!is_code || !os::find_unwind_entry(address, file, entry)) {
      return;
    }
    if (entry.is_signal) {
      --out.size;  // where the handler of a signal returns to says nothing
    }
    frame_rules rules;
    if (!rule_reader(entry, address).read(rules) ||
        !step_to_caller(at, rules, entry.return_column, bounds, !interrupted)) {
      return;
    }
    interrupted = entry.is_signal;
  }
}

/// The callers of a parked stack, at the stack pointer that the switch has saved.
inline void walk_parked(const void* sp, const stack_bounds& bounds, os::call_stack& out) noexcept {
  // FW1: the frame of the switch, too
  const auto at = reinterpret_cast<std::uintptr_t>(sp);
  if (at < bounds.low || at >= bounds.high || bounds.high - at < arch::parked_frame_bytes) {
    out.size = 0;
    return;
  }
  walk_frames(arch::parked_registers(sp), false, bounds, out);
}

/// The callers of what the handler of a signal has interrupted, which was given `context`.
inline void walk_interrupted(const void* context, const stack_bounds& bounds,
                             os::call_stack& out) noexcept {
  walk_frames(arch::interrupted_registers(os::machine_state(context)), true, bounds, out);
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
