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
//
// Lines of the source, which no tool of the system tells.
#ifndef THRUM_DETAIL_OS_WINDOWS_SYMBOL_HPP
#define THRUM_DETAIL_OS_WINDOWS_SYMBOL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether reports are to name lines. Nothing reads it here.
inline constinit base::hint<bool> wants_source_lines{false};

/// How long one report may wait for all of its lines.
inline constinit base::hint<std::int64_t> source_lines_patience_ns{2'000'000'000};

/// There is none.
inline bool is_foreign_source(std::string_view) noexcept { return true; }

/// Knows no names and no lines.
class bare_places {
 public:
  void add(const void*) noexcept {}
  void ask() noexcept {}
  std::string_view function_at(const void*) const noexcept { return {}; }
  std::string_view line_of(const void*) const noexcept { return {}; }
};

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

/// Appends the part of it that says the file of the code. No malloc.
template <class Message>
void append_file(Message& text, const void* address) noexcept {
  exported_place place;
  find_exported(address, place);
  text.append(place.file).append("+").append_hex(place.offset);
}

/// What lies at one address.
[[gnu::cold]] std::string describe_address(const void* address);

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/code_image.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <cxxabi.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A file, for reading.
class code_file_on_disk {
 public:
  explicit code_file_on_disk(const code_image& image) noexcept {
    constexpr ::DWORD longest = 512;
    wchar_t path[longest];
    const ::DWORD length =
        ::GetModuleFileNameW(reinterpret_cast<::HMODULE>(image.low), path, longest);
    if (length != 0 && length != longest) {
      file_ = ::CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                            OPEN_EXISTING, 0, nullptr);
    }
  }
  ~code_file_on_disk() {
    if (file_ != INVALID_HANDLE_VALUE) {
      ::CloseHandle(file_);
    }
  }
  code_file_on_disk(const code_file_on_disk&) = delete;
  code_file_on_disk& operator=(const code_file_on_disk&) = delete;

  /// Whether all of it was there.
  bool read(std::uint64_t from, void* to, std::size_t n) const noexcept {
    ::OVERLAPPED at{};
    at.Offset = static_cast<::DWORD>(from);
    at.OffsetHigh = static_cast<::DWORD>(from >> 32);
    ::DWORD got = 0;
    return file_ != INVALID_HANDLE_VALUE &&
           ::ReadFile(file_, to, static_cast<::DWORD>(n), &got, &at) != 0 && got == n;
  }

  /// Where the linker wanted it to lie, which the loader has overwritten in memory; and the rest of
  /// its head.
  bool read_head(::IMAGE_NT_HEADERS& head, std::uint32_t& sections) const noexcept {
    ::IMAGE_DOS_HEADER old;
    if (!read(0, &old, sizeof old) || old.e_magic != IMAGE_DOS_SIGNATURE) {
      return false;
    }
    const auto at = static_cast<std::uint32_t>(old.e_lfanew);
    if (!read(at, &head, sizeof head) || head.Signature != IMAGE_NT_SIGNATURE) {
      return false;
    }
    sections = at + static_cast<std::uint32_t>(offsetof(::IMAGE_NT_HEADERS, OptionalHeader)) +
               head.FileHeader.SizeOfOptionalHeader;
    return true;
  }

 private:
  ::HANDLE file_ = INVALID_HANDLE_VALUE;
};

/// A symbol of the table, by where it begins in memory, as an offset from the image's begin.
struct code_symbol {
  std::uint32_t at;
  std::string name;
};

