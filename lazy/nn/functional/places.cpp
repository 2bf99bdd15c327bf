#include "lazy/nn/functional/places.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "lazy/ops/creation.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {
namespace {

using namespace detail;

/// Returns places of queries minus those of keys, (queries, keys), int64.
Handle distances(const Recorder& r, int64_t queries, int64_t keys, const MaybeDevice& device) {
  if (queries < 0 || keys < 0)
    r.fail<ShapeError>(std::to_string(queries) + " queries and " + std::to_string(keys) + " keys");
  const Handle like = zeros({}, int64, device, r.site).handle();
  const Handle place = r.op(Op::add, r.index(0, {queries, keys}, like), ScalarNumber(keys - queries));
  return r.op(Op::subtract, place, r.index(1, {queries, keys}, like));
}

void check_pairs(const Recorder& r, const Handle& x) {
  if (!is_float(x->dtype))
    r.fail<DtypeError>(std::string("takes floating-point numbers, not ") + name_of(x->dtype));
  if (x->shape.size() < 2 || x->shape.back() % 2 != 0)
    r.fail<ShapeError>(to_string(x->shape) + " is not (..., T, E) with pairs in E");
}

/// Rotates pairs by places times frequencies, (E / 2).
Handle rotated(const Recorder& r, const Handle& in, const Handle& at, const Handle& frequencies,
               bool interleaved) {
  const DType t = in->dtype, work = wide_float(t);
  const Shape shape = in->shape;
  const int last = shape.size() - 1;
  const int64_t half = shape[last] / 2;
  Shape column = at->shape;
  column.push_back(1);
  const Handle angles = r.op(Op::multiply, r.reshape(r.as(work, at), column), frequencies);
  const Handle c = r.op(Op::cos, angles), s = r.op(Op::sin, angles);
  const auto part = [&](int64_t which) {
    return r.as(work, interleaved ? r.part(in, last, which, half, 2) : r.part(in, last, which * half, half));
  };
  const Handle a = part(0), b = part(1);
  const Handle first = r.op(Op::subtract, r.op(Op::multiply, a, c), r.op(Op::multiply, b, s));
  const Handle second = r.op(Op::add, r.op(Op::multiply, b, c), r.op(Op::multiply, a, s));
  Shape expected = shape;
  expected[last] = half;
  if (first->shape != expected)
    r.fail<ShapeError>("places " + to_string(at->shape) + " for " + to_string(shape));
  const auto joined = [&](const Handle& p, const Handle& q, int axis) {
    return concat({Tensor(p), Tensor(q)}, axis, r.site).handle();
  };
  if (!interleaved) return r.as(t, joined(first, second, last));
  Shape pair = first->shape;
  pair.push_back(1);
  const Handle both = joined(r.reshape(first, pair), r.reshape(second, pair), last + 1);
  return r.as(t, r.reshape(both, shape));
}

}  // namespace

Tensor rotary_embedding(Arg x, Arg places, double base, bool interleaved) {
  const Recorder r{"rotary_embedding", x.site()};
  const Handle in = Operand(r.name, x).take(), at = Operand(r.name, places).take();
  check_pairs(r, in);
  const int64_t width = in->shape.back();
  Composite whole(r.name, {&in, &at}, r.site);
  const Handle i = r.as(wide_float(in->dtype), r.index(0, {width / 2}, in));
  const Handle frequencies =
      r.op(Op::exp, r.op(Op::multiply, i, -2 * std::log(base) / static_cast<double>(width)));
  return Tensor(whole.result(rotated(r, in, at, frequencies, interleaved)));
}

Tensor rotary_embedding(Arg x, Arg places, const Tensor& frequencies, bool interleaved) {
  const Recorder r{"rotary_embedding", x.site()};
  const Handle in = Operand(r.name, x).take(), at = Operand(r.name, places).take(),
               given = Operand(r.name, Arg(frequencies, r.site)).take();
  check_pairs(r, in);
  if (given->shape != Shape{in->shape.back() / 2})
    r.fail<ShapeError>("frequencies " + to_string(given->shape) + " for " + to_string(in->shape));
  Composite whole(r.name, {&in, &at, &given}, r.site);
  return Tensor(whole.result(rotated(r, in, at, r.as(wide_float(in->dtype), given), interleaved)));
}

Tensor alibi_slopes(IntegerArg heads, MaybeDevice device, Site s) {
  if (heads <= 0) fail<ShapeError>("alibi_slopes", std::to_string(heads.value) + " heads", s);
  const auto n = static_cast<uint64_t>(heads.value), below = std::bit_floor(n);
  std::vector<float> all;
  const auto add = [&](uint64_t i, uint64_t of) {
    all.push_back(static_cast<float>(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(of))));
  };
  for (uint64_t i = 1; i <= below; ++i) add(i, below);
  for (uint64_t i = 1; all.size() < n; i += 2) add(i, 2 * below);
  const Handle like = zeros({}, float32, device, s).handle();
  return Tensor(detail::values(all.data(), float32, {heads.value}, like, s));
}

Tensor alibi(IntegerArg heads, IntegerArg queries, IntegerArg keys, MaybeDevice device, Site s) {
  const Recorder r{"alibi", s};
  const Handle slopes = alibi_slopes(heads, device, s).handle();
  const Handle far = r.op(Op::abs, distances(r, queries, keys, device));
  return Tensor(r.op(Op::multiply, r.op(Op::negative, r.reshape(slopes, {heads, 1, 1})), r.as(float32, far)));
}

Tensor window_mask(IntegerArg queries, IntegerArg keys, IntegerArg window, bool causal, MaybeDevice device,
                   Site s) {
  const Recorder r{"window_mask", s};
  if (window <= 0) r.fail<ShapeError>("a window of " + std::to_string(window.value));
  const Handle d = distances(r, queries, keys, device);
  const Handle near = r.op(Op::less, r.op(Op::abs, d), ScalarNumber(window.value));
  return Tensor(causal ? r.both(near, r.op(Op::greater_equal, d, ScalarNumber(int64_t{0}))) : near);
}

}  // namespace lazy
