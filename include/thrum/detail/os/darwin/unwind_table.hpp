// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the caller of a function is found on macOS: by the chain of frame pointers.
//
// The tables of exceptions are in a compact form of Apple's there, which says nothing of prologues
// and epilogues, and which only the unwinder reads. But all code of the system keeps a frame pointer:
// on arm64 the convention wants it, on x86-64 compilers do it by default. So one rule, written as
// call-frame information, holds for all functions: the caller's frame pointer and the return address
// lie where the frame pointer points. If a function was interrupted before it made its frame, or
// after it gave it up, its caller is left out.
//
// The loader reports each image that it adds, so all addresses of code are known. Images that are
// taken away again stay known.
//
// Source: the rules for frame pointers in Apple's guide to writing code for its processors; the DWARF
// 5 standard, 6.4.
#ifndef THRUM_DETAIL_OS_DARWIN_UNWIND_TABLE_HPP
#define THRUM_DETAIL_OS_DARWIN_UNWIND_TABLE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/unwind_entry.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The images of the process, as far as there is room. Handlers read it without a lock.
struct code_images {
  static constexpr std::size_t capacity = 1024;
  code_file files[capacity];
  base::one_writer<std::size_t> size{0};
  base::hint<bool> begun{false};

  bool find(std::uintptr_t address, code_file& found) const noexcept;
  /// The loader calls it, one at a time.
  void add(std::uintptr_t low, std::uintptr_t high) noexcept;
};

inline constinit code_images known_code_images;

/// Before the first walk, outside of handlers. Takes the lock of the loader.
void prepare_walks() noexcept;

/// The image that holds an address; false if none is known to. For handlers, too.
bool find_code_file(std::uintptr_t address, code_file& found) noexcept;

/// The rule, which is the same for all functions.
bool find_unwind_entry(std::uintptr_t address, const code_file& file, unwind_entry& entry) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>

#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <signal.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE bool code_images::find(std::uintptr_t address, code_file& found) const noexcept {
  const std::size_t n = size.load(acquire);  // [code.files <] acquire: the entries
  for (std::size_t i = 0; i != n; ++i) {
    if (address >= files[i].low && address < files[i].high) {
      found = files[i];
      return true;
    }
  }
  return false;
}

THRUM_OUT_OF_LINE void code_images::add(std::uintptr_t low, std::uintptr_t high) noexcept {
  const std::size_t n = size.get();
  if (n != capacity) {
    files[n] = code_file{low, high, 0};
    size.store(n + 1, release);  // [code.files >] release: the entry
  }
}

/// What the loader calls for each image that there is, and for each that comes: its code is what the
/// segment __TEXT holds.
inline void note_code_image(const ::mach_header* header, std::intptr_t slide) {
  const auto* const begin = reinterpret_cast<const ::mach_header_64*>(header);
  const char* at = reinterpret_cast<const char*>(begin + 1);
  for (std::uint32_t i = 0; i != begin->ncmds; ++i) {
    const auto* const command = reinterpret_cast<const ::load_command*>(at);
    if (command->cmd == LC_SEGMENT_64) {
      const auto* const segment = reinterpret_cast<const ::segment_command_64*>(at);
      if ((segment->initprot & VM_PROT_EXECUTE) != 0) {
        const auto low =
            static_cast<std::uintptr_t>(segment->vmaddr) + static_cast<std::uintptr_t>(slide);
        known_code_images.add(low, low + static_cast<std::uintptr_t>(segment->vmsize));
      }
    }
    at += command->cmdsize;
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void prepare_walks() noexcept {
  if (!known_code_images.begun.swap(true)) {
    ::_dyld_register_func_for_add_image(&note_code_image);
  }
}

THRUM_OUT_OF_LINE bool find_code_file(std::uintptr_t address, code_file& found) noexcept {
  return known_code_images.find(address, found);
}

/// The rule: the frame begins two words above the frame pointer, and holds that of the caller and the
/// return address. By the numbers that registers have in call-frame information.
template <std::uint8_t frame_pointer, std::uint8_t return_column>
struct frame_pointer_rule {
  static constexpr std::uint8_t column = return_column;
  static constexpr std::uint8_t code[] = {0x0C,
                                          frame_pointer,
                                          16,  // the frame
                                          0x80 | frame_pointer,
                                          2,  // -2 words
                                          0x80 | return_column,
                                          1};
};

/// A template, as each processor has other members.
template <class State>
constexpr auto frame_rule_of(const State* state) noexcept {
  if constexpr (requires { state->__rip; }) {
    return frame_pointer_rule<6, 16>{};
  } else {
    return frame_pointer_rule<29, 30>{};
  }
}

THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address, const code_file&,
                                         unwind_entry& entry) noexcept {
  using rule =
      decltype(frame_rule_of(static_cast<decltype(&::ucontext_t{}.uc_mcontext->__ss)>(nullptr)));
  const auto at = reinterpret_cast<std::uintptr_t>(&rule::code[0]);
  entry = unwind_entry{};
  entry.common = byte_reader(at, at + sizeof rule::code);
  entry.begin = address;
  entry.data_unit = -8;
  entry.return_column = rule::column;
  return true;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_DARWIN_UNWIND_TABLE_HPP
