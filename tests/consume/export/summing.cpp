#include "summing.hpp"

int sum_of(thrum::recv_chan<int> numbers) {
  int sum = 0;
  for (const int n : numbers) {
    sum += n;
  }
  return sum;
}
