// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The window: only the thread that has made it may use it, as every toolkit has it. With SDL2 where
// CMake finds that; else one that counts what it is told.
#ifndef THRUM_EXAMPLES_GAME_WINDOW_HPP
#define THRUM_EXAMPLES_GAME_WINDOW_HPP

#include "world.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>

#if GAME_LOOP_HAS_SDL
#include <SDL.h>
#endif

class window {
 public:
  window() { open(); }
  ~window() { close(); }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  /// Gives an asset to the graphics card.
  void upload(const texture& made) {
    must_be_own_thread();
    sum_ += made.sum;
    ++uploads_;
  }

  /// False: the user has closed it.
  bool draw(const world& seen) {
    must_be_own_thread();
    return show(seen);
  }

  std::size_t uploads() const { return uploads_; }

 private:
  void must_be_own_thread() const {
    if (std::this_thread::get_id() != own_) {
      std::fputs("game_loop: the window was used on another thread than its own\n", stderr);
      std::abort();
    }
  }

#if GAME_LOOP_HAS_SDL
  void open() {
    if (SDL_Init(SDL_INIT_VIDEO) != 0) {
      return;  // no display: frames are not shown
    }
    shown_ = SDL_CreateWindow("game_loop", SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, size,
                              size, 0);
    if (shown_ != nullptr) {
      renderer_ = SDL_CreateRenderer(shown_, -1, 0);
    }
  }
  void close() {
    SDL_DestroyRenderer(renderer_);
    SDL_DestroyWindow(shown_);
    SDL_Quit();
  }
  bool show(const world& seen) {
    if (renderer_ == nullptr) {
      return true;
    }
    for (SDL_Event event; SDL_PollEvent(&event) != 0;) {
      if (event.type == SDL_QUIT) {
        return false;
      }
    }
    SDL_SetRenderDrawColor(renderer_, 0, 0, 0, 255);
    SDL_RenderClear(renderer_);
    SDL_SetRenderDrawColor(renderer_, 255, 255, 255, 255);
    constexpr std::size_t every = 16;
    for (std::size_t i = 0; i < seen.flying.size(); i += every) {
      SDL_RenderDrawPointF(renderer_, seen.flying[i].x * size, seen.flying[i].y * size);
    }
    SDL_RenderPresent(renderer_);
    return true;
  }

  static constexpr int size = 512;
  SDL_Window* shown_ = nullptr;
  SDL_Renderer* renderer_ = nullptr;
#else
  void open() {}
  void close() {}
  bool show(const world&) { return true; }
#endif

  const std::thread::id own_ = std::this_thread::get_id();
  std::size_t uploads_ = 0;
  std::uint32_t sum_ = 0;
};

#endif
