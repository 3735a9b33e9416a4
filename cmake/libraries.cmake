# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# What thrum::thrum links beside threads, found out anew where it is built and where it is installed:
# the package is the same for all processors.
#
# gcc makes operations on atomics of a byte calls of a library of its own on some of them (riscv64
# before gcc 14).
include(CheckCXXSourceCompiles)
set(thrum_atomic_test "#include <atomic>
  std::atomic<bool> one; std::atomic<unsigned long long> eight;
  int main() { return one.exchange(true) + static_cast<int>(eight.fetch_add(1)); }")
check_cxx_source_compiles("${thrum_atomic_test}" THRUM_ATOMICS_NEED_NOTHING)
if(NOT THRUM_ATOMICS_NEED_NOTHING)
  get_target_property(thrum_is_imported thrum::thrum IMPORTED)
  if(thrum_is_imported)
    target_link_libraries(thrum::thrum INTERFACE atomic)
  else()
    target_link_libraries(thrum INTERFACE $<BUILD_INTERFACE:atomic>)
  endif()
endif()
