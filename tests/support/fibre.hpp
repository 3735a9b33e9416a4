// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The smallest thing that switches: a stack that is resumed by anybody and yields to its resumer.
// Does what the scheduler must do around a switch, and nothing else.
#ifndef THRUM_TESTS_SUPPORT_FIBRE_HPP
#define THRUM_TESTS_SUPPORT_FIBRE_HPP

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/sanitizer.hpp>
#include <thrum/detail/os/thread_state.hpp>

namespace support {

class fibre {
 public:
  static constexpr std::size_t default_stack_bytes = std::size_t{256} * 1024;

  explicit fibre(std::function<void(fibre&)> body)
      : owned_(new std::byte[default_stack_bytes]),
        stack_(owned_.get()),
        stack_bytes_(default_stack_bytes) {
    start(std::move(body));
  }
  /// On a stack of the caller's, aligned to 16.
  fibre(void* stack, std::size_t bytes, std::function<void(fibre&)> body)
      : stack_(stack), stack_bytes_(bytes) {
    start(std::move(body));
  }
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;
  ~fibre() { thrum::base::context_destroy(context_); }

  /// Runs the body until it yields or ends, on the calling thread.
  [[gnu::noinline]] void resume() {
    thrum::base::stack_context own;
    thrum::base::context_adopt(own);
    resumer_ = &own;
    thrum::os::exception_state* const live = thrum::os::thread_exception_state();
    thrum::os::exception_state mine;
    thrum::os::switch_exception_state(live, mine, exceptions_);
    thrum::base::before_switch(own, context_, false);
    thrum::arch::switch_stack(&resumer_sp_, sp_, this);
    thrum::base::after_switch(own);
    thrum::os::switch_exception_state(live, exceptions_, mine);
  }

  /// Called by the body: goes back to its resumer.
  [[gnu::noinline]] void yield() {
    thrum::base::before_switch(context_, *resumer_, done_);
    thrum::arch::switch_stack(&sp_, resumer_sp_, this);
    thrum::base::after_switch(context_);
  }

  [[nodiscard]] bool done() const { return done_; }

 private:
  void start(std::function<void(fibre&)> body) {
    body_ = std::move(body);
    thrum::base::context_create(context_, stack_, stack_bytes_);
    auto top = reinterpret_cast<std::uintptr_t>(stack_) + stack_bytes_;
    top &= ~std::uintptr_t{thrum::arch::stack_alignment - 1};
    sp_ = thrum::arch::prepare_stack(reinterpret_cast<void*>(top), {stack_, stack_}, &entry, this);
  }

  static void entry(void* pass, void* argument) {
    fibre& self = *static_cast<fibre*>(argument);
    thrum::base::after_switch(self.context_);
    if (pass != argument) {
      thrum::base::fatal("the first switch lost its value");
    }
    self.run_body();
    self.done_ = true;
    self.yield();
    thrum::base::fatal("a fibre that had ended was resumed");
  }

  // Apart from entry, so that the body's temporaries are gone before the last switch.
  [[gnu::noinline]] void run_body() { body_(*this); }

  std::unique_ptr<std::byte[]> owned_;
  void* stack_;
  std::size_t stack_bytes_;
  std::function<void(fibre&)> body_;
  void* sp_ = nullptr;
  void* resumer_sp_ = nullptr;
  thrum::os::exception_state exceptions_{};
  [[no_unique_address]] thrum::base::stack_context context_;
  thrum::base::stack_context* resumer_ = nullptr;
  bool done_ = false;
};

}  // namespace support

#endif  // THRUM_TESTS_SUPPORT_FIBRE_HPP
