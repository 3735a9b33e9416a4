// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Hooks for options::memory that hand out memory of operator new, know what they have handed out, and
// can refuse.
#ifndef THRUM_TESTS_SUPPORT_COUNTED_MEMORY_HPP
#define THRUM_TESTS_SUPPORT_COUNTED_MEMORY_HPP

#include <thrum.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

namespace support {

class counted_memory {
 public:
  struct block {
    std::size_t bytes;
    std::size_t alignment;
    thrum::memory_use use;
  };

  counted_memory() = default;
  counted_memory(const counted_memory&) = delete;
  counted_memory& operator=(const counted_memory&) = delete;

  thrum::memory_hooks hooks() noexcept {
    thrum::memory_hooks all;
    all.allocate = &allocate;
    all.deallocate = &deallocate;
    all.context = this;
    return all;
  }

  /// How often either hook was called.
  std::size_t calls() const noexcept { return calls_; }

  std::size_t blocks() {
    const std::lock_guard guard(lock_);
    return blocks_.size();
  }
  std::size_t blocks(thrum::memory_use use) {
    const std::lock_guard guard(lock_);
    std::size_t n = 0;
    for (const auto& each : blocks_) {
      n += each.second.use == use ? 1 : 0;
    }
    return n;
  }
  /// The one that an address lies in; of 0 bytes: none.
  block find(const void* address) {
    const std::lock_guard guard(lock_);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const auto& each : blocks_) {
      if (at - each.first < each.second.bytes) {
        return each.second;
      }
    }
    return {};
  }
  template <class F>
  void for_each(F f) {
    const std::lock_guard guard(lock_);
    for (const auto& each : blocks_) {
      f(each.first, each.second);
    }
  }
  /// What was given back was not handed out, or not so.
  std::size_t mistakes() const noexcept { return mistakes_; }

  std::atomic<bool> refuses_stacks{false};
  std::atomic<bool> refuses_objects{false};

  /// Called by each allocation first, without a lock.
  std::atomic<void (*)(counted_memory&)> before{nullptr};

 private:
  static void* allocate(std::size_t bytes, std::size_t alignment, thrum::memory_use use,
                        void* context) noexcept {
    auto& self = *static_cast<counted_memory*>(context);
    ++self.calls_;
    if (void (*const f)(counted_memory&) = self.before) {
      f(self);
    }
    if (use == thrum::memory_use::stack ? self.refuses_stacks : self.refuses_objects) {
      return nullptr;
    }
    void* const memory = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    if (memory != nullptr) {
      const std::lock_guard guard(self.lock_);
      self.blocks_.emplace(reinterpret_cast<std::uintptr_t>(memory), block{bytes, alignment, use});
    }
    return memory;
  }
  static void deallocate(void* memory, std::size_t bytes, std::size_t alignment,
                         thrum::memory_use use, void* context) noexcept {
    auto& self = *static_cast<counted_memory*>(context);
    ++self.calls_;
    {
      const std::lock_guard guard(self.lock_);
      const auto found = self.blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
      if (found == self.blocks_.end() || found->second.bytes != bytes ||
          found->second.alignment != alignment || found->second.use != use) {
        ++self.mistakes_;
        return;
      }
      self.blocks_.erase(found);
    }
    // All of it can be written again.
    for (std::size_t at = 0; at < bytes; at += 512) {
      static_cast<volatile char*>(memory)[at] = 1;
    }
    ::operator delete(memory, std::align_val_t(alignment));
  }

  std::mutex lock_;
  std::map<std::uintptr_t, block> blocks_;
  std::atomic<std::size_t> calls_{0};
  std::atomic<std::size_t> mistakes_{0};
};

}  // namespace support

#endif
