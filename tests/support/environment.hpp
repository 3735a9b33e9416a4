// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of the environment, which the programs see that are started afterwards.
#ifndef THRUM_TESTS_SUPPORT_ENVIRONMENT_HPP
#define THRUM_TESTS_SUPPORT_ENVIRONMENT_HPP

#include <stdlib.h>

namespace support {

#if defined(_WIN32)
inline void set_environment(const char* name, const char* value) { ::_putenv_s(name, value); }
inline void remove_environment(const char* name) { ::_putenv_s(name, ""); }
#else
inline void set_environment(const char* name, const char* value) { ::setenv(name, value, 1); }
inline void remove_environment(const char* name) { ::unsetenv(name); }
#endif

}  // namespace support

#endif
