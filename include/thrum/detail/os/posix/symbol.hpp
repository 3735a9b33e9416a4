// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What lies at a code address: what the loader says (dladdr), and what it does not know the file of
// code says itself, which each system has in its own form (code_image). Such a
// file is read once for each report that names it.
#ifndef THRUM_DETAIL_OS_POSIX_SYMBOL_HPP
#define THRUM_DETAIL_OS_POSIX_SYMBOL_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD || THRUM_OS_ANDROID

#include <thrum/detail/base/relaxed.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// Lines of the source in reports: none. What Linux does to ask a tool unseen by the program
// (os/linux/source_lines.hpp) takes a child that sends no SIGCHLD and shares our memory.

/// Without effect, as the next one.
inline constinit base::hint<bool> wants_source_lines{true};
inline constinit base::hint<std::int64_t> source_lines_patience_ns{2'000'000'000};

struct line_tool {
  std::string path;
};

/// Without a path: there is none.
inline line_tool find_line_tool() { return {}; }

inline std::vector<std::string> ask_for_lines(const line_tool&, const std::string&,
                                              const std::vector<std::uintptr_t>& places,
                                              std::int64_t, bool&) {
  return std::vector<std::string>(places.size());
}

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

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD || THRUM_OS_ANDROID

#if THRUM_OS_POSIX

#include <thrum/detail/os/posix/code_image.hpp>   // IWYU pragma: export
#include <thrum/detail/os/posix/loaded_code.hpp>  // IWYU pragma: export

#if !THRUM_OS_BSD && !THRUM_OS_ANDROID
#include <thrum/detail/os/linux/source_lines.hpp>  // IWYU pragma: export
#endif

#include <cstdint>

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

/// Appends the part of it that says the file of the code. No malloc.
template <class Message>
void append_file(Message& text, const void* address) noexcept {
  const exported_place place = find_exported(address);
  text.append(place.file).append("+").append_hex(place.offset);
}

/// What lies at one address.
[[gnu::cold]] std::string describe_address(const void* address);

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/append.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/os/clock.hpp>

#include <cstddef>
#include <cstdlib>

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a symbolizer knows already. A table of our own: what the standard's would cost each user's
/// compiler is more than all of this file.
struct symbolizer::memory {
  struct place {
    const void* address;
    place* next;
    std::string text;  // empty: not looked up yet
    std::string line;  // empty: unknown
  };

  memory() = default;
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  ~memory();

  /// Null: not known.
  place* find(const void* address) const noexcept;
  /// Makes it known.
  place& know(const void* address);

  std::string look_up(const void* address);
  /// Asks for the lines of addresses of one file. False: it took too long.
  bool ask(const line_tool& tool, const ::Dl_info& about, const std::vector<const void*>& addresses,
           std::int64_t deadline);

  static constexpr std::size_t chains = 1024;
  static std::size_t chain_of(const void* address) noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) >> 2) % chains;
  }

  std::string file_path;
  base::owner<code_image> file;
  place* known[chains] = {};
};

THRUM_OUT_OF_LINE symbolizer::memory::~memory() {
  for (place* each : known) {
    while (each != nullptr) {
      place* const next = each->next;
      delete each;
      each = next;
    }
  }
}

THRUM_OUT_OF_LINE auto symbolizer::memory::find(const void* address) const noexcept -> place* {
  place* each = known[chain_of(address)];
  while (each != nullptr && each->address != address) {
    each = each->next;
  }
  return each;
}

THRUM_OUT_OF_LINE auto symbolizer::memory::know(const void* address) -> place& {
  if (place* const found = find(address)) {
    return *found;
  }
  place*& first = known[chain_of(address)];
  first = new place{address, first, {}, {}};
  return *first;
}

THRUM_OUT_OF_LINE std::string symbolizer::memory::look_up(const void* address) {
  ::Dl_info info{};
  if (!find_object(address, info)) {
    return "an unknown place";
  }
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string_view symbol = info.dli_sname != nullptr ? info.dli_sname : "";
  if (symbol.empty()) {
    if (!file || file_path != info.dli_fname) {
      file_path = info.dli_fname;
      file.reset(new code_image(readable_path(info.dli_fname).c_str()));
    }
    symbol = file->function_at(file->first_address() + offset);
  }
  std::string text;
  if (!symbol.empty()) {
    base::append(text, {symbolizer::demangled(std::string(symbol).c_str()), " at "});
  }
  const std::string_view path(info.dli_fname);
  const std::size_t slash = path.rfind('/');
  base::append(text, {slash == path.npos ? path : path.substr(slash + 1), "+",
                      base::digits().append_hex(offset).view()});
  return text;
}

