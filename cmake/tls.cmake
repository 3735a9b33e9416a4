# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# thrum::tls: thrum and OpenSSL 3, for <thrum/net/tls.hpp>. Without OpenSSL there is no such target; nothing else of the
# library needs one. An installed package finds OpenSSL where it is used.
if(TARGET thrum::tls)
  set(thrum_tls_FOUND TRUE)
else()
  # Each search needs a folder of its own: CMake refuses a folder that was used before.
  get_property(thrum_tls_searches GLOBAL PROPERTY thrum_tls_searches)
  math(EXPR thrum_tls_searches "0${thrum_tls_searches} + 1")
  set_property(GLOBAL PROPERTY thrum_tls_searches ${thrum_tls_searches})
  add_subdirectory("${CMAKE_CURRENT_LIST_DIR}/openssl"
    "${CMAKE_CURRENT_BINARY_DIR}/thrum_openssl_${thrum_tls_searches}" EXCLUDE_FROM_ALL)
endif()
