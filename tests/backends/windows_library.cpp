// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A library (DLL) that has a copy of the layer of its own, for windows_alone.cpp.
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/thread_parts.hpp>
#include <thrum/detail/os/windows/thread.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace {

namespace os = thrum::os;

struct probe {
  static constexpr std::string_view process_name = "tests::probe";
  std::atomic<int> word{0};
};

}  // namespace

extern "C" {

__declspec(dllexport) const void* library_probe() { return &os::process_wide<probe>::get(); }

__declspec(dllexport) void library_wake(std::atomic<std::uint32_t>* word) {
  os::futex_wake(*word, 1);
}

/// Whether the calling thread is in a block in which nobody interrupts it, as this library sees it.
__declspec(dllexport) bool library_is_uninterrupted() {
  auto* const count = static_cast<std::atomic<unsigned>*>(os::own_uninterrupted().get());
  return count != nullptr && count->load(std::memory_order_relaxed) != 0;  // relaxed: its own
}

}  // extern "C"
