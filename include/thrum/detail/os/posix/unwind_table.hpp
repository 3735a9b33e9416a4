// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the compiler has written down about each place in the code: how its caller's registers are
// found. Tables of call-frame information, as ELF files carry them for exceptions.
//
// The unwinder of exceptions reads the same tables, but it may not be called where a thread has
// been interrupted or stands still: it takes locks that may be held there, and it believes what it
// reads from the stack. So here is a reader that takes no lock, calls nothing but
// _dl_find_object, which is made for handlers, and does not leave the file that holds the code. Where there
// is no such call it knows the files that the process began with.
//
// Sources: the DWARF 5 standard, 6.4; the Linux Standard Base, Exception Frames.
#ifndef THRUM_DETAIL_OS_POSIX_UNWIND_TABLE_HPP
#define THRUM_DETAIL_OS_POSIX_UNWIND_TABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/unwind_entry.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>

#if THRUM_OS_ELF

#include <link.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The files that the process began with, as far as there is room; they stay. For C libraries that
/// cannot be asked in a handler: with those, what is loaded later is not walked through.
struct first_code_files {
  static constexpr std::size_t capacity = 128;
  code_file files[capacity];
  base::one_writer<std::size_t> size{0};
  base::hint<bool> begun{false};

  /// Once, early. Takes the lock of the loader.
  void remember() noexcept;

  bool find(std::uintptr_t address, code_file& found) const noexcept;

 private:
  void add(const ::dl_phdr_info& info) noexcept;
};

inline constinit first_code_files code_files_at_start;

/// Before the first walk, outside of handlers.
THRUM_OUT_OF_LINE void prepare_walks() noexcept;

/// The file that holds an address; false if none is known to. For handlers, too.
THRUM_OUT_OF_LINE bool find_code_file(std::uintptr_t address, code_file& found) noexcept;

/// What is written down about the function that holds an address; false if nothing is.
THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address, const code_file& file,
                                         unwind_entry& entry) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/base/order.hpp>

#include <dlfcn.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

THRUM_OUT_OF_LINE void first_code_files::remember() noexcept {
  if (begun.swap(true)) {
    return;
  }
  ::dl_iterate_phdr(
      [](::dl_phdr_info* info, std::size_t, void* own) noexcept {
        static_cast<first_code_files*>(own)->add(*info);
        return 0;
      },
      this);
}

THRUM_OUT_OF_LINE bool first_code_files::find(std::uintptr_t address,
                                              code_file& found) const noexcept {
  const std::size_t n = size.load(acquire);  // [code.files <] acquire: the entries
  for (std::size_t i = 0; i != n; ++i) {
    if (address >= files[i].low && address < files[i].high) {
      found = files[i];
      return true;
    }
  }
  return false;
}

THRUM_OUT_OF_LINE void first_code_files::add(const ::dl_phdr_info& info) noexcept {
  const std::size_t n = size.get();
  if (n == capacity) {
    return;
  }
  code_file file{~std::uintptr_t{0}, 0, 0};
  for (std::size_t i = 0; i != info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    const std::uintptr_t at = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      file.low = at < file.low ? at : file.low;
      file.high = at + part.p_memsz > file.high ? at + part.p_memsz : file.high;
    } else if (part.p_type == PT_GNU_EH_FRAME && !THRUM_HAS_ARM_UNWINDER) {  // lld makes one there
      file.index = at;
    }
  }
  files[n] = file;
  size.store(n + 1, release);  // [code.files >] release: the entry
}

THRUM_OUT_OF_LINE void prepare_walks() noexcept {
#ifndef DLFO_EH_SEGMENT_TYPE
  code_files_at_start.remember();
#endif
}

THRUM_OUT_OF_LINE bool find_code_file(std::uintptr_t address, code_file& found) noexcept {
#ifdef DLFO_EH_SEGMENT_TYPE
  ::dl_find_object object{};
  if (::_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) {
    return false;
  }
  found.low = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  found.high = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
  // 32-bit Arm has other tables.
  found.index = DLFO_EH_SEGMENT_TYPE == PT_GNU_EH_FRAME
                    ? reinterpret_cast<std::uintptr_t>(object.dlfo_eh_frame)
                    : 0;
  // If a file has room between its parts, as lld links for aarch64, the call reports the part with
  // the code alone. Linkers put the tables before it, behind their index.
  if (found.index != 0 && found.index < found.low) {
    found.low = found.index;
  }
  return true;
#else
  return code_files_at_start.find(address, found);
#endif
}

