# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# thrum::separate: the library with its implementation compiled once, instead of in every source file.
# It is built with the options that the project has set by then, and only if something links it. What
# exports a target that links it exports the name; find_package(thrum) makes it anew.
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CXX" IN_LIST languages AND NOT TARGET thrum_separate)
  add_library(thrum_separate STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/implementation.cpp")
  target_link_libraries(thrum_separate PUBLIC thrum::thrum)
  target_compile_definitions(thrum_separate PUBLIC THRUM_SEPARATE=1)
  set_target_properties(thrum_separate PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(thrum::separate INTERFACE IMPORTED GLOBAL)
  target_link_libraries(thrum::separate INTERFACE thrum_separate)
endif()
