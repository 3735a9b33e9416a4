#include <thrum.hpp>

#include <cstdio>

int main() {
  return thrum::run([] {
    auto word = thrum::make_chan<const char*>();
    thrum::go([word] { word.send("goroutines"); });
    std::printf("thrum: %s\n", *word.recv());
  });
}
