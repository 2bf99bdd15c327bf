// Evaluates chains of elementwise ops that are written as text, for the rows that bench/run draws from a
// seed.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// Returns the value of a chain in postfix order: a, b, c, ... are inputs; + - * take two values, any other
/// letter is unary(letter, value). Throws std::invalid_argument where values are missing or left over.
template <class T, class Unary>
T chain_of(const std::string& text, const std::vector<T>& inputs, Unary&& unary) {
  std::vector<T> values;
  const auto pop = [&] {
    if (values.empty()) throw std::invalid_argument("no chain: " + text);
    T top = values.back();
    values.pop_back();
    return top;
  };
  for (const char c : text)
    if (c >= 'a' && c < 'a' + static_cast<int>(inputs.size())) {
      values.push_back(inputs[static_cast<size_t>(c - 'a')]);
    } else if (c == '+' || c == '-' || c == '*') {
      const T y = pop(), x = pop();
      values.push_back(c == '+' ? x + y : c == '-' ? x - y : x * y);
    } else {
      values.push_back(unary(c, pop()));
    }
  T result = pop();
  if (!values.empty()) throw std::invalid_argument("no chain: " + text);
  return result;
}

}  // namespace bench
