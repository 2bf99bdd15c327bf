#include "lazy/data/dataset.hpp"

#include "lazy/data/host_draws.hpp"
#include "support/error.hpp"

namespace lazy::data {
namespace detail {

void throw_no_example(const char* op, int64_t i, int64_t size) {
  throw IndexError(std::string(op) + ": there is no example " + std::to_string(i) + " of " +
                   std::to_string(size));
}

std::vector<std::vector<int64_t>> random_parts(int64_t size, std::span<const int64_t> lengths, Generator& g,
                                               const Site& s) {
  int64_t sum = 0;
  std::string list;
  for (const int64_t n : lengths) {
    sum += n;
    list += (list.empty() ? "" : " + ") + std::to_string(n);
    if (n < 0 || sum > size) break;
  }
  if (sum != size || (!lengths.empty() && *std::min_element(lengths.begin(), lengths.end()) < 0))
    throw ShapeError("random_split: parts of " + list + " examples, the dataset has " + std::to_string(size),
                     s);
  const std::vector<int64_t> order = HostDraws(g.seed(), g.advance()).permutation(size);
  std::vector<std::vector<int64_t>> parts;
  for (auto at = order.begin(); const int64_t n : lengths) {
    parts.emplace_back(at, at + n);
    at += n;
  }
  return parts;
}

}  // namespace detail

TensorDataset::TensorDataset(const Tensor& x, const Tensor& y, Site s) : x_(x, s) {
  if (y.defined()) y_ = Array(y, s);
  const auto text = [](const Array& a) { return to_string(a.shape()); };
  if (x_.shape().empty())
    throw ShapeError("TensorDataset: x has no axis of examples: its shape is " + text(x_), s);
  if (y_.defined() && (y_.shape().empty() || y_.shape()[0] != x_.shape()[0]))
    throw ShapeError(
        "TensorDataset: x is " + text(x_) + ", y " + text(y_) + ": the first axes have to be equal", s);
}

Example TensorDataset::get(int64_t i) const {
  detail::check_index("TensorDataset", i, size());
  return {x_[i], y_.defined() ? y_[i] : Array()};
}

}  // namespace lazy::data
