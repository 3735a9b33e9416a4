// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What lies at a code address: what the loader says (dladdr), and what it does not know the file of
// code says itself, which each system has in its own form (code_image of os/code_parts.hpp). Such a
// file is read once for each report that names it.
#ifndef THRUM_OS_POSIX_SYMBOL_HPP
#define THRUM_OS_POSIX_SYMBOL_HPP

#include <cstdint>

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX

#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names addresses; keeps what it has found, and the last file open that it has looked into.
class symbolizer {
 public:
  symbolizer();
  ~symbolizer();
  symbolizer(const symbolizer&) = delete;
  symbolizer& operator=(const symbolizer&) = delete;

  /// "function at program+0x1234": the offset is as addr2line -e program takes it. Allocates.
  const std::string& describe(const void* address);

  /// Asks the system's tool for the source lines of these addresses, as far as their files have
  /// any; line_of knows them afterwards. Starts processes and blocks the thread, for the time that
  /// source_lines.hpp says at most. Not in a section, nor in the handler of a signal. Allocates.
  [[gnu::cold]] void find_lines(std::vector<const void*> addresses);

  /// "file:line", if find_lines has found it; else empty.
  std::string_view line_of(const void* address) const noexcept;

  /// The name of a type or function as the source has it.
  static std::string demangled(const char* name);

 private:
  struct memory;
  memory* const memory_;
};

/// What the program exports at an address.
struct exported_place {
  std::string_view function;  ///< as the linker has it; empty: none
  std::string_view file;      ///< without its folder; empty: an unknown place
  std::uintptr_t offset = 0;
};

/// No malloc. The texts are the loader's.
THRUM_OUT_OF_LINE exported_place find_exported(const void* address) noexcept;

/// Copies as much of the name as there is room for that the file of the code has for an address, without
/// exporting it; returns how much. No malloc.
[[gnu::cold]] std::size_t copy_name_in_file(const void* address, char* to,
                                            std::size_t room) noexcept;

/// As symbolizer::describe, as far as that goes without malloc: the name is as the linker has it.
template <class Message>
void append_address(Message& text, const void* address) noexcept {
  const exported_place place = find_exported(address);
  if (place.file.empty()) {
    text.append("an unknown place");
    return;
  }
  char name[400];
  std::string_view function = place.function;
  if (function.empty()) {
    function = std::string_view(name, copy_name_in_file(address, name, sizeof name));
  }
  if (!function.empty()) {
    text.append(function).append(" at ");
  }
  text.append(place.file).append("+").append_hex(place.offset);
}

/// What lies at one address.
[[gnu::cold]] std::string describe_address(const void* address);

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/posix/symbol_definition.hpp>
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_OS_POSIX_SYMBOL_HPP
