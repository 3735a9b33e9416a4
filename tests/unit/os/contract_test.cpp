// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The concepts of a system's capabilities. That the layer of this system satisfies all of them is
// asserted where it is chosen; here is shown that each refuses a layer that does less.
#include "ports/chosen_system.hpp"
#include "ports/system_contract.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "support/catch.hpp"

namespace {

namespace os = thrum::os;

struct clock_of_ints : os::chosen_system {
  static int now() noexcept;
};
struct clock_that_throws : os::chosen_system {
  static std::int64_t now();
};
struct fence_without_heavy_side : os::chosen_system {
  void heavy_fence();  // of an object, so there is none of the system
};
struct fence_of_unknown_kind : os::chosen_system {
  static void prepare_heavy_fence() noexcept;
};
struct fence_for_no_thread : os::chosen_system {
  static void heavy_fence_for(int) noexcept;
};
struct waits_without_timeout : os::chosen_system {
  static bool futex_wait(std::atomic<std::uint32_t>&, std::uint32_t) noexcept;
};
struct note_without_sleep_for {
  enum class wakening { event };
  void sleep() noexcept;
  void wake() noexcept;
  wakening sleep_or_nudge(std::int64_t) noexcept;
  void nudge() noexcept;
  void clear() noexcept;
  void clear_while_woken() noexcept;
  bool is_set() const noexcept;
};
struct note_that_is_copied : note_without_sleep_for {
  bool sleep_for(std::int64_t) noexcept;
};
struct note_that_stays : note_that_is_copied {
  note_that_stays() noexcept = default;
  note_that_stays(const note_that_stays&) = delete;
};
struct thread_without_try_join {
  static int start(thread_without_try_join&, void* (*)(void*), void*) noexcept;
  thread_without_try_join(thread_without_try_join&&) noexcept;
  thread_without_try_join& operator=(thread_without_try_join&&) noexcept;
  void join() noexcept;
  bool joinable() const noexcept;
};
struct thread_with_try_join : thread_without_try_join {
  static int start(thread_with_try_join&, void* (*)(void*), void*) noexcept;
  bool try_join() noexcept;
};
struct guards_of_int : os::chosen_system {
  static int install_guard(void*, std::size_t) noexcept;
};
struct guards_foreign_memory_by_int : os::chosen_system {
  static int guard_foreign(void*, std::size_t) noexcept;
};
struct counts_processors_in_64_bits : os::chosen_system {
  static std::uint64_t available_processors() noexcept;
};
struct hook_that_throws : os::chosen_system {
  using exit_hook = void (*)(int);
};
struct no_fork_hooks : os::chosen_system {
  static void call_after_fork() noexcept;
};
struct one_for_each_use : os::chosen_system {
  template <class T>
  struct process_wide {
    static std::unique_ptr<T> get() noexcept;
  };
};
struct errno_by_value : os::chosen_system {
  static int thread_error_number() noexcept;
};
struct thread_seen_by_number : os::chosen_system {
  struct thread_ref {
    static constexpr bool has_fine_clock = true;
    void open() noexcept;
    void close() noexcept;
    bool is_calling_thread() const noexcept;
    std::int64_t cpu_now() const noexcept;
    int look() const noexcept;
    bool naps() const noexcept;
    bool interrupt(preempt_target&) const noexcept;
  };
};
struct preempts_unnoticed : os::chosen_system {
  static bool install_preempt_handler() noexcept;
};
struct results_of_32_bits : os::chosen_system {
  using io_result = int;
};
struct results_without_names : os::chosen_system {
  static constexpr long would_block = -1;
};
struct errors_as_numbers : os::chosen_system {
  static int error_code_of(io_result) noexcept;
};
struct handles_that_own : os::chosen_system {
  using handle = std::unique_ptr<int>;
};
struct handles_without_number : os::chosen_system {
  static void number_of(handle) noexcept;
};
struct reads_chars : os::chosen_system {
  static io_result read(int, char*, std::size_t) noexcept;
};
struct sends_without_count : os::chosen_system {
  static bool send(int, const void*, std::size_t) noexcept;
};
struct directories_of_copies : os::chosen_system {
  struct directory_reader {
    os::io_result open(const char*) noexcept;
    os::io_result next(const char*&, os::entry_kind&) noexcept;
  };
};
struct files_of_int_size : os::chosen_system {
  static int file_size(int) noexcept;
};
struct pipe_of_pointer : os::chosen_system {
  static io_result open_pipe(char*) noexcept;
};
struct process_without_core : os::chosen_system {
  struct process_end {
    int code;
    int signal;
  };
};
struct watch_without_wake : os::chosen_system {
  struct child_watch {};
};
struct signals_without_mask : os::chosen_system {
  struct caught_signals {};
};
struct quits_for_all : os::chosen_system {
  struct quit_listener {
    static bool open() noexcept;
  };
};
struct faults_with_context : os::chosen_system {
  static void install_fault_observer(void (*)(void*)) noexcept;
};
struct symbols_as_pointers : os::chosen_system {
  static const char* describe_address(const void*);
};
struct lines_by_value : os::chosen_system {
  static constexpr bool wants_source_lines = false;
};
struct callers_from_here : os::chosen_system {
  static void collect_callers(call_stack&) noexcept;
};
struct walks_by_force : os::chosen_system {
  static void find_code_file(std::uintptr_t, code_file&) noexcept;
};

}  // namespace

