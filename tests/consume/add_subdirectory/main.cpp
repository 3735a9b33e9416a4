#include <thrum.hpp>

#include <cstdio>

int main() {
  return thrum::run([] {
    auto numbers = thrum::make_chan<int>();
    thrum::go([numbers]() mutable {
      for (int i = 1; i <= 10; ++i) {
        numbers.send(i);
      }
      numbers.close();
    });
    int sum = 0;
    for (const int n : numbers) {
      sum += n;
    }
    std::printf("sum %d\n", sum);
  });
}
