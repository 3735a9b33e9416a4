// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What os/linux/symbol.hpp declares: the bodies that are not inlined.
#ifndef THRUM_OS_LINUX_SYMBOL_DEFINITION_HPP
#define THRUM_OS_LINUX_SYMBOL_DEFINITION_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/base/order.hpp>
#include <thrum/os/linux/clock.hpp>
#include <thrum/os/linux/source_lines.hpp>
#include <thrum/os/linux/symbol.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// A file of code, for reading.
class elf_file {
 public:
  explicit elf_file(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return;
    }
    struct ::stat about {};
    if (::fstat(fd, &about) == 0 && about.st_size >= static_cast<off_t>(sizeof(ElfW(Ehdr)))) {
      size_ = static_cast<std::size_t>(about.st_size);
      void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      bytes_ = memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory);
    }
    ::close(fd);
  }
  ~elf_file() {
    if (bytes_ != nullptr) {
      ::munmap(const_cast<char*>(bytes_), size_);
    }
  }
  elf_file(const elf_file&) = delete;
  elf_file& operator=(const elf_file&) = delete;

  /// The function that holds an address, which is relative to the file's own; empty if unknown.
  std::string_view function_at(std::uintptr_t address) const noexcept {
    const auto* const header = at<ElfW(Ehdr)>(0, 1);
    if (header == nullptr || std::string_view(bytes_, SELFMAG) != ELFMAG) {
      return {};
    }
    const auto* const sections = at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    for (std::size_t i = 0; sections != nullptr && i < header->e_shnum; ++i) {
      const ElfW(Shdr)& symbols = sections[i];
      if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= header->e_shnum) {
        continue;
      }
      const ElfW(Shdr)& names = sections[symbols.sh_link];
      const std::size_t count = symbols.sh_size / sizeof(ElfW(Sym));
      const auto* const table = at<ElfW(Sym)>(symbols.sh_offset, count);
      const char* const text = at<char>(names.sh_offset, names.sh_size);
      for (std::size_t s = 0; table != nullptr && text != nullptr && s < count; ++s) {
        const ElfW(Sym)& symbol = table[s];
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && address >= symbol.st_value &&
            address - symbol.st_value < symbol.st_size && symbol.st_name < names.sh_size) {
          return text + symbol.st_name;
        }
      }
    }
    return {};
  }

  /// Whether the compiler has written down lines.
  bool has_lines() const noexcept {
    const auto* const header = at<ElfW(Ehdr)>(0, 1);
    if (header == nullptr || std::string_view(bytes_, SELFMAG) != ELFMAG) {
      return false;
    }
    const auto* const sections = at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    if (sections == nullptr || header->e_shstrndx >= header->e_shnum) {
      return false;
    }
    const ElfW(Shdr)& names = sections[header->e_shstrndx];
    constexpr std::string_view wanted(".debug_line\0", 12);
    for (std::size_t i = 0; i < header->e_shnum; ++i) {
      const char* const name = sections[i].sh_name < names.sh_size
                                   ? at<char>(names.sh_offset + sections[i].sh_name, wanted.size())
                                   : nullptr;
      if (name != nullptr && std::string_view(name, wanted.size()) == wanted) {
        return true;
      }
    }
    return false;
  }

  /// The address in the file of what lies first in memory; 0 but for programs that are not moved.
  std::uintptr_t first_address() const noexcept {
    const auto* const header = at<ElfW(Ehdr)>(0, 1);
    const auto* const parts =
        header != nullptr ? at<ElfW(Phdr)>(header->e_phoff, header->e_phnum) : nullptr;
    for (std::size_t i = 0; parts != nullptr && i < header->e_phnum; ++i) {
      if (parts[i].p_type == PT_LOAD) {  // they are in order
        return parts[i].p_vaddr - parts[i].p_vaddr % 4096;
      }
    }
    return 0;
  }

 private:
  template <class T>
  const T* at(std::size_t offset, std::size_t n) const noexcept {
    const bool inside = bytes_ != nullptr && offset <= size_ && n <= (size_ - offset) / sizeof(T);
    return inside ? reinterpret_cast<const T*>(bytes_ + offset) : nullptr;
  }

  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// The loader knows the program by the name that it was started with, relative to where.
inline std::string readable_path(const char* name) {
  return ::access(name, R_OK) == 0 ? name : "/proc/" + std::to_string(::getpid()) + "/exe";
}

