#include "lazy/ops/creation.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/onnx/model/tensor.hpp"
#include "lazy/onnx/ops/known.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::onnx {
namespace {

/// Returns the dtype that attribute `dtype` says, or another one.
DType given_dtype(Call& c, DType otherwise) {
  return c.has("dtype") ? *dtype_of(static_cast<DataType>(c.integer("dtype", 0))) : otherwise;
}
std::string check_dtype(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "dtype" && !dtype_of(static_cast<DataType>(a.i)))
      return "type " + name_of(static_cast<DataType>(a.i)) + " is not supported";
  return {};
}

void constant_of_shape_op(Call& c) {
  const Shape shape{std::span<const int64_t>(c.integers(0))};
  Known value = Known::of(float32, {1});
  if (c.has("value")) {
    const Value given = c.attribute_tensor("value");
    if (!given.known() || given.known()->size() != 1)
      c.fail<ShapeError>("attribute 'value' needs one element");
    value = *given.known();
  }
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; });
  if (negative || !countable(shape)) c.fail<ShapeError>("no tensor has the shape " + to_string(shape));
  if (shape.size() <= 1 ? numel(shape) <= kMostKnown : stays_small(shape, 1))
    return c.give(known_at(value, std::vector<size_t>(static_cast<size_t>(numel(shape)), 0), shape));
  c.give(full(ShapeArg(shape), value.real() ? ScalarNumber(value.reals[0]) : ScalarNumber(value.integers[0]),
              value.dtype, c.device(), c.site()));
}

void range_op(Call& c) {
  const Known start = c.elements(0), limit = c.elements(1), delta = c.elements(2);
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1)
    c.fail<ShapeError>("bounds need one element each");
  if (start.real())
    return c.give(arange(start.reals[0], limit.reals[0], delta.reals[0], start.dtype, c.device(), c.site()));
  const int64_t a = start.integers[0], b = limit.integers[0], d = delta.integers[0];
  if (d == 0) c.fail<ShapeError>("the step is 0");
  int64_t span = 0, step = d;
  if ((d > 0 ? __builtin_sub_overflow(b, a, &span) : __builtin_sub_overflow(a, b, &span)) ||
      (d < 0 && __builtin_sub_overflow(int64_t{0}, d, &step)))
    c.fail<ShapeError>("there are too many numbers from " + std::to_string(a) + " to " + std::to_string(b));
  const int64_t count = span <= 0 ? 0 : (span - 1) / step + 1;
  if (count > kMostKnown) return c.give(arange(a, b, d, start.dtype, c.device(), c.site()));
  Known r = Known::of(start.dtype, {count});
  for (int64_t i = 0; i < count; ++i) r.set(static_cast<size_t>(i), a + i * d);
  c.give(std::move(r));
}

void eye_like_op(Call& c) {
  const Shape shape = c.shape(0);
  if (shape.size() != 2) c.fail<ShapeError>("expected two dimensions, found " + to_string(shape));
  c.give(eye(shape[0], shape[1], c.integer("k", 0), given_dtype(c, c.dtype(0)), c.device(), c.site()));
}

/// Returns the generator to draw from: a node's own with attribute `seed`, else the program's.
template <class F>
void drawn(Call& c, F&& f) {
  if (!c.has("seed")) return c.give(f(default_generator()));
  Generator generator(static_cast<uint64_t>(std::llround(c.real("seed", 0))));
  c.give(f(generator));
}

Shape drawn_shape(Call& c, bool like) {
  return like ? c.shape(0) : Shape{std::span<const int64_t>(c.integers("shape"))};
}
template <bool like>
void random_uniform_op(Call& c) {
  const DType dtype = given_dtype(c, like ? c.dtype(0) : float32);
  drawn(c, [&](Generator& g) {
    return uniform(g, c.real("low", 0), c.real("high", 1), ShapeArg(drawn_shape(c, like)), dtype, c.device(),
                   c.site());
  });
}
template <bool like>
void random_normal_op(Call& c) {
  const DType dtype = given_dtype(c, like ? c.dtype(0) : float32);
  drawn(c, [&](Generator& g) {
    return normal(g, c.real("mean", 0), c.real("scale", 1), ShapeArg(drawn_shape(c, like)), dtype, c.device(),
                  c.site());
  });
}
void bernoulli_op(Call& c) {
  const DType dtype = given_dtype(c, c.dtype(0));
  drawn(c, [&](Generator& g) { return bernoulli(g, c[0]).astype(dtype, c.site()); });
}
void multinomial_op(Call& c) {
  const DType dtype = given_dtype(c, int32);
  const Tensor weights = exp(c[0]);
  drawn(c, [&](Generator& g) {
    return multinomial(g, c.arg(weights), c.integer("sample_size", 1), true).astype(dtype, c.site());
  });
}

const Operator kCreations[] = {
    {"ConstantOfShape", 9, 21, "value", constant_of_shape_op},
    {"Range", 11, 21, "", range_op},
    {"EyeLike", 9, 21, "dtype k", eye_like_op, nullptr, check_dtype},
    {"RandomUniform", 1, 21, "dtype high low seed shape", random_uniform_op<false>, nullptr, check_dtype},
    {"RandomUniformLike", 1, 21, "dtype high low seed", random_uniform_op<true>, nullptr, check_dtype},
    {"RandomNormal", 1, 21, "dtype mean scale seed shape", random_normal_op<false>, nullptr, check_dtype},
    {"RandomNormalLike", 1, 21, "dtype mean scale seed", random_normal_op<true>, nullptr, check_dtype},
    {"Bernoulli", 15, 21, "dtype seed", bernoulli_op, nullptr, check_dtype},
    {"Multinomial", 7, 21, "dtype sample_size seed", multinomial_op, nullptr, check_dtype},
};

}  // namespace

std::span<const Operator> creation_operators() { return kCreations; }

}  // namespace lazy::onnx
