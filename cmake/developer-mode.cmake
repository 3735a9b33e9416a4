# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Tests, benchmarks, examples, and how they are compiled. Warnings and sanitizers reach only the
# developers' own targets, by linking thrum_developer.
if(CMAKE_VERSION VERSION_LESS 3.25)
  message(FATAL_ERROR "thrum: its tests, examples and benchmarks need CMake 3.25; the library needs 3.22")
endif()

option(THRUM_CHECKS "Check the invariants of the library while it runs" ON)
option(THRUM_NO_EXCEPTIONS "Compile without exceptions and without run-time types" OFF)
option(THRUM_WERROR "Treat warnings as errors" OFF)
set(THRUM_SANITIZER "" CACHE STRING "address (with undefined), thread, undefined, or nothing")

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # for clang-tidy

# What another clone or another branch has compiled is not compiled once more. A compiler with a first
# argument is zig, which does the same itself.
find_program(THRUM_CCACHE ccache)
if(THRUM_CCACHE AND NOT CMAKE_CXX_COMPILER_ARG1 AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${THRUM_CCACHE})
  set_target_properties(thrum_separate PROPERTIES CXX_COMPILER_LAUNCHER ${THRUM_CCACHE})
endif()

add_library(thrum_developer INTERFACE)
target_link_libraries(thrum_developer INTERFACE thrum::thrum)
target_link_libraries(thrum_separate PUBLIC thrum_developer)
target_compile_options(thrum_developer INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # Without a collection before a gigabyte gcc takes a tenth less of time, and a fifth more of memory; its
  # analysis of uninitialised variables gives false alarms where it optimises little.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000 -Wno-psabi>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:RelWithDebInfo>>:-Wno-maybe-uninitialized>
  $<$<BOOL:${THRUM_WERROR}>:-Werror>
  $<$<BOOL:${THRUM_NO_EXCEPTIONS}>:-fno-exceptions -fno-rtti>)
target_compile_definitions(thrum_developer INTERFACE
  $<$<BOOL:${THRUM_CHECKS}>:THRUM_CHECKS=1>)

# libc++ before 20 hides std::stop_token. All of that is in headers: the linker needs no option.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("#include <version>
  #if defined(_LIBCPP_VERSION) && !defined(__cpp_lib_jthread)
  #error
  #endif
  int main() {}" THRUM_SHOWS_STOP_TOKEN)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT THRUM_SHOWS_STOP_TOKEN)
  target_compile_options(thrum_developer INTERFACE -fexperimental-library)
endif()

if(THRUM_SANITIZER STREQUAL "address")
  target_compile_options(thrum_developer INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(thrum_developer INTERFACE -fsanitize=address,undefined)
elseif(THRUM_SANITIZER STREQUAL "undefined")
  target_compile_options(thrum_developer INTERFACE -fsanitize=undefined -fno-sanitize-recover=all)
  target_link_options(thrum_developer INTERFACE -fsanitize=undefined)
elseif(THRUM_SANITIZER STREQUAL "thread")
  # gcc warns that ThreadSanitizer does not model fences; none of the orders that it would need to
  # know are given by a fence alone.
  target_compile_options(thrum_developer INTERFACE -fsanitize=thread
    $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_link_options(thrum_developer INTERFACE -fsanitize=thread)
elseif(THRUM_SANITIZER)
  message(FATAL_ERROR "THRUM_SANITIZER is address, thread, undefined, or empty; not ${THRUM_SANITIZER}")
endif()

# Each header compiled alone, with the developers' warnings and options: the target
# all_verify_interface_header_sets. thrum itself would be compiled without them.
set(headers_alone ${thrum_headers})
list(FILTER headers_alone EXCLUDE REGEX "put_macros_")  # two halves of one thing
if(NOT TARGET thrum::tls)
  list(FILTER headers_alone EXCLUDE REGEX "/net/tls")
endif()
list(FILTER headers_alone EXCLUDE REGEX "/interop/")  # they need Asio; tests/unit/asio_test.cpp includes them
add_library(thrum_each_header INTERFACE)
target_sources(thrum_each_header INTERFACE FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers_alone})
target_link_libraries(thrum_each_header INTERFACE thrum_developer $<TARGET_NAME_IF_EXISTS:thrum::tls>)
# And with some that a user may have, but that say nothing of a test. The front end says all that is
# asked here; there is no object file, so that it is asked anew each time.
target_compile_options(thrum_each_header INTERFACE -fsyntax-only -Wswitch-enum -Wredundant-decls
  $<$<CXX_COMPILER_ID:GNU>:-Wuseless-cast> $<$<CXX_COMPILER_ID:Clang>:-Wshadow-all>)
set_target_properties(thrum_each_header PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

# All of them in one file, in a fraction of the time: for other options, where each stands alone already.
list(TRANSFORM headers_alone REPLACE "^.*/include/(thrum.*)$" "#include <\\1>\n" OUTPUT_VARIABLE together)
list(JOIN together "" together)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/headers_together.cpp CONTENT "${together}" @ONLY)
add_library(thrum_headers_together OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/headers_together.cpp)
target_link_libraries(thrum_headers_together PRIVATE thrum_each_header)

if(THRUM_TESTS)
  enable_testing()
  add_subdirectory(tests)
endif()
if(THRUM_EXAMPLES)
  add_subdirectory(examples)
endif()
if(THRUM_BENCH)
  add_subdirectory(bench)
endif()
