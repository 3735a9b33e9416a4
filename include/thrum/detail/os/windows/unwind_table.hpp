// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the caller's registers are found at a place in the code: the tables that the system unwinds by,
// told in the words of DWARF's call-frame information, which the walk along a stack understands
// (sched/freeze/frame_walk.hpp).
//
// A function's entry lists what its prologue does, each step with the place behind it. At a place in the
// body all of that has been done, and the rules follow: where the frame lies from a register on, and
// where below it the registers do. In an epilogue, where some of it has been undone, they are wrong; the
// walk checks each step, and says less then.
//
// The unwinder of the system may not be called where a thread stands still: it may take locks, and
// believes what it reads from the stack. This takes no lock and reads the image alone.
#ifndef THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_HPP
#define THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/unwind_entry.hpp>  // IWYU pragma: export

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Nothing to do: images can be asked for at any time.
inline void prepare_walks() noexcept {}

/// The file that holds an address; false if none is known to. For handlers, too.
bool find_code_file(std::uintptr_t address, code_file& found) noexcept;

/// What is written down about the function that holds an address; false if nothing is.
bool find_unwind_entry(std::uintptr_t address, const code_file& file, unwind_entry& entry) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/code_image.hpp>
#include <thrum/detail/os/windows/machine_aarch64.hpp>
#include <thrum/detail/os/windows/machine_x86_64.hpp>

#include <cstddef>
#include <cstring>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE bool find_code_file(std::uintptr_t address,
                                                     code_file& found) noexcept {
  code_image image;
  if (!find_code_image(address, image)) {
    return false;
  }
  found.low = image.low;
  found.high = image.high;
  found.index = image.unwind_table;
  return true;
}

#if THRUM_ARCH_AARCH64_WIN64
// Without the tables of aarch64: the calling convention wants each function that calls another one to keep a
// chain of frames, which x29 begins. A frame is two words, the caller's x29 and where the function returns to.
// So a walk finds all functions that stand in a call; of an interrupted one that keeps no frame, or not yet, it
// leaves out the caller.
THRUM_NOINLINE THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address,
                                                        const code_file& file,
                                                        unwind_entry& entry) noexcept {
  code_image image;
  if (file.index == 0 || !find_code_image(address, image)) {
    return false;
  }
  // In DWARF's words: the frame lies 16 bytes above x29; x29 and x30 lie 16 and 8 below it.
  constexpr std::uint8_t rules[] = {0x0c, 29, 16, 0x11, 29, 0x70, 0x11, 30, 0x78};
  std::memcpy(entry.room, rules, sizeof rules);
  const auto begin = reinterpret_cast<std::uintptr_t>(entry.room);
  entry.common = byte_reader(begin, begin);
  entry.own = byte_reader(begin, begin + sizeof rules);
  entry.begin = address;
  entry.return_column = 30;
  return true;
}

#elif THRUM_ARCH_X86_64_WIN64
// The tables of x86-64. Source: Microsoft, "x64 exception handling": RUNTIME_FUNCTION, UNWIND_INFO, UNWIND_CODE.

/// Bytes of the image that a function's entry refers to.
class unwind_information {
 public:
  unwind_information(const code_file& file, std::uint32_t offset) noexcept
      : at_(file.low + offset), has_head_(offset != 0 && fits(file, head_bytes)) {
    has_codes_ = has_head_ && fits(file, head_bytes + code_bytes());
    has_rest_ = has_codes_ && fits(file, head_bytes + code_bytes() + sizeof(::RUNTIME_FUNCTION));
  }

  bool is_complete() const noexcept { return has_codes_ && (byte(0) & 7U) <= 2; }
  unsigned prologue_bytes() const noexcept { return byte(1); }
  unsigned codes() const noexcept { return byte(2); }
  unsigned frame_register() const noexcept { return byte(3) & 15U; }
  std::int64_t frame_offset() const noexcept { return std::int64_t{byte(3) >> 4} * 16; }
  bool is_chained() const noexcept { return has_rest_ && (byte(0) >> 3 & 4U) != 0; }

