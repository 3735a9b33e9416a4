// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A file of code, as far as reports read it: an ELF file.
//
// dladdr knows only the names that a program exports, which for most programs is none. The names of
// all functions stand in the file's symbol table, unless it was stripped.
#ifndef THRUM_DETAIL_OS_POSIX_CODE_IMAGE_HPP
#define THRUM_DETAIL_OS_POSIX_CODE_IMAGE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_ELF

#include <thrum/detail/os/memory.hpp>
#include <thrum/detail/os/posix/large_file.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A file of code, for reading.
class code_image {
 public:
  explicit code_image(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return;
    }
    large_file::status about{};
    if (large_file::fstat(fd, about) == 0 &&
        about.st_size >= static_cast<large_file::offset>(sizeof(ElfW(Ehdr)))) {
      size_ = static_cast<std::size_t>(about.st_size);
      void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      bytes_ = memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory);
    }
    ::close(fd);
  }
  ~code_image() {
    if (bytes_ != nullptr) {
      ::munmap(const_cast<char*>(bytes_), size_);
    }
  }
  code_image(const code_image&) = delete;
  code_image& operator=(const code_image&) = delete;

  /// The function that holds an address, as the file has it; empty if unknown.
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
        return parts[i].p_vaddr - parts[i].p_vaddr % page_size();
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

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_ELF

#if THRUM_OS_MACOS

#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// On macOS reports read no file: dladdr reads the whole symbol table of an image, those names as well
// that it does not export.

class code_image {
 public:
  explicit code_image(const char*) noexcept {}

  /// Empty: the loader would have known it.
  static std::string_view function_at(std::uintptr_t) noexcept { return {}; }
  /// Lines stand in a file of their own, which only the system's tools read.
  static bool has_lines() noexcept { return false; }
  static std::uintptr_t first_address() noexcept { return 0; }
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_MACOS
#endif  // THRUM_DETAIL_OS_POSIX_CODE_IMAGE_HPP
