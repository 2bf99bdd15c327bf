#include "lazy/onnx/ops/value.hpp"

#include <algorithm>
#include <functional>

#include "lazy/core/scalar.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/views.hpp"

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

namespace {

/// Returns the step of integers that ascend or descend evenly; none for others.
std::optional<int64_t> even_step(const Known& k) {
  if (k.real() || k.size() < 2) return {};
  const std::vector<int64_t>& v = k.integers;
  int64_t step = 0, difference = 0;
  if (__builtin_sub_overflow(v[1], v[0], &step)) return {};
  for (size_t i = 2; i < v.size(); ++i)
    if (__builtin_sub_overflow(v[i], v[i - 1], &difference) || difference != step) return {};
  return step;
}

bool all_equal(const Known& k) {
  if (!k.real()) return even_step(k) == 0;
  return std::adjacent_find(k.reals.begin(), k.reals.end(), std::not_equal_to<>()) == k.reals.end();
}

/// Records elements that follow a rule by that rule, which is one program for any number of them; copies
/// others.
Tensor recorded(const Known& k, const MaybeDevice& device, const Site& s) {
  const ShapeArg shape(k.shape);
  if (k.size() == 1 || (k.size() > 1 && all_equal(k)))
    return k.real() ? full(shape, ScalarNumber(k.reals[0]), k.dtype, device, s)
                    : full(shape, ScalarNumber(k.integers[0]), k.dtype, device, s);
  const std::optional<int64_t> step = is_bool(k.dtype) ? std::nullopt : even_step(k);
  if (int64_t stop = 0;
      step && !__builtin_add_overflow(k.integers.back(), *step, &stop) && k.dtype == DType::int64)
    return reshape(Arg(arange(k.integers[0], stop, *step, k.dtype, device, s), s), shape);
  const void* const elements = k.real() ? static_cast<const void*>(k.reals.data()) : k.integers.data();
  return detail::from_elements("onnx", elements, k.size(), k.shape, k.real() ? DType::float64 : DType::int64,
                               k.dtype, device, s);
}

}  // namespace

const Tensor& Value::tensor(const MaybeDevice& device, const Site& s) const {
  if (!tensor_.defined() && known_) tensor_ = recorded(*known_, device, s);
  return held();
}

}  // namespace lazy::onnx
