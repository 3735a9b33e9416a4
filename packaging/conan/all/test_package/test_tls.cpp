#include <thrum.hpp>
#include <thrum/net/tls.hpp>

#include <cstdio>

int main() {
  return thrum::run([] {
    const thrum::net::tls_context context;
    std::puts("thrum: tls");
  });
}
