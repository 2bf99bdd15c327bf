#include "lazy/text/model/trie.hpp"

#include <algorithm>

namespace lazy::text::model {

Trie::Trie(std::vector<std::pair<std::string_view, uint32_t>> texts) {
  roots_.fill(kNowhere);
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t count = 1;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view before = i == 0 ? std::string_view() : texts[i - 1].first, text = texts[i].first;
    const auto shared =
        std::mismatch(before.begin(), before.end(), text.begin(), text.end()).first - before.begin();
    count += text.size() - static_cast<size_t>(shared);
  }
  if (count > kMostNodes) return;
  nodes_.reserve(count);
  labels_.reserve(count);
  struct Open {
    uint32_t begin, end, depth;  // texts that share their first `depth` bytes
  };
  std::vector<Open> level{{0, static_cast<uint32_t>(texts.size()), 0}}, next;
  nodes_.emplace_back();
  labels_.push_back('\0');
  for (uint32_t node = 0; !level.empty(); level.swap(next), next.clear())
    for (const Open& open : level) {
      uint32_t begin = open.begin;
      for (; begin < open.end && texts[begin].first.size() == open.depth; ++begin)
        nodes_[node].value = texts[begin].second;
      nodes_[node].first = static_cast<uint32_t>(nodes_.size());
      while (begin < open.end) {
        const char byte = texts[begin].first[open.depth];
        uint32_t end = begin;
        while (end < open.end && texts[end].first[open.depth] == byte) ++end;
        if (node == kRoot) roots_[static_cast<unsigned char>(byte)] = static_cast<uint32_t>(nodes_.size());
        ++nodes_[node].children;
        nodes_.emplace_back();
        labels_.push_back(byte);
        next.push_back({begin, end, open.depth + 1});
        begin = end;
      }
      ++node;
    }
}

uint32_t Trie::walk(std::string_view text) const {
  uint32_t node = kRoot;
  for (size_t i = 0; i < text.size() && node != kNowhere; ++i) node = step(node, text[i]);
  return node;
}

}  // namespace lazy::text::model
