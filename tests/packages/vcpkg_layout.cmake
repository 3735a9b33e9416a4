# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Runs the portfile of vcpkg's port without vcpkg, and looks at what it installs by the rules of vcpkg's checks behind a build:
# headers, a copyright, the CMake package in share/<port>, nothing in lib, no empty folder, no path of this machine. The helpers
# that a portfile calls are here as far as this one needs them, from their documentation; they are not vcpkg's own.
#
#   cmake -DPORT_FOLDER=... -DWORK=... -P vcpkg_layout.cmake      installs into WORK/packages
cmake_minimum_required(VERSION 3.22)

set(PORT thrum)
file(READ "${PORT_FOLDER}/vcpkg.json" manifest)
string(JSON VERSION GET "${manifest}" version)
set(CMAKE_CURRENT_LIST_DIR "${PORT_FOLDER}")
set(CURRENT_PACKAGES_DIR "${WORK}/packages")
set(CURRENT_BUILDTREES_DIR "${WORK}/buildtrees")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "${ARGV}: ${said}")
  endif()
endfunction()

function(vcpkg_download_distfile out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
  list(GET arg_URLS 0 url)
  file(DOWNLOAD "${url}" "${WORK}/downloads/${arg_FILENAME}" EXPECTED_HASH SHA512=${arg_SHA512})
  set(${out} "${WORK}/downloads/${arg_FILENAME}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)  # a single folder on top is left out
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT "${arg_ARCHIVE}" DESTINATION "${CURRENT_BUILDTREES_DIR}/src")
  file(GLOB top "${CURRENT_BUILDTREES_DIR}/src/*")
  set(${out} "${top}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}/rel" -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}/rel" --target install)
endfunction()

function(vcpkg_cmake_config_fixup)  # to share/<port>
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  set(from "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
  file(GLOB files "${from}/*")
  if(NOT files)
    message(FATAL_ERROR "vcpkg_cmake_config_fixup: there is nothing in ${arg_CONFIG_PATH}")
  endif()
  file(COPY ${files} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(REMOVE_RECURSE "${from}")
  # Where they stand now the prefix is two folders above.
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REGEX REPLACE "(get_filename_component\\(_IMPORT_PREFIX \"\\\${CMAKE_CURRENT_LIST_FILE}\" PATH\\))(\n *get_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\))+"
      "\\1\\2\\2" text "${text}")
    string(REGEX REPLACE "(PACKAGE_PREFIX_DIR \"\\\${CMAKE_CURRENT_LIST_DIR})(/\\.\\.)+" "\\1/../.." text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
  cmake_path(GET from PARENT_PATH above)
  file(GLOB left "${above}/*")
  if(NOT left)
    file(REMOVE_RECURSE "${above}")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)  # each file begins with a prefix that goes with it
  file(GLOB_RECURSE files "${CURRENT_PACKAGES_DIR}/*.pc")
  foreach(pc IN LISTS files)
    file(READ "${pc}" text)
    string(REGEX REPLACE "(^|\n)prefix=[^\n]*" "\\1prefix=\${pcfiledir}/../.." text "${text}")
    file(WRITE "${pc}" "${text}")
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  configure_file("${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" COPYONLY)
endfunction()

include("${PORT_FOLDER}/portfile.cmake")

set(wrong "")
foreach(path IN ITEMS include/thrum.hpp share/${PORT}/copyright share/${PORT}/usage share/${PORT}/thrum-config.cmake)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${path}")
    string(APPEND wrong "there is no ${path}\n")
  endif()
endforeach()
foreach(path IN ITEMS lib bin debug share/doc share/cmake lib/cmake include/CMakeFiles)
  if(EXISTS "${CURRENT_PACKAGES_DIR}/${path}")
    string(APPEND wrong "${path} should not be there\n")
  endif()
endforeach()
file(GLOB_RECURSE all LIST_DIRECTORIES true "${CURRENT_PACKAGES_DIR}/*")
foreach(path IN LISTS all)
  if(IS_DIRECTORY "${path}")
    file(GLOB inside "${path}/*")
    if(NOT inside)
      string(APPEND wrong "${path} is empty\n")
    endif()
  elseif(path MATCHES "\\.(cmake|pc)$|usage$")
    file(READ "${path}" text)
    foreach(folder IN ITEMS "${CURRENT_PACKAGES_DIR}" "${CURRENT_BUILDTREES_DIR}")
      string(FIND "${text}" "${folder}" at)
      if(NOT at EQUAL -1)
        string(APPEND wrong "${path} names a path of this machine\n")
      endif()
    endforeach()
  endif()
endforeach()
if(wrong)
  message(FATAL_ERROR "the port's layout:\n${wrong}")
endif()
