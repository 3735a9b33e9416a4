// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Names and lines of code addresses in the handler of a fault, on Linux: without malloc, whose lock the thread may
// hold, and whose heap may be written over.
//
// Names come from the loader and from the file of the code, as the linker has them. The system's own tools make
// them readable (c++filt) and find the lines (addr2line), as os/linux/source_lines.hpp describes. Their
// arguments and answers lie in pages of their own.
#ifndef THRUM_DETAIL_OS_LINUX_BARE_PLACES_HPP
#define THRUM_DETAIL_OS_LINUX_BARE_PLACES_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_ANDROID

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The names and lines at a few code addresses.
class bare_places {
 public:
  static constexpr std::size_t capacity = 88;

  bare_places() noexcept = default;
  ~bare_places();
  bare_places(const bare_places&) = delete;
  bare_places& operator=(const bare_places&) = delete;

  void add(const void* address) noexcept {
    if (size_ != capacity && find(address) == nullptr) {
      places_[size_++].address = address;
    }
  }

  /// Asks tools about what was added. Starts processes and blocks the thread, as find_lines does.
  [[gnu::cold]] void ask() noexcept;

  /// As the source has it; without a tool, as the linker has it; empty: unknown.
  std::string_view function_at(const void* address) const noexcept {
    const place* const found = find(address);
    return found != nullptr ? found->function : std::string_view();
  }
  /// "file:line"; empty: unknown.
  std::string_view line_of(const void* address) const noexcept {
    const place* const found = find(address);
    return found != nullptr ? found->line : std::string_view();
  }

 private:
  struct place {
    const void* address = nullptr;
    bool is_asked = false;
    std::string_view function;
    std::string_view line;
  };
  struct scratch;

  const place* find(const void* address) const noexcept {
    for (std::size_t i = 0; i != size_; ++i) {
      if (places_[i].address == address) {
        return &places_[i];
      }
    }
    return nullptr;
  }
  void find_names() noexcept;
  void demangle(std::int64_t deadline) noexcept;
  /// Finds the lines of all places in the file of one.
  void ask_file(const char* tool, bool is_symbolizer, std::size_t first,
                std::int64_t deadline) noexcept;
  /// Runs a tool with these arguments; returns what it has said.
  std::string_view hear(std::size_t words, std::int64_t deadline) noexcept;