  unsigned place(unsigned code) const noexcept { return byte(head_bytes + 2 * code); }
  unsigned operation(unsigned code) const noexcept { return byte(head_bytes + 2 * code + 1) & 15U; }
  unsigned detail(unsigned code) const noexcept { return byte(head_bytes + 2 * code + 1) >> 4; }
  std::uint32_t word(unsigned code) const noexcept {
    return code < codes() ? byte(head_bytes + 2 * code) | byte(head_bytes + 2 * code + 1) << 8 : 0;
  }
  std::uint32_t double_word(unsigned code) const noexcept {
    return word(code) | word(code + 1) << 16;
  }

  ::RUNTIME_FUNCTION chained() const noexcept {
    ::RUNTIME_FUNCTION entry;
    std::memcpy(&entry, reinterpret_cast<const void*>(at_ + head_bytes + code_bytes()),
                sizeof entry);
    return entry;
  }

 private:
  static constexpr std::size_t head_bytes = 4;

  unsigned byte(std::size_t n) const noexcept {
    return reinterpret_cast<const unsigned char*>(at_)[n];
  }
  std::size_t code_bytes() const noexcept { return (codes() + 1U) / 2 * 4; }
  bool fits(const code_file& file, std::size_t bytes) const noexcept {
    return at_ >= file.low && at_ < file.high && file.high - at_ >= bytes;
  }

  std::uintptr_t at_;
  bool has_head_;
  bool has_codes_ = false;
  bool has_rest_ = false;
};

/// What a prologue has left, seen from the base: a register, and a distance from it.
class prologue_reader {
 public:
  /// Adds what the first `place` bytes of a function have done. False: something is not understood.
  bool add(const unwind_information& of, unsigned place) noexcept {
    const bool in_body = place >= of.prologue_bytes();
    for (unsigned i = 0; i < of.codes();) {
      const bool is_done = in_body || of.place(i) <= place;
      const unsigned operation = of.operation(i);
      const unsigned detail = of.detail(i);
      const bool has_long_size = operation == alloc_large && detail != 0;
      const unsigned slots = operation == save_far || operation == save_vector_far || has_long_size
                                 ? 3
                             : operation == alloc_large || operation == save ||
                                     operation == epilogue || operation == save_vector
                                 ? 2
                                 : 1;
      if (is_done) {
        switch (operation) {
          case push:
            save_at(detail, depth_);
            depth_ += 8;
            break;
          case alloc_large:
            depth_ += has_long_size ? of.double_word(i + 1) : std::int64_t{of.word(i + 1)} * 8;
            break;
          case alloc_small: depth_ += std::int64_t{detail} * 8 + 8; break;
          case set_frame:
            base_ = of.frame_register();
            // Counts from the frame register on, not what was taken from the stack afterwards.
            shift_ = -of.frame_offset();
            depth_ = 0;
            break;
          case save: save_at(detail, std::int64_t{of.word(i + 1)} * 8); break;
          case save_far: save_at(detail, of.double_word(i + 1)); break;
          case epilogue:
          case save_vector:
          case save_vector_far: break;
          default: return false;
        }
      }
      i += slots;
    }
    return true;
  }

  /// In DWARF's words. False: there is no room.
  bool write(unwind_entry& entry) const noexcept {
    writer to{entry};
    const std::int64_t frame = depth_ + 8;  // behind the return address
    to.byte(0x12);                          // the frame: a register, and how far from it
    to.number(dwarf(base_));
    to.number(frame + shift_);
    for (unsigned i = 0; i != registers; ++i) {
      if (is_saved_[i]) {
        to.byte(0x11);  // a register lies so far from the frame
        to.number(dwarf(i));
        to.number(saved_[i] - frame);
      }
    }
    to.byte(0x11);
    to.number(static_cast<std::int64_t>(entry.return_column));
    to.number(-8);
    const auto begin = reinterpret_cast<std::uintptr_t>(entry.room);
    entry.common = byte_reader(begin, begin);
    entry.own = byte_reader(begin, begin + to.size);
    return to.size <= unwind_entry::room_bytes;
  }

