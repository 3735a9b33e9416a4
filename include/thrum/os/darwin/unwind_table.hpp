// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How the caller of a function is found on macOS: by the chain of frame pointers.
//
// The tables of exceptions are in a compact form of Apple's there, which says nothing of prologues
// and epilogues, and which only the unwinder reads. But all code of the system keeps a frame pointer:
// on arm64 the convention wants it, on x86-64 compilers do it unless they are told not to. So one
// rule stands for all functions, written as call-frame information: the caller's frame pointer and
// the return address lie where the frame pointer points. Of a function that was interrupted before it
// has made its frame, or after it has given it up, the caller is left out.
//
// Which addresses are code is known of all images: the loader tells of each that it adds. Those that
// are taken away again stay known.
//
// Source: the rules for frame pointers in Apple's guide to writing code for its processors; the DWARF
// 5 standard, 6.4.
#ifndef THRUM_OS_DARWIN_UNWIND_TABLE_HPP
#define THRUM_OS_DARWIN_UNWIND_TABLE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/os/unwind_entry.hpp>  // IWYU pragma: export

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The images of the process, as far as there is room. Handlers read it without a lock.
struct code_images {
  static constexpr std::size_t capacity = 1024;
  code_file files[capacity];
  std::atomic<std::size_t> size{0};
  std::atomic<bool> begun{false};

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

#if !THRUM_SEPARATE
#include <thrum/os/darwin/unwind_table_definition.hpp>
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_UNWIND_TABLE_HPP
