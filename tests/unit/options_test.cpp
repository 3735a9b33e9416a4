// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/options.hpp>

#include <cstdlib>
#include <optional>
#include <string>

#include "support/catch.hpp"

namespace {

/// Sets an environment variable for a scope.
class environment {
 public:
  environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
    }
    set(value);
  }
  ~environment() { set(old_ ? old_->c_str() : nullptr); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace

TEST_CASE("the number of processors is taken from the environment", "[options]") {
  const environment procs("THRUM_MAXPROCS", "3");
  REQUIRE(thrum::options::from_environment().procs == 3);
}

TEST_CASE("a number of processors that is none is ignored", "[options]") {
  for (const char* text : {"", "x", "-1", "2x", "99999999999999"}) {
    const environment procs("THRUM_MAXPROCS", text);
    REQUIRE(thrum::options::from_environment().procs == 0);
  }
}

TEST_CASE("debug keys are read and unknown ones are ignored", "[options]") {
  const environment debug("THRUM_DEBUG",
                          "schedtrace=1000,unknown=1,,scheddetail=1,x,asyncpreemptoff=1");
  const auto o = thrum::options::from_environment();
  REQUIRE(o.schedtrace == std::chrono::milliseconds(1000));
  REQUIRE(o.scheddetail);
  REQUIRE(o.preempt == thrum::preemption::cooperative);
}

TEST_CASE("without an environment the options are the defaults", "[options]") {
  const environment debug("THRUM_DEBUG", nullptr);
  const environment procs("THRUM_MAXPROCS", nullptr);
  const auto o = thrum::options::from_environment();
  REQUIRE(o.procs == 0);
  REQUIRE(o.schedtrace.count() == 0);
  REQUIRE(o.preempt == thrum::preemption::async);
}

TEST_CASE("there is at least one processor by default", "[options]") {
  REQUIRE(thrum::default_procs() >= 1);
}
