// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The plug-in producer of plugin_host.

#include "plugin.hpp"

namespace {

constexpr plugin offered{"producer", &produce};

}  // namespace

extern "C" __attribute__((visibility("default"))) const plugin* thrum_example_plugin();
extern "C" const plugin* thrum_example_plugin() { return &offered; }
