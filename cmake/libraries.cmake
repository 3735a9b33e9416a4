# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# What thrum::thrum links beside threads, and compiles with, found out anew where it is built and where it is installed:
# the package is the same for all processors.
#
# gcc makes operations on atomics of a byte calls of a library of its own on some of them (riscv64
# before gcc 14).
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT "CXX" IN_LIST languages)
  return()  # nothing of the library can be compiled there
endif()
include(CheckCXXSourceCompiles)
set(thrum_atomic_test "#include <atomic>
  std::atomic<bool> one; std::atomic<unsigned long long> eight;
  int main() { return one.exchange(true) + static_cast<int>(eight.fetch_add(1)); }")
set(thrum_kept_flags "${CMAKE_REQUIRED_FLAGS}")
string(APPEND CMAKE_REQUIRED_FLAGS " -w")  # a project that has -Weverything -Werror asks nothing of the test
check_cxx_source_compiles("${thrum_atomic_test}" THRUM_ATOMICS_NEED_NOTHING)
set(CMAKE_REQUIRED_FLAGS "${thrum_kept_flags}")
if(NOT THRUM_ATOMICS_NEED_NOTHING)
  get_target_property(thrum_is_imported thrum::thrum IMPORTED)
  if(thrum_is_imported)
    target_link_libraries(thrum::thrum INTERFACE atomic)
  else()
    target_link_libraries(thrum INTERFACE $<BUILD_INTERFACE:atomic>)
  endif()
endif()

# A large frame touches its pages one by one, so that it meets the guard below a goroutine's stack.
# On Windows every compiler does that anyway.
if(NOT WIN32)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fstack-clash-protection THRUM_HAS_STACK_CLASH_PROTECTION)
endif()
if(THRUM_HAS_STACK_CLASH_PROTECTION)
  get_target_property(thrum_is_imported thrum::thrum IMPORTED)
  set(thrum_probes $<$<COMPILE_LANGUAGE:CXX>:-fstack-clash-protection>)
  if(thrum_is_imported)
    target_compile_options(thrum::thrum INTERFACE ${thrum_probes})
  else()
    target_compile_options(thrum INTERFACE $<BUILD_INTERFACE:${thrum_probes}>)
  endif()
endif()
