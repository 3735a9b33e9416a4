// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What select.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SELECT_DEFINITION_HPP
#define THRUM_SELECT_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/select.hpp>
#include <thrum/select/engine.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::size_t select(std::span<select_case> cases) {
  const std::size_t n = cases.size();
  if (n == 0) {
    return select();
  }
  constexpr std::size_t few = 8;
  select_detail::select_operation* few_operations[few];
  chan_detail::chan_base* few_by_address[few];
  alignas(sched::wait_point) unsigned char few_points[few * sizeof(sched::wait_point)];
  std::vector<select_detail::select_operation*> operations;
  std::vector<chan_detail::chan_base*> by_address;
  std::unique_ptr<sched::wait_point[]> points;
  select_detail::select_frame frame{few_operations, n, few_by_address,
                                    reinterpret_cast<sched::wait_point*>(few_points)};
  if (n > few) {
    operations.resize(n);
    by_address.resize(n);
    points.reset(new sched::wait_point[n]);
    frame = {operations.data(), n, by_address.data(), points.get()};
  }
  std::size_t chosen = n;
  std::size_t prepared = 0;
  const auto choose = [&] {
    std::size_t default_index = n;
    for (; prepared < n; ++prepared) {
      auto& erased = *cases[prepared].erased_;
      if (erased.is_default() && std::exchange(default_index, prepared) != n) {
        base::throw_usage("select: more than one otherwise()");
      }
      erased.prepare();
      frame.operations[prepared] = &erased.operation();
    }
    chosen = select_detail::chosen_case<true>(
        frame, default_index, [&](std::size_t i) { return cases[i].erased_->deadline(); },
        [&](std::size_t i) { return cases[i].erased_->has_come(); });
  };
  const auto release = [&](select_detail::release_of_all& each) noexcept {
    for (std::size_t i = 0; i < prepared; ++i) {
      each([&] { cases[i].erased_->release(i == chosen); });
    }
  };
  select_detail::carry_out<select_detail::release_of_all>(choose, release,
                                                          [&] { cases[chosen].erased_->run(); });
  return chosen;
}

}}  // namespace thrum::THRUM_ABI

#endif
