# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# thrum::tls: thrum and OpenSSL 3, for <thrum/net/tls.hpp>. There is none where OpenSSL is not found, which
# nothing else needs. Found anew where the package is installed.
#
# By paths, not by OpenSSL::SSL: that is known only in the folder that has found it.
set(thrum_tls_FOUND FALSE)
if(TARGET thrum::tls)
  set(thrum_tls_FOUND TRUE)
else()
  find_package(OpenSSL 3 QUIET)
  if(OPENSSL_FOUND)
    add_library(thrum::tls INTERFACE IMPORTED GLOBAL)
    target_link_libraries(thrum::tls INTERFACE thrum::thrum ${OPENSSL_LIBRARIES})
    target_include_directories(thrum::tls SYSTEM INTERFACE ${OPENSSL_INCLUDE_DIR})
    set(thrum_tls_FOUND TRUE)
  endif()
endif()