THRUM_OUT_OF_LINE symbolizer::symbolizer() : memory_(new memory) {}
THRUM_OUT_OF_LINE symbolizer::~symbolizer() { delete memory_; }

THRUM_OUT_OF_LINE const std::string& symbolizer::describe(const void* address) {
  memory::place& place = memory_->know(address);
  if (place.text.empty()) {
    place.text = memory_->look_up(address);
  }
  return place.text;
}

THRUM_OUT_OF_LINE bool symbolizer::memory::ask(const line_tool& tool, const ::Dl_info& about,
                                               const std::vector<const void*>& addresses,
                                               std::int64_t deadline) {
  const std::string path = about.dli_fname != nullptr ? readable_path(about.dli_fname) : "";
  const code_image code(path.c_str());
  if (!code.has_lines()) {
    return true;
  }
  constexpr std::size_t most = 2'000;  // the words of a program are limited
  std::vector<std::uintptr_t> offsets;
  for (std::size_t i = 0; i != addresses.size() && i != most; ++i) {
    offsets.push_back(code.first_address() + reinterpret_cast<std::uintptr_t>(addresses[i]) -
                      reinterpret_cast<std::uintptr_t>(about.dli_fbase));
  }
  bool late = false;
  const std::vector<std::string> found = ask_for_lines(tool, path, offsets, deadline, late);
  for (std::size_t i = 0; i != offsets.size(); ++i) {
    if (!found[i].empty()) {
      know(addresses[i]).line = found[i];
    }
  }
  return !late;
}

THRUM_COLD THRUM_OUT_OF_LINE void symbolizer::find_lines(std::vector<const void*> addresses) {
  if (THRUM_ASAN || THRUM_TSAN ||  // which follow a thread, not one in two processes
      !wants_source_lines.get()) {
    return;
  }
  const line_tool tool = find_line_tool();
  if (tool.path.empty()) {
    return;
  }
  std::qsort(addresses.data(), addresses.size(), sizeof addresses[0],
             [](const void* a, const void* b) {
               const void* const one = *static_cast<const void* const*>(a);
               const void* const other = *static_cast<const void* const*>(b);
               return one < other ? -1 : one == other ? 0 : 1;
             });
  const std::int64_t deadline = now() + source_lines_patience_ns.get();
  std::vector<const void*> of_file;  // what lies in one file lies together
  ::Dl_info about{};
  bool in_time = true;
  for (std::size_t i = 0; i <= addresses.size() && in_time; ++i) {
    ::Dl_info info{};
    const bool is_end = i == addresses.size();
    if (!is_end &&
        ((i != 0 && addresses[i] == addresses[i - 1]) || !find_object(addresses[i], info))) {
      continue;
    }
    if (!of_file.empty() && (is_end || info.dli_fbase != about.dli_fbase)) {
      in_time = memory_->ask(tool, about, of_file, deadline);
      of_file.clear();
    }
    if (!is_end) {
      about = info;
      of_file.push_back(addresses[i]);
    }
  }
  if (!in_time) {
    wants_source_lines.set(false);
  }
}

THRUM_OUT_OF_LINE std::string_view symbolizer::line_of(const void* address) const noexcept {
  const memory::place* const place = memory_->find(address);
  return place != nullptr ? std::string_view(place->line) : std::string_view();
}

THRUM_OUT_OF_LINE std::string symbolizer::demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string result = status == 0 ? text : name;
  std::free(text);
  return result;  // NOLINT(performance-no-automatic-move)
}

THRUM_OUT_OF_LINE exported_place find_exported(const void* address) noexcept {
  ::Dl_info info{};
  if (!find_object(address, info)) {
    return {};
  }
  const std::string_view path(info.dli_fname);
  const std::size_t slash = path.rfind('/');
  return {
      info.dli_sname != nullptr ? info.dli_sname : "",
      slash == path.npos ? path : path.substr(slash + 1),
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

THRUM_COLD THRUM_OUT_OF_LINE std::size_t copy_name_in_file(const void* address, char* to,
                                                           std::size_t room) noexcept {
  ::Dl_info info{};
  if (!find_object(address, info)) {
    return 0;
  }
  // The loader knows the program by the name that it was started with.
  const code_image file(::access(info.dli_fname, R_OK) == 0 ? info.dli_fname : "/proc/self/exe");
  const std::string_view name =
      file.function_at(file.first_address() + reinterpret_cast<std::uintptr_t>(address) -
                       reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  return name.copy(to, room);
}

THRUM_COLD THRUM_OUT_OF_LINE std::string describe_address(const void* address) {
  return symbolizer().describe(address);
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_POSIX
#endif  // THRUM_DETAIL_OS_POSIX_SYMBOL_HPP