 private:
  enum step : unsigned {
    push = 0,
    alloc_large = 1,
    alloc_small = 2,
    set_frame = 3,
    save = 4,
    save_far = 5,
    epilogue = 6,
    save_vector = 8,
    save_vector_far = 9,
  };
  static constexpr unsigned registers = 16;
  static constexpr unsigned stack_pointer = 4;

  struct writer {
    unwind_entry& entry;
    std::size_t size = 0;

    void byte(unsigned value) noexcept {
      if (size < unwind_entry::room_bytes) {
        entry.room[size] = static_cast<std::uint8_t>(value);
      }
      ++size;
    }
    /// Right for what is read as a signed number, and for an unsigned one below 64.
    void number(std::int64_t value) noexcept {
      for (;;) {
        const auto part = static_cast<unsigned>(value & 0x7F);
        value >>= 7;
        const bool is_last = value == ((part & 0x40U) != 0 ? -1 : 0);
        byte(part | (is_last ? 0 : 0x80U));
        if (is_last) {
          return;
        }
      }
    }
  };

  /// The tables count registers as instructions do.
  static std::int64_t dwarf(unsigned number) noexcept {
    constexpr std::uint8_t numbers[registers] = {0, 2, 1,  3,  7,  6,  4,  5,
                                                 8, 9, 10, 11, 12, 13, 14, 15};
    return numbers[number];
  }

  void save_at(unsigned number, std::int64_t depth) noexcept {
    is_saved_[number] = true;
    saved_[number] = depth;
  }

  unsigned base_ = stack_pointer;
  std::int64_t shift_ = 0;
  std::int64_t depth_ = 0;
  bool is_saved_[registers] = {};
  std::int64_t saved_[registers] = {};
};

/// The entry of the function that holds the address, an offset; its begin is 0 if there is none.
inline ::RUNTIME_FUNCTION find_function(const code_image& image, std::uint32_t wanted) noexcept {
  const auto* const table = reinterpret_cast<const ::RUNTIME_FUNCTION*>(image.unwind_table);
  std::uint32_t low = 0;
  std::uint32_t high = image.unwind_entries;
  while (low != high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (table[middle].BeginAddress <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || wanted >= table[low - 1].EndAddress) {
    return {};
  }
  return table[low - 1];
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address,
                                                        const code_file& file,
                                                        unwind_entry& entry) noexcept {
  code_image image;
  if (file.index == 0 || !find_code_image(address, image)) {
    return false;
  }
  const auto wanted = static_cast<std::uint32_t>(address - file.low);
  ::RUNTIME_FUNCTION function = find_function(image, wanted);
  entry.begin = address;
  entry.return_column = 16;
  entry.is_signal =
      file.low + function.BeginAddress == reinterpret_cast<std::uintptr_t>(&thrum_injected_call);
  prologue_reader prologue;
  if (function.BeginAddress == 0) {
    return prologue.write(entry);  // it has nothing on the stack but where it returns to
  }
  unsigned place = wanted - function.BeginAddress;
  constexpr unsigned longest_chain = 32;
  for (unsigned i = 0; i != longest_chain; ++i) {
    const unwind_information of(file, function.UnwindData);
    if (!of.is_complete() || !prologue.add(of, place)) {
      return false;
    }
    if (!of.is_chained()) {
      return prologue.write(entry);
    }
    function = of.chained();
    place = ~0U;  // all of it was done
  }
  return false;
}
#endif

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_UNWIND_TABLE_HPP