/// The part that functions share, at an address. False: in a form that is not known here.
inline bool read_common_part(const code_file& file, std::uintptr_t at,
                             unwind_entry& entry) noexcept {
  if (at < file.low || at >= file.high) {
    return false;
  }
  byte_reader in(at, file.high);
  const auto bytes = in.read<std::uint32_t>();
  byte_reader part(in.at(), in.at() + bytes);
  if (bytes == 0 || bytes == 0xFFFF'FFFF || bytes > file.high - in.at() ||
      part.read<std::uint32_t>() != 0) {
    return false;
  }
  const auto version = part.read<std::uint8_t>();
  if (version != 1 && version != 3) {
    return false;
  }
  char words[8] = {};
  std::size_t n = 0;
  for (char c = '\0'; (c = part.read<char>()) != '\0';) {
    if (n == sizeof words - 1) {
      return false;
    }
    words[n++] = c;
  }
  entry.code_unit = part.unsigned_number();
  entry.data_unit = part.signed_number();
  entry.return_column = version == 1 ? part.read<std::uint8_t>() : part.unsigned_number();
  entry.has_details = words[0] == 'z';
  if (entry.has_details) {
    const std::uint64_t more = part.unsigned_number();
    byte_reader details = part;
    part.skip(more);
    for (std::size_t i = 1; i != n; ++i) {
      switch (words[i]) {
        case 'R': entry.pointer_form = details.read<std::uint8_t>(); break;
        case 'P': {
          const auto form = details.read<std::uint8_t>();
          details.pointer(form & 0x0FU, true);
          break;
        }
        case 'L': details.read<std::uint8_t>(); break;
        case 'S': entry.is_signal = true; break;
        case 'B':
        case 'G': break;  // how aarch64 signs and tags
        default: return false;
      }
    }
    if (details.failed()) {
      return false;
    }
  } else if (n != 0) {
    return false;
  }
  entry.common = part;
  return !part.failed();
}

THRUM_OUT_OF_LINE bool find_unwind_entry(std::uintptr_t address, const code_file& file,
                                         unwind_entry& entry) noexcept {
  constexpr std::uint8_t absent = 0xFF;
  constexpr std::uint8_t relative_pairs = 0x3B;  // what all linkers write
  if (file.index < file.low || file.index >= file.high) {
    return false;
  }
  byte_reader in(file.index, file.high);
  const auto version = in.read<std::uint8_t>();
  const auto frame_form = in.read<std::uint8_t>();
  const auto count_form = in.read<std::uint8_t>();
  const auto table_form = in.read<std::uint8_t>();
  if (version != 1 || frame_form == absent || count_form == absent ||
      table_form != relative_pairs) {
    return false;
  }
  in.pointer(frame_form & 0x0FU, true);
  const std::uint64_t count = in.pointer(count_form, true);
  struct pair {
    std::int32_t begin;
    std::int32_t entry;
  };
  if (in.failed() || count == 0 || count > (file.high - in.at()) / sizeof(pair)) {
    return false;
  }
  const auto pair_at = [&](std::uint64_t i) {
    const auto distance = base::convert<std::uintptr_t>(i * sizeof(pair));
    return byte_reader(in.at() + distance, file.high).read<pair>();
  };
  const auto absolute = [&](std::int32_t offset) {
    return file.index + static_cast<std::uintptr_t>(std::intptr_t{offset});
  };
  std::uint64_t first = 0;  // the last that does not begin behind the address
  for (std::uint64_t behind = count; behind - first > 1;) {
    const std::uint64_t middle = first + (behind - first) / 2;
    (absolute(pair_at(middle).begin) <= address ? first : behind) = middle;
  }
  const std::uintptr_t at = absolute(pair_at(first).entry);
  if (at < file.low || at >= file.high) {
    return false;
  }
  byte_reader head(at, file.high);
  const auto bytes = head.read<std::uint32_t>();
  if (bytes == 0 || bytes == 0xFFFF'FFFF || bytes > file.high - head.at()) {
    return false;
  }
  byte_reader part(head.at(), head.at() + bytes);
  const std::uintptr_t here = part.at();
  const auto back = part.read<std::uint32_t>();
  if (back == 0 || !read_common_part(file, here - back, entry)) {
    return false;
  }
  entry.begin = part.pointer(entry.pointer_form);
  const std::uint64_t size = part.pointer(entry.pointer_form, true);
  if (entry.has_details) {
    part.skip(part.unsigned_number());  // what handlers of exceptions want to know
  }
  entry.own = part;
  return !part.failed() && address >= entry.begin && address - entry.begin < size;
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_ELF

#if THRUM_OS_MACOS

namespace thrum { inline namespace THRUM_ABI { namespace os {

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
#endif  // THRUM_DETAIL_OS_POSIX_UNWIND_TABLE_HPP