/// Sorted; of functions only.
THRUM_OUT_OF_LINE std::vector<code_symbol> read_symbols(const code_image& image) {
  constexpr std::uint32_t symbol_bytes = 18;
  constexpr std::uint32_t most_symbols = 1 << 22;
  const code_file_on_disk file(image);
  ::IMAGE_NT_HEADERS head;
  std::uint32_t sections_at = 0;
  std::vector<code_symbol> found;
  if (!file.read_head(head, sections_at) || head.FileHeader.PointerToSymbolTable == 0 ||
      head.FileHeader.NumberOfSymbols > most_symbols) {
    return found;
  }
  std::vector<::IMAGE_SECTION_HEADER> sections(head.FileHeader.NumberOfSections);
  std::vector<char> table(std::size_t{head.FileHeader.NumberOfSymbols} * symbol_bytes);
  const std::uint64_t table_at = head.FileHeader.PointerToSymbolTable;
  std::uint32_t text_bytes =
      0;  // of the names that are longer than eight bytes, this word included
  if (!file.read(sections_at, sections.data(), sections.size() * sizeof sections[0]) ||
      !file.read(table_at, table.data(), table.size()) ||
      !file.read(table_at + table.size(), &text_bytes, sizeof text_bytes) ||
      text_bytes > table.size() + (std::size_t{1} << 28)) {
    return found;
  }
  std::vector<char> texts(std::size_t{text_bytes} + 1);
  if (!file.read(table_at + table.size(), texts.data(), text_bytes)) {
    return found;
  }
  for (std::uint32_t i = 0; i < head.FileHeader.NumberOfSymbols; ++i) {
    ::IMAGE_SYMBOL symbol;
    std::memcpy(&symbol, table.data() + std::size_t{i} * symbol_bytes, symbol_bytes);
    i += symbol.NumberOfAuxSymbols;
    const auto section = static_cast<std::size_t>(symbol.SectionNumber);
    if (symbol.SectionNumber < 1 || section > sections.size() ||
        (sections[section - 1].Characteristics & IMAGE_SCN_MEM_EXECUTE) == 0 ||
        (symbol.StorageClass != IMAGE_SYM_CLASS_EXTERNAL &&
         symbol.StorageClass != IMAGE_SYM_CLASS_STATIC)) {
      continue;
    }
    std::string name;
    if (symbol.N.Name.Short != 0) {
      const auto* const text = reinterpret_cast<const char*>(symbol.N.ShortName);
      name.assign(text, std::find(text, text + sizeof symbol.N.ShortName, '\0'));
    } else if (symbol.N.Name.Long < text_bytes) {
      name = texts.data() + symbol.N.Name.Long;
    }
    if (!name.empty() && name[0] != '.') {  // a section is a symbol, too
      found.push_back({sections[section - 1].VirtualAddress + symbol.Value, name});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const code_symbol& a, const code_symbol& b) { return a.at < b.at; });
  return found;
}

struct symbolizer::memory {
  struct known_file {
    std::vector<code_symbol> symbols;
  };
  std::map<std::uintptr_t, known_file> files;  // by where they lie
  std::map<const void*, std::string> places;

  std::string look_up(const void* address) {
    exported_place exported;
    find_exported(address, exported);
    if (exported.file.empty()) {
      return "an unknown place";
    }
    code_image image;
    find_code_image(reinterpret_cast<std::uintptr_t>(address), image);
    const auto [of_file, is_new] = files.try_emplace(image.low);
    if (is_new) {
      of_file->second.symbols = read_symbols(image);
    }
    const auto& symbols = of_file->second.symbols;
    const auto wanted =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address) - image.low);
    const auto behind =
        std::upper_bound(symbols.begin(), symbols.end(), wanted,
                         [](std::uint32_t at, const code_symbol& each) { return at < each.at; });
    std::string text;
    if (behind != symbols.begin()) {
      text = symbolizer::demangled((behind - 1)->name.c_str());
    } else if (!exported.function.empty()) {
      text = symbolizer::demangled(std::string(exported.function).c_str());
    }
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%llx",
                  static_cast<unsigned long long>(exported.offset));
    text.append(text.empty() ? "" : " at ").append(exported.file).append(offset);
    return text;
  }
};

THRUM_OUT_OF_LINE symbolizer::symbolizer() : memory_(new memory) {}
THRUM_OUT_OF_LINE symbolizer::~symbolizer() { delete memory_; }

THRUM_OUT_OF_LINE const std::string& symbolizer::describe(const void* address) {
  std::string& text = memory_->places[address];
  if (text.empty()) {
    text = memory_->look_up(address);
  }
  return text;
}

THRUM_OUT_OF_LINE std::string symbolizer::demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string result = status == 0 ? text : name;
  std::free(text);
  return result;  // NOLINT(performance-no-automatic-move)
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void find_exported(const void* address,
                                                    exported_place& found) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  code_image image;
  found.file = found.function = {};
  if (!find_code_image(at, image)) {
    return;
  }
  const std::string_view path = path_of(image, found.path, sizeof found.path);
  const std::size_t slash = path.find_last_of("\\/");
  found.file = path.empty()         ? std::string_view("a program")
               : slash == path.npos ? path
                                    : path.substr(slash + 1);
  found.function = exported_name(image, at);
  found.offset = at - image.low;
  ::IMAGE_NT_HEADERS head;
  std::uint32_t sections = 0;
  if (code_file_on_disk(image).read_head(head, sections)) {
    found.offset += head.OptionalHeader.ImageBase;
  }
}

THRUM_COLD THRUM_OUT_OF_LINE std::string describe_address(const void* address) {
  return symbolizer().describe(address);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif
#endif  // THRUM_DETAIL_OS_WINDOWS_SYMBOL_HPP
