#include <thrum.hpp>

#if !THRUM_SEPARATE
#error "the target does not say THRUM_SEPARATE=1"
#endif

int sum_of(thrum::chan<int> numbers) {
  int sum = 0;
  for (const int n : numbers) {
    sum += n;
  }
  return sum;
}
