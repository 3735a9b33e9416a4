// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What lies at a code address, on Windows.
//
// A program exports no names. Those of all functions stand in a table of its file, unless it was
// stripped: mingw's linkers write the symbol table of COFF object files, which the loader does not
// bring into memory. So that is read, once for each file that a report names.
//
// Source: the PE format as Microsoft documents it, "COFF Symbol Table".
#ifndef THRUM_OS_WINDOWS_SYMBOL_HPP
#define THRUM_OS_WINDOWS_SYMBOL_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Names addresses; keeps what it has found, and the files that it has looked into.
class symbolizer {
 public:
  symbolizer();
  ~symbolizer();
  symbolizer(const symbolizer&) = delete;
  symbolizer& operator=(const symbolizer&) = delete;

  /// "function at program+0x1234": the offset is as addr2line -e program takes it. Allocates.
  const std::string& describe(const void* address);

  /// Does nothing: there is no tool to ask.
  void find_lines(const std::vector<const void*>&) noexcept {}

  /// Empty.
  std::string_view line_of(const void*) const noexcept { return {}; }

  /// The name of a type or function as the source has it.
  static std::string demangled(const char* name);

 private:
  struct memory;
  memory* const memory_;
};

/// What the program exports at an address.
struct exported_place {
  static constexpr std::size_t longest_path = 260;

  std::string_view function;  ///< as the linker has it; empty: none
  std::string_view file;      ///< without its folder, in `path`; empty: an unknown place
  std::uint64_t offset = 0;
  char path[longest_path];
};

/// No malloc.
void find_exported(const void* address, exported_place& found) noexcept;

/// As symbolizer::describe, as far as that goes without malloc: the name is as the linker has it,
/// and only if the program exports it.
template <class Message>
void append_address(Message& text, const void* address) noexcept {
  exported_place place;
  find_exported(address, place);
  if (place.file.empty()) {
    text.append("an unknown place");
    return;
  }
  if (!place.function.empty()) {
    text.append(place.function).append(" at ");
  }
  text.append(place.file).append("+").append_hex(place.offset);
}

/// What lies at one address.
[[gnu::cold]] std::string describe_address(const void* address);

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/symbol_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_SYMBOL_HPP
