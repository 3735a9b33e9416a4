// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What nearly every test includes and names. gcc compiles it once for all of them: tests/CMakeLists.txt.
#ifndef THRUM_TESTS_SUPPORT_TEST_HPP
#define THRUM_TESTS_SUPPORT_TEST_HPP

#include "support/catch.hpp"
#include "support/error_of.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <thrum.hpp>
#include <thrum/testing/bubble.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using support::are_waiting;
using support::error_of;
using support::eventually;
using support::eventually_waiting;
using support::eventually_yielding;
using support::in_goroutines;
using support::is_usage_error;
using support::one_undisturbed_processor;
using support::scaled;
using support::usage_message;
using support::with_endless_slices;
using support::with_procs;
using support::with_runtime;

#endif
