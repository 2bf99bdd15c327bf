#include "lazy/onnx/ops/value.hpp"

#include "lazy/core/scalar.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::onnx {

std::vector<int64_t> Known::as_integers() const {
  if (!real()) return integers;
  std::vector<int64_t> v;
  for (const double d : reals) v.push_back(detail::cast_value<int64_t>(d));
  return v;
}

Known Known::of(DType dtype, const Shape& shape) {
  Known k;
  k.dtype = dtype;
  k.shape = shape;
  if (k.real()) k.reals.resize(k.size());
  else k.integers.resize(k.size());
  return k;
}

Known Known::vector(const std::vector<int64_t>& v) {
  Known k;
  k.shape = {static_cast<int64_t>(v.size())};
  k.integers = v;
  return k;
}

Known Known::scalar(int64_t v) {
  Known k;
  k.integers = {v};
  return k;
}

void Known::set(size_t i, double v) {
  detail::with_type(dtype, [&](auto element) {
    using T = decltype(element);
    const T t = detail::cast_value<T>(v);
    if (real()) reals[i] = detail::cast_value<double>(t);
    else integers[i] = detail::cast_value<int64_t>(t);
  });
}

void Known::set(size_t i, int64_t v) {
  detail::with_type(dtype, [&](auto element) {
    using T = decltype(element);
    const T t = detail::cast_value<T>(v);
    if (real()) reals[i] = detail::cast_value<double>(t);
    else integers[i] = detail::cast_value<int64_t>(t);
  });
}

std::optional<Known> known_elements(const Tensor& t, int64_t most_integers, int64_t most_reals,
                                    const Site& s) {
  const DType dtype = t.dtype(s);
  if (dtype == DType::uint64 || t.size(s) > (is_float(dtype) ? most_reals : most_integers)) return {};
  Known k = Known::of(t.dtype(s), t.shape(s));
  if (k.real()) k.reals = t.to_vector<double>(s);
  else k.integers = t.to_vector<int64_t>(s);
  return k;
}

const Tensor& Value::tensor(const MaybeDevice& device, const Site& s) const {
  if (tensor_.defined() || !known_) return tensor_;
  const Known& k = *known_;
  if (k.size() == 1) {
    tensor_ = k.real() ? full(ShapeArg(k.shape), ScalarNumber(k.reals[0]), k.dtype, device, s)
                       : full(ShapeArg(k.shape), ScalarNumber(k.integers[0]), k.dtype, device, s);
  } else {
    const void* const elements = k.real() ? static_cast<const void*>(k.reals.data()) : k.integers.data();
    tensor_ = detail::from_elements("onnx", elements, k.size(), k.shape,
                                    k.real() ? DType::float64 : DType::int64, k.dtype, device, s);
  }
  return tensor_;
}

}  // namespace lazy::onnx
