// Defines Array: values in the host's memory, of which datasets are made. Nothing about it is recorded, so
// that threads that load data leave the graph alone.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy::data {

/// Holds values row by row, which copies share and nobody changes.
class Array {
 public:
  /// Holds nothing, as the label of an example that has none.
  Array() = default;
  /// Shares memory that has all elements of the shape.
  Array(std::shared_ptr<const void> values, DType dtype, const Shape& shape)
      : values_(std::move(values)), shape_(shape), dtype_(dtype) {}
  /// Holds one number; as in tensor(), an `int` is int64 and a `double` of the default dtype.
  template <ScalarType T>
  Array(T value) {
    if constexpr (std::is_same_v<T, int>) hold(int64_t{value});
    else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, long double>)
      get_default_dtype() == float32 ? hold(static_cast<float>(value)) : hold(static_cast<double>(value));
    else hold(value);
  }
  /// Takes the elements; ShapeError unless they are as many as the shape says, or none is given.
  template <Element T>
  requires(!std::same_as<T, bool>) Array(std::vector<T> values, Site s = Site::current())
      : Array(std::move(values), ShapeArg(values.size()), s) {}
  template <Element T>
  requires(!std::same_as<T, bool>) Array(std::vector<T> values, ShapeArg shape, Site s = Site::current())
      : shape_(shape), dtype_(dtype_of<T>()) {
    check_count(values.size(), s);
    const auto own = std::make_shared<const std::vector<T>>(std::move(values));
    values_ = std::shared_ptr<const void>(own, own->empty() ? static_cast<const void*>("") : own->data());
  }
  /// Evaluates the tensor and shares its elements. Error if it is default-constructed.
  Array(const Tensor& x, Site s = Site::current());

  bool defined() const noexcept { return values_ != nullptr; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  /// Returns the number of elements.
  int64_t size() const noexcept { return numel(shape_); }
  size_t nbytes() const noexcept { return static_cast<size_t>(size()) * size_of(dtype_); }
  const void* bytes() const noexcept { return values_.get(); }
  const std::shared_ptr<const void>& memory() const noexcept { return values_; }
  /// Returns the elements; DtypeError if T is not the C++ type of the dtype.
  template <Element T>
  std::span<const T> values(Site s = Site::current()) const {
    check_dtype(dtype_of<T>(), s);
    return {static_cast<const T*>(bytes()), static_cast<size_t>(size())};
  }
  /// Returns the values at one index of the first axis, which share the memory; IndexError if there is none.
  Array operator[](int64_t i) const;
  /// Returns a tensor that shares the memory; on a device other than the CPU it is a copy.
  Tensor tensor(MaybeDevice device = {}, Site s = Site::current()) const;

 private:
  template <class T>
  void hold(T value) {
    values_ = std::make_shared<const T>(value);
    dtype_ = dtype_of<T>();
  }
  void check_count(size_t count, const Site&) const;
  void check_dtype(DType asked, const Site&) const;

  std::shared_ptr<const void> values_;
  Shape shape_;
  DType dtype_ = float32;
};

/// Returns the arrays side by side along a new first axis. ShapeError or DtypeError if they differ.
Tensor stack(std::span<const Array> arrays, Site s = Site::current());

}  // namespace lazy::data
