// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// merge_sort: sorts a million numbers on all processors. A range is cut in two, the halves are sorted
// by fork_join, and merged; what is short is sorted as it is.

#include <thrum.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <vector>

namespace {

/// `scratch` is as long as `values`.
void merge_sort(std::span<std::uint32_t> values, std::span<std::uint32_t> scratch) {
  constexpr std::size_t is_short = 1'000;
  if (values.size() <= is_short) {
    std::sort(values.begin(), values.end());
    return;
  }
  const std::size_t half = values.size() / 2;
  const auto low = values.first(half);
  const auto high = values.subspan(half);
  thrum::fork_join([=] { merge_sort(low, scratch.first(half)); },
                   [=] { merge_sort(high, scratch.subspan(half)); });
  std::merge(low.begin(), low.end(), high.begin(), high.end(), scratch.begin());
  std::copy(scratch.begin(), scratch.end(), values.begin());
}

}  // namespace

int main() {
  return thrum::run([] {
    std::vector<std::uint32_t> values(1'000'000);
    thrum::parallel_for(0U, 1'000'000U, [&](std::uint32_t i) { values[i] = i * 2'654'435'761U; });
    std::vector<std::uint32_t> scratch(values.size());
    merge_sort(values, scratch);
    const bool sorted = std::is_sorted(values.begin(), values.end());
    const std::uint64_t sum = thrum::parallel_reduce(values, std::uint64_t{0}, std::plus<>());
    std::printf("%s, smallest %u, sum %llu\n", sorted ? "sorted" : "not sorted",
                static_cast<unsigned>(values.front()), static_cast<unsigned long long>(sum));
  });
}
