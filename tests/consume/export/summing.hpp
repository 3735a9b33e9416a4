#pragma once

#include <thrum.hpp>

int sum_of(thrum::recv_chan<int> numbers);
