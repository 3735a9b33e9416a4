// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of the environment, which the programs see that are started afterwards.
#ifndef THRUM_TESTS_SUPPORT_ENVIRONMENT_HPP
#define THRUM_TESTS_SUPPORT_ENVIRONMENT_HPP

#include <stdlib.h>

#include <optional>
#include <string>

namespace support {

#if defined(_WIN32)
inline void set_environment(const char* name, const char* value) { ::_putenv_s(name, value); }
inline void remove_environment(const char* name) { ::_putenv_s(name, ""); }
#else
inline void set_environment(const char* name, const char* value) { ::setenv(name, value, 1); }
inline void remove_environment(const char* name) { ::unsetenv(name); }
#endif

/// Sets a variable, or removes it by a null value, for as long as it lives.
class scoped_environment {
 public:
  scoped_environment(const char* name, const char* value) : name_(name) {
    if (const char* const old = ::getenv(name)) {
      old_ = old;
    }
    change(value);
  }
  ~scoped_environment() { change(old_ ? old_->c_str() : nullptr); }
  scoped_environment(const scoped_environment&) = delete;
  scoped_environment& operator=(const scoped_environment&) = delete;

 private:
  void change(const char* value) {
    value != nullptr ? set_environment(name_, value) : remove_environment(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace support

#endif