inline std::string hexadecimal(std::uintptr_t n) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[n % 16]);
    n /= 16;
  } while (n != 0);
  return digits;
}

/// What a symbolizer knows already.
struct symbolizer::memory {
  std::string look_up(const void* address);

  std::string file_path;
  std::unique_ptr<elf_file> file;
  std::unordered_map<const void*, std::string> known;
  std::unordered_map<const void*, std::string> lines;
};

THRUM_OUT_OF_LINE std::string symbolizer::memory::look_up(const void* address) {
  ::Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "an unknown place";
  }
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string_view symbol = info.dli_sname != nullptr ? info.dli_sname : "";
  if (symbol.empty()) {
    if (file == nullptr || file_path != info.dli_fname) {
      file_path = info.dli_fname;
      file = std::make_unique<elf_file>(readable_path(info.dli_fname).c_str());
    }
    symbol = file->function_at(offset);
  }
  std::string text;
  if (!symbol.empty()) {
    text.append(symbolizer::demangled(std::string(symbol).c_str())).append(" at ");
  }
  const std::string_view path(info.dli_fname);
  const std::size_t slash = path.rfind('/');
  text.append(slash == path.npos ? path : path.substr(slash + 1)).append("+0x");
  return text.append(hexadecimal(offset));
}

THRUM_OUT_OF_LINE symbolizer::symbolizer() : memory_(new memory) {}
THRUM_OUT_OF_LINE symbolizer::~symbolizer() { delete memory_; }

THRUM_OUT_OF_LINE const std::string& symbolizer::describe(const void* address) {
  const auto [place, is_new] = memory_->known.try_emplace(address);
  if (is_new) {
    place->second = memory_->look_up(address);
  }
  return place->second;
}

THRUM_COLD THRUM_OUT_OF_LINE void symbolizer::find_lines(std::vector<const void*> addresses) {
  if (THRUM_ASAN || THRUM_TSAN ||           // which follow a thread, not one in two processes
      !wants_source_lines.load(relaxed)) {  // relaxed: a setting that publishes nothing
    return;
  }
  const line_tool tool = find_line_tool();
  if (tool.path.empty()) {
    return;
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::map<std::string, std::vector<std::pair<const void*, std::uintptr_t>>> files;
  for (const void* const address : addresses) {
    ::Dl_info info{};
    if (address != nullptr && ::dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
      files[info.dli_fname].emplace_back(address,
                                         reinterpret_cast<std::uintptr_t>(address) -
                                             reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    }
  }
  // relaxed: a setting that publishes nothing
  const std::int64_t deadline = now() + source_lines_patience_ns.load(relaxed);
  for (auto& [name, places] : files) {
    const std::string path = readable_path(name.c_str());
    const elf_file file(path.c_str());
    if (!file.has_lines()) {
      continue;
    }
    constexpr std::size_t most = 2'000;  // the words of a program are limited
    places.resize(std::min(places.size(), most));
    std::vector<std::uintptr_t> offsets;
    for (const auto& place : places) {
      offsets.push_back(file.first_address() + place.second);
    }
    bool late = false;
    const std::vector<std::string> found = ask_for_lines(tool, path, offsets, deadline, late);
    for (std::size_t i = 0; i != places.size(); ++i) {
      if (!found[i].empty()) {
        memory_->lines[places[i].first] = found[i];
      }
    }
    if (late) {
      wants_source_lines.store(false, relaxed);  // relaxed: a setting that publishes nothing
      return;
    }
  }
}

THRUM_OUT_OF_LINE std::string_view symbolizer::line_of(const void* address) const noexcept {
  const auto place = memory_->lines.find(address);
  return place != memory_->lines.end() ? std::string_view(place->second) : std::string_view();
}

THRUM_OUT_OF_LINE std::string symbolizer::demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

THRUM_OUT_OF_LINE exported_place find_exported(const void* address) noexcept {
  ::Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  const std::string_view path(info.dli_fname);
  const std::size_t slash = path.rfind('/');
  return {
      info.dli_sname != nullptr ? info.dli_sname : "",
      slash == path.npos ? path : path.substr(slash + 1),
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

THRUM_COLD THRUM_OUT_OF_LINE std::string describe_address(const void* address) {
  return symbolizer().describe(address);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_LINUX
#endif
