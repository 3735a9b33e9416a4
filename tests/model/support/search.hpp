// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Runs a model in every execution within the bounds; explorer.hpp says what a model is.

#ifndef THRUM_TESTS_MODEL_SEARCH_HPP
#define THRUM_TESTS_MODEL_SEARCH_HPP

#include "explorer.hpp"
#include "memory.hpp"

#include <chrono>
#include <new>

namespace model {

namespace search {

template <class Model>
void run_once(explorer& threads, memory& shared, bool tracing) {
  threads.begin(tracing);
  shared.begin();
  alignas(Model) unsigned char place[sizeof(Model)];
  auto* const m = ::new (static_cast<void*>(place)) Model;
  shared.start_threads();
  const bool rests = threads.run(m);
  if (!threads.failed()) {
    shared.join_threads();
    if constexpr (requires { m->at_rest(); }) {
      if (rests) {
        m->at_rest();
        if (!threads.failed()) {
          threads.finish_resting();
        }
      }
    } else if (rests) {
      threads.fail("asleep for ever");
    }
    if (!threads.failed()) {
      m->at_end();
    }
  }
  m->~Model();
}

}  // namespace search

/// Tries every execution of Model within the bounds, up to the first that fails.
template <class Model>
result explore(const options& bounds = {}) {
  static_assert(Model::threads <= max_threads);
  const auto start = std::chrono::steady_clock::now();
  explorer threads(bounds, Model::threads,
                   [](void* m, unsigned thread) { static_cast<Model*>(m)->run(thread); });
  memory shared(threads);
  result found;
  do {
    ++found.executions;
    search::run_once<Model>(threads, shared, false);
    if (threads.failed()) {
      found.failure = threads.finding();
      search::run_once<Model>(threads, shared, true);
      found.trace = threads.trace_text();
      break;
    }
    found.complete = !threads.advance();
  } while (!found.complete && found.executions != bounds.max_executions);
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found;
}

}  // namespace model

#endif
