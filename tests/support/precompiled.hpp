// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What nearly every test includes. gcc compiles it once for all of them: tests/CMakeLists.txt.
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/with_runtime.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
