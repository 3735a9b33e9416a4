// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What wordcount and demo count with: a word is a run of A-Z, a-z, 0-9 and _, and a tally counts each.
#ifndef THRUM_EXAMPLES_WORD_TALLY_HPP
#define THRUM_EXAMPLES_WORD_TALLY_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

inline constexpr auto word_table = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789_"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

inline bool is_word(char c) { return word_table[static_cast<unsigned char>(c)]; }

/// How often each word occurred: a flat table with linear probing; the words lie in large blocks.
class tally {
 public:
  struct entry {
    const char* text;
    std::uint64_t count;  // 0: a free place
    std::uint32_t hash;
    std::uint32_t size;
    std::string_view word() const { return {text, size}; }
  };

  std::size_t distinct() const { return distinct_; }

  void add(std::string_view word, std::uint32_t hash, std::uint64_t n) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      entry& e = table_[i];
      if (e.count == 0) {
        e = {keep(word), n, hash, static_cast<std::uint32_t>(word.size())};
        if (++distinct_ * 2 > table_.size()) {
          grow();
        }
        return;
      }
      if (e.hash == hash && e.word() == word) {
        e.count += n;
        return;
      }
    }
  }

  void add_all(const tally& other) {
    for (const entry& e : other.table_) {
      if (e.count != 0) {
        add(e.word(), e.hash, e.count);
      }
    }
  }

  /// Counts the words of a text. The last one is left out if it reaches the end and there is `more`
  /// text to come. Returns the size of what was left out.
  std::size_t add_text(std::string_view text, bool more) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end; ++at) {
      if (!is_word(*at)) {
        continue;
      }
      const char* const begin = at;
      std::uint64_t hash = 0;
      for (; at != end && is_word(*at); ++at) {
        hash = (hash ^ static_cast<unsigned char>(*at)) * 0x9E3779B97F4A7C15U;
      }
      const auto size = static_cast<std::size_t>(at - begin);
      if (at == end && more) {
        return size;
      }
      add({begin, size}, static_cast<std::uint32_t>(hash >> 32), 1);
      if (at == end) {
        break;
      }
    }
    return 0;
  }

  /// How often the word occurred.
  std::uint64_t count_of(std::string_view word, std::uint32_t hash) const {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash & mask; table_[i].count != 0; i = (i + 1) & mask) {
      if (table_[i].hash == hash && table_[i].word() == word) {
        return table_[i].count;
      }
    }
    return 0;
  }

  /// Whether both have the same words, each as often.
  friend bool operator==(const tally& a, const tally& b) {
    return a.distinct_ == b.distinct_ &&
           std::all_of(a.table_.begin(), a.table_.end(), [&](const entry& e) {
             return e.count == 0 || b.count_of(e.word(), e.hash) == e.count;
           });
  }

  /// Forgets all words; keeps the memory.
  void clear() {
    std::fill(table_.begin(), table_.end(), entry{});
    distinct_ = block_ = used_ = 0;
  }

  std::vector<entry> entries() const {
    std::vector<entry> all;
    std::copy_if(table_.begin(), table_.end(), std::back_inserter(all),
                 [](const entry& e) { return e.count != 0; });
    return all;
  }

 private:
  void grow() {
    std::vector<entry> old(table_.size() * 2);
    old.swap(table_);
    const std::size_t mask = table_.size() - 1;
    for (const entry& e : old) {
      if (e.count != 0) {
        std::size_t i = e.hash & mask;
        while (table_[i].count != 0) {
          i = (i + 1) & mask;
        }
        table_[i] = e;
      }
    }
  }

  /// A copy of the word in a block.
  const char* keep(std::string_view word) {
    for (; block_ != blocks_.size() && blocks_[block_].size() - used_ < word.size(); ++block_) {
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      blocks_.emplace_back(std::max<std::size_t>(256 * 1024, word.size()));
      used_ = 0;
    }
    used_ += word.copy(blocks_[block_].data() + used_, word.size());
    return blocks_[block_].data() + used_ - word.size();
  }

  std::vector<entry> table_ = std::vector<entry>(4096);
  std::size_t distinct_ = 0;
  std::vector<std::vector<char>> blocks_;
  std::size_t block_ = 0;  // the one in use
  std::size_t used_ = 0;   // bytes of it
};

#endif
