// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The files of code in memory, as the loader has put them there: without a lock, for handlers, too.
#ifndef THRUM_DETAIL_OS_WINDOWS_CODE_IMAGE_HPP
#define THRUM_DETAIL_OS_WINDOWS_CODE_IMAGE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// A program or a library (DLL) in memory.
struct code_image {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::uintptr_t unwind_table = 0;  // entries of twelve bytes, sorted by address
  std::uint32_t unwind_entries = 0;
};

/// The one that holds an address; false if none does. Takes no lock.
bool find_code_image(std::uintptr_t address, code_image& found) noexcept;

/// What that exports at an address or before it, nearest first; empty if nothing.
std::string_view exported_name(const code_image& image, std::uintptr_t address) noexcept;

/// The path of its file, UTF-8, without a zero at the end; empty if it is longer than `most`.
std::string_view path_of(const code_image& image, char* to, std::size_t most) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/os/windows/api.hpp>

#include <cstring>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What an address of the image that stands in its file is in memory.
template <class T>
const T* in_image(std::uintptr_t low, std::uint32_t offset) noexcept {
  return reinterpret_cast<const T*>(low + offset);
}

THRUM_OUT_OF_LINE const ::IMAGE_NT_HEADERS* head_of_image(std::uintptr_t low) noexcept {
  const auto* const old = in_image<::IMAGE_DOS_HEADER>(low, 0);
  if (old->e_magic != IMAGE_DOS_SIGNATURE) {
    return nullptr;
  }
  const auto* const head =
      in_image<::IMAGE_NT_HEADERS>(low, static_cast<std::uint32_t>(old->e_lfanew));
  return head->Signature == IMAGE_NT_SIGNATURE ? head : nullptr;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool find_code_image(std::uintptr_t address,
                                                      code_image& found) noexcept {
  ::MEMORY_BASIC_INFORMATION about;
  if (::VirtualQuery(reinterpret_cast<const void*>(address), &about, sizeof about) == 0 ||
      about.Type != MEM_IMAGE || about.State != MEM_COMMIT) {
    return false;
  }
  const auto low = reinterpret_cast<std::uintptr_t>(about.AllocationBase);
  const ::IMAGE_NT_HEADERS* const head = head_of_image(low);
  if (head == nullptr) {
    return false;
  }
  const auto& table = head->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
  found.low = low;
  found.high = low + head->OptionalHeader.SizeOfImage;
  found.unwind_table = table.Size != 0 ? low + table.VirtualAddress : 0;
  found.unwind_entries = static_cast<std::uint32_t>(table.Size / sizeof(::RUNTIME_FUNCTION));
  return address < found.high;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::string_view exported_name(const code_image& image,
                                                                std::uintptr_t address) noexcept {
  const ::IMAGE_NT_HEADERS* const head = head_of_image(image.low);
  const auto& place = head->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
  if (place.Size == 0) {
    return {};
  }
  const auto* const exports = in_image<::IMAGE_EXPORT_DIRECTORY>(image.low, place.VirtualAddress);
  const auto* const functions = in_image<std::uint32_t>(image.low, exports->AddressOfFunctions);
  const auto* const names = in_image<std::uint32_t>(image.low, exports->AddressOfNames);
  const auto* const numbers = in_image<std::uint16_t>(image.low, exports->AddressOfNameOrdinals);
  const auto wanted = static_cast<std::uint32_t>(address - image.low);
  std::uint32_t nearest = 0;
  const char* name = nullptr;
  for (std::uint32_t i = 0; i != exports->NumberOfNames; ++i) {
    const std::uint32_t at = functions[numbers[i]];
    if (at <= wanted && at >= nearest) {
      nearest = at;
      name = in_image<char>(image.low, names[i]);
    }
  }
  return name != nullptr ? std::string_view(name) : std::string_view();
}

THRUM_NOINLINE THRUM_OUT_OF_LINE std::string_view path_of(const code_image& image, char* to,
                                                          std::size_t most) noexcept {
  constexpr ::DWORD longest = 512;
  wchar_t wide[longest];
  const ::DWORD length =
      ::GetModuleFileNameW(reinterpret_cast<::HMODULE>(image.low), wide, longest);
  if (length == 0 || length == longest) {
    return {};
  }
  const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, wide, static_cast<int>(length), to,
                                          static_cast<int>(most), nullptr, nullptr);
  return {to, static_cast<std::size_t>(bytes > 0 ? bytes : 0)};
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_CODE_IMAGE_HPP
