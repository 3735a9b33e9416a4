#include <thrum.hpp>

#include <cstdio>

int sum_of(thrum::chan<int> numbers);

int main() {
  return thrum::run([] {
    auto numbers = thrum::make_chan<int>();
    thrum::go([numbers]() mutable {
      for (int i = 1; i <= 10; ++i) {
        numbers.send(i);
      }
      numbers.close();
    });
    std::printf("sum %d\n", sum_of(numbers));
  });
}