  place places_[capacity];
  std::size_t size_ = 0;
  scratch* memory_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/clock.hpp>
#include <thrum/detail/os/linux/source_lines.hpp>
#include <thrum/detail/os/memory.hpp>
#include <thrum/detail/os/posix/code_image.hpp>
#include <thrum/detail/os/posix/loaded_code.hpp>
#include <thrum/detail/os/posix/symbol.hpp>

#include <iterator>
#include <new>

#include <dlfcn.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Only what is touched of it counts.
struct bare_places::scratch {
  base::message<24> numbers[capacity];
  const char* words[capacity + 10];
  char names[std::size_t{256} << 10];
  char answers[std::size_t{512} << 10];
  std::size_t names_size = 0;
  std::size_t answers_size = 0;
};

THRUM_OUT_OF_LINE bare_places::~bare_places() {
  if (memory_ != nullptr) {
    unmap(memory_, sizeof(scratch));
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void bare_places::ask() noexcept {
  if (void* const memory = map(sizeof(scratch)); memory != nullptr) {
    memory_ = ::new (memory) scratch;
    const std::int64_t deadline = now() + source_lines_patience_ns.get();
    find_names();
    char tool[512];
    if (!wants_source_lines.get()) {
      return;
    }
    constexpr std::string_view demanglers[] = {"c++filt", "llvm-cxxfilt"};
    memory_->words[0] = tool;
    if (find_tool(demanglers, std::size(demanglers), tool, sizeof tool) >= 0) {
      demangle(deadline);
    }
    const int found = find_tool(line_tools, std::size(line_tools), tool, sizeof tool);
    for (std::size_t i = 0; found >= 0 && i != size_ && now() < deadline; ++i) {
      if (!places_[i].is_asked) {
        ask_file(tool, found == place_of_symbolizer, i, deadline);
      }
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void bare_places::find_names() noexcept {
  for (std::size_t i = 0; i != size_; ++i) {
    char* const to = memory_->names + memory_->names_size;
    const std::size_t room = sizeof memory_->names - memory_->names_size - 1;
    ::Dl_info info{};
    if (find_object(places_[i].address, info)) {
      const std::string_view known = info.dli_sname != nullptr ? info.dli_sname : "";
      const std::size_t n =
          known.empty() ? copy_name_in_file(places_[i].address, to, room) : known.copy(to, room);
      to[n] = '\0';
      places_[i].function = {to, n};
      memory_->names_size += n + 1;
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE std::string_view bare_places::hear(std::size_t words,
                                                                std::int64_t deadline) noexcept {
  memory_->words[words] = nullptr;
  line_question question;
  question.arguments = const_cast<char* const*>(memory_->words);
  question.deadline = deadline;
  question.answer = memory_->answers + memory_->answers_size;
  question.capacity = sizeof memory_->answers - memory_->answers_size;
  if (!run_keeper(question)) {
    return {};
  }
  memory_->answers_size += question.size;
  return {question.answer, question.size};
}

/// Takes the first line off a text.
inline std::string_view take_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  return line;
}

THRUM_COLD THRUM_OUT_OF_LINE void bare_places::demangle(std::int64_t deadline) noexcept {
  std::size_t n = 1;
  for (std::size_t i = 0; i != size_; ++i) {
    if (!places_[i].function.empty()) {
      memory_->words[n++] = places_[i].function.data();
    }
  }
  std::string_view answer = hear(n, deadline);
  for (std::size_t i = 0; i != size_; ++i) {
    if (!places_[i].function.empty()) {
      const std::string_view name = take_line(answer);
      if (answer.empty() && name.empty()) {
        return;
      }
      places_[i].function = name;
    }
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void bare_places::ask_file(const char* tool, bool is_symbolizer,
                                                        std::size_t first,
                                                        std::int64_t deadline) noexcept {
  places_[first].is_asked = true;
  ::Dl_info about{};
  if (!find_object(places_[first].address, about)) {
    return;
  }
  // The loader knows the program by the name that it was started with, relative to where.
  base::message<40> own("/proc/");
  own.append(::getpid()).append("/exe").append(std::string_view("\0", 1));
  const char* const path =
      ::access(about.dli_fname, R_OK) == 0 ? about.dli_fname : own.view().data();
  const code_image code(path);
  std::size_t n = 0;
  if (is_symbolizer) {
    for (const char* const word : {tool, "--output-style=GNU", "--functions=none"}) {
      memory_->words[n++] = word;
    }
  } else {
    memory_->words[n++] = tool;
  }
  for (const char* const word : {"-a", "-i", "-e", path}) {
    memory_->words[n++] = word;
  }
  std::size_t which[capacity];
  std::size_t asked = 0;
  for (std::size_t i = first; i != size_; ++i) {
    ::Dl_info info{};
    if ((i != first && places_[i].is_asked) || !find_object(places_[i].address, info) ||
        info.dli_fbase != about.dli_fbase) {
      continue;
    }
    places_[i].is_asked = true;
    base::message<24>& number = memory_->numbers[asked];
    number.clear();
    number.append_hex(code.first_address() + reinterpret_cast<std::uintptr_t>(places_[i].address) -
                      reinterpret_cast<std::uintptr_t>(about.dli_fbase));
    number.append(std::string_view("\0", 1));
    memory_->words[n++] = number.view().data();
    which[asked++] = i;
  }
  std::string_view text = code.has_lines() ? hear(n, deadline) : std::string_view();
  line_reader reader(asked);
  while (!text.empty()) {
    if (const auto found = reader.read(take_line(text)); found.is_better) {
      places_[which[found.which]].line = found.line;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_ANDROID
#endif  // THRUM_DETAIL_OS_LINUX_BARE_PLACES_HPP
