// Declares what examples come from. A dataset is any type with size() and get(i): get() is const, may be
// called by several threads at once, and returns what collate() (collate.hpp) or a function of yours makes
// batches of.
//
//   struct Squares {
//     int64_t size() const { return 100; }
//     data::Example get(int64_t i) const { return {float(i), float(i * i)}; }
//   };
#pragma once
#include <concepts>
#include <functional>
#include <numeric>

#include "lazy/data/array.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::data {

template <class D>
concept Dataset = requires(const D& d, int64_t i) {
  { d.size() } -> std::convertible_to<int64_t>;
  d.get(i);
};
/// The type of a dataset's examples.
template <Dataset D>
using ExampleOf = std::decay_t<decltype(std::declval<const D&>().get(0))>;

struct Example {
  Array x;  // what a model is given
  Array y;  // what it should answer: may hold nothing
};

namespace detail {
[[noreturn]] void throw_no_example(const char* op, int64_t i, int64_t size);
/// Throws IndexError unless 0 <= i < size.
inline void check_index(const char* op, int64_t i, int64_t size) {
  if (i < 0 || i >= size) throw_no_example(op, i, size);
}
/// Returns 0, 1, ... size - 1 in the order of the generator's next draw, cut into parts. ShapeError unless
/// the lengths are at least 0 and add up to the size.
std::vector<std::vector<int64_t>> random_parts(int64_t size, std::span<const int64_t> lengths, Generator&,
                                               const Site&);
}  // namespace detail

/// Has the slices of tensors along their first axis as examples.
class TensorDataset {
 public:
  /// Evaluates both. ShapeError if they have no axes or if the first ones differ.
  explicit TensorDataset(const Tensor& x, const Tensor& y = {}, Site s = Site::current());
  int64_t size() const { return x_.shape()[0]; }
  Example get(int64_t i) const;
  const Array& x() const { return x_; }
  const Array& y() const { return y_; }

 private:
  Array x_, y_;
};

/// Has chosen examples of another dataset, which copies share.
template <Dataset D>
class Subset {
 public:
  /// IndexError for an index that the dataset does not have.
  Subset(D dataset, std::vector<int64_t> indices)
      : Subset(std::make_shared<const D>(std::move(dataset)), std::move(indices)) {}
  Subset(std::shared_ptr<const D> dataset, std::vector<int64_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    for (const int64_t i : indices_) detail::check_index("Subset", i, dataset_->size());
  }
  int64_t size() const { return static_cast<int64_t>(indices_.size()); }
  auto get(int64_t i) const {
    detail::check_index("Subset", i, size());
    return dataset_->get(indices_[static_cast<size_t>(i)]);
  }
  const std::vector<int64_t>& indices() const { return indices_; }

 private:
  std::shared_ptr<const D> dataset_;
  std::vector<int64_t> indices_;
};

/// Has the examples of several datasets, one dataset after the other.
template <Dataset D>
class ConcatDataset {
 public:
  explicit ConcatDataset(std::vector<D> datasets)
      : datasets_(std::make_shared<const std::vector<D>>(std::move(datasets))) {
    for (const D& d : *datasets_) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + d.size());
  }
  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  auto get(int64_t i) const {
    detail::check_index("ConcatDataset", i, size());
    const auto part = std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin();
    return (*datasets_)[static_cast<size_t>(part)].get(part ? i - ends_[static_cast<size_t>(part - 1)] : i);
  }

 private:
  std::shared_ptr<const std::vector<D>> datasets_;
  std::vector<int64_t> ends_;  // of each dataset, the number of examples up to its end
};

/// Has what a function makes of another dataset's examples. The function may be called by several threads.
template <Dataset D, class F>
class MapDataset {
 public:
  MapDataset(D dataset, F f) : dataset_(std::move(dataset)), f_(std::move(f)) {}
  int64_t size() const { return dataset_.size(); }
  auto get(int64_t i) const { return f_(dataset_.get(i)); }

 private:
  D dataset_;
  F f_;
};

/// Cuts a dataset into parts of these lengths, at random; the parts share it.
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, const std::vector<int64_t>& lengths, Generator& g,
                                    Site s = Site::current()) {
  const auto shared = std::make_shared<const D>(std::move(dataset));
  std::vector<Subset<D>> parts;
  for (auto& indices : detail::random_parts(shared->size(), lengths, g, s))
    parts.emplace_back(shared, std::move(indices));
  return parts;
}
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, const std::vector<int64_t>& lengths,
                                    Site s = Site::current()) {
  return random_split(std::move(dataset), lengths, default_generator(), s);
}

}  // namespace lazy::data
