// Collects lines of generated source, indented by the braces that they open.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace lazy::cuda_backend {

inline std::string number(int64_t v) { return std::to_string(v); }

inline std::string replaced(std::string s, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = s.find(what, at)) != s.npos; at += by.size()) s.replace(at, what.size(), by);
  return s;
}

class Text {
 public:
  /// Adds one line; an empty one stays without indentation.
  void line(std::string_view s) {
    if (!s.empty()) text_.append(2 * depth_, ' ').append(s);
    text_ += '\n';
  }
  /// Adds `head {`, and indents everything until close().
  void open(std::string_view head) {
    line(std::string(head) + " {");
    ++depth_;
  }
  void close(std::string_view tail = "}") {
    --depth_;
    line(tail);
  }
  /// Adds `} else {` and its like.
  void turn(std::string_view middle) {
    --depth_;
    line(middle);
    ++depth_;
  }
  /// Adds a compiler directive, which starts the line.
  void directive(std::string_view s) { text_.append(s).append("\n"); }
  void append(std::string_view whole_lines) { text_ += whole_lines; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace lazy::cuda_backend