TEST_CASE("a system whose layer does less than a capability promises is refused") {
  STATIC_REQUIRE_FALSE(os::has_clock<clock_of_ints>);
  STATIC_REQUIRE_FALSE(os::has_clock<clock_that_throws>);
  STATIC_REQUIRE_FALSE(os::has_note<waits_without_timeout>);
  STATIC_REQUIRE_FALSE(os::has_memory<guards_of_int>);
  STATIC_REQUIRE_FALSE(os::has_memory<guards_foreign_memory_by_int>);
  STATIC_REQUIRE_FALSE(os::has_fence<fence_without_heavy_side>);
  STATIC_REQUIRE_FALSE(os::has_fence<fence_of_unknown_kind>);
  STATIC_REQUIRE_FALSE(os::has_fence<fence_for_no_thread>);
  STATIC_REQUIRE_FALSE(os::has_processors<counts_processors_in_64_bits>);
  STATIC_REQUIRE_FALSE(os::has_exit<hook_that_throws>);
  STATIC_REQUIRE_FALSE(os::has_fork_hooks<no_fork_hooks>);
  STATIC_REQUIRE_FALSE(os::has_process_wide<one_for_each_use>);
  STATIC_REQUIRE_FALSE(os::has_thread_records<errno_by_value>);
  STATIC_REQUIRE_FALSE(os::has_thread_ref<thread_seen_by_number>);
  STATIC_REQUIRE_FALSE(os::has_preemption<preempts_unnoticed>);
  STATIC_REQUIRE_FALSE(os::has_results<results_of_32_bits>);
  STATIC_REQUIRE_FALSE(os::has_results<results_without_names>);
  STATIC_REQUIRE_FALSE(os::has_results<errors_as_numbers>);
  STATIC_REQUIRE_FALSE(os::has_handles<handles_that_own>);
  STATIC_REQUIRE_FALSE(os::has_handles<handles_without_number>);
  STATIC_REQUIRE_FALSE(os::has_descriptor<reads_chars>);
  STATIC_REQUIRE_FALSE(os::has_socket<sends_without_count>);
  STATIC_REQUIRE_FALSE(os::has_file<files_of_int_size>);
  STATIC_REQUIRE_FALSE(os::has_directory<directories_of_copies>);
  STATIC_REQUIRE_FALSE(os::has_pipe<pipe_of_pointer>);
  STATIC_REQUIRE_FALSE(os::has_process<process_without_core>);
  STATIC_REQUIRE_FALSE(os::has_child_watch<watch_without_wake>);
  STATIC_REQUIRE_FALSE(os::has_caught_signals<signals_without_mask>);
  STATIC_REQUIRE_FALSE(os::has_quit_signal<quits_for_all>);
  STATIC_REQUIRE_FALSE(os::has_fault<faults_with_context>);
  STATIC_REQUIRE_FALSE(os::has_symbol<symbols_as_pointers>);
  STATIC_REQUIRE_FALSE(os::has_source_lines<lines_by_value>);
  STATIC_REQUIRE_FALSE(os::has_backtrace<callers_from_here>);
  STATIC_REQUIRE_FALSE(os::has_unwind_table<walks_by_force>);
}

TEST_CASE("a note sleeps with and without a limit and is never copied") {
  STATIC_REQUIRE_FALSE(os::note_like<note_without_sleep_for>);
  STATIC_REQUIRE_FALSE(os::note_like<note_that_is_copied>);
  STATIC_REQUIRE(os::note_like<note_that_stays>);
}

TEST_CASE("a thread is moved, never copied, and can be joined without waiting") {
  STATIC_REQUIRE_FALSE(os::thread_like<thread_without_try_join>);
  STATIC_REQUIRE(os::thread_like<thread_with_try_join>);
}
