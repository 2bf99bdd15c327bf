// Finds all tokens that a text begins with, in one pass over its bytes.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lazy::text::model {

/// Holds texts as paths of bytes from a root; a node knows the value of the text that ends there.
class Trie {
 public:
  static constexpr uint32_t kNoValue = ~uint32_t{0};
  static constexpr uint32_t kNowhere = ~uint32_t{0};
  static constexpr uint32_t kRoot = 0;
  /// Bounds the nodes, and with them the memory that a file can ask for.
  static constexpr size_t kMostNodes = 1 << 21;

  Trie() = default;
  /// Builds it of texts and their values; of equal texts the last one counts. Returns one without nodes
  /// (empty()) if there would be more than kMostNodes. Invariant: the texts live while it is built.
  explicit Trie(std::vector<std::pair<std::string_view, uint32_t>> texts);

  bool empty() const { return nodes_.empty(); }
  /// Returns the node that a byte leads to; kNowhere if there is none.
  uint32_t step(uint32_t node, char byte) const {
    if (node == kRoot) return roots_[static_cast<unsigned char>(byte)];
    const Node& n = nodes_[node];
    const char* const found =
        n.children == 1 ? (labels_[n.first] == byte ? &labels_[n.first] : nullptr)
                        : static_cast<const char*>(std::memchr(labels_.data() + n.first, byte, n.children));
    return found ? static_cast<uint32_t>(found - labels_.data()) : kNowhere;
  }
  /// Returns the value of the text that ends at a node; kNoValue if none does.
  uint32_t value(uint32_t node) const { return nodes_[node].value; }
  /// Returns where a text leads from the root; kNowhere if no text begins with it.
  uint32_t walk(std::string_view text) const;

 private:
  struct Node {
    uint32_t first = 0;  // number of the first child; children follow each other, in the order of their bytes
    uint32_t value = kNoValue;
    uint16_t children = 0;
  };
  std::vector<Node> nodes_;
  std::string labels_;  // the byte that leads to each node
  std::array<uint32_t, 256> roots_{};
};

}  // namespace lazy::text::model
