# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Headers, a CMake package and a pkg-config file. Nothing of it depends on the processor.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/thrum)

if(CMAKE_VERSION VERSION_LESS 3.23)
  install(TARGETS thrum EXPORT thrum-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
else()
  # A consumer with CMake 3.22 knows no file sets, and gets the folder alone.
  install(TARGETS thrum EXPORT thrum-targets FILE_SET HEADERS INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(EXPORT thrum-targets NAMESPACE thrum:: DESTINATION ${package_dir})

configure_package_config_file(cmake/thrum-config.cmake.in thrum-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(thrum-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/thrum-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/thrum-config-version.cmake
  cmake/libraries.cmake
  cmake/separate.cmake
  cmake/tls.cmake
  cmake/implementation.cpp
  DESTINATION ${package_dir})
install(FILES cmake/openssl/CMakeLists.txt DESTINATION ${package_dir}/openssl)

set(thrum_pc_probes "")
if(THRUM_HAS_STACK_CLASH_PROTECTION)
  set(thrum_pc_probes " -fstack-clash-protection")
endif()
set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_libraries "")
if(WIN32)
  string(APPEND pc_libraries " -lws2_32 -liphlpapi -lntdll")
endif()
if(NOT THRUM_ATOMICS_NEED_NOTHING)
  string(APPEND pc_libraries " -latomic")
endif()
configure_file(cmake/thrum.pc.in thrum.pc @ONLY)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES tools/gdb/thrum-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/thrum/gdb)

install(FILES ${CMAKE_CURRENT_BINARY_DIR}/thrum.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
