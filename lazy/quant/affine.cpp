#include "lazy/quant/affine.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/positions.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/quant/halves.hpp"

namespace lazy::quant {
namespace {

using namespace lazy::detail;

constexpr int64_t kBlock = 32;  // integers that are packed together

/// Returns x as (sets, numbers), where the numbers of a set share a scale; `scales` gets the scales' shape.
Term in_sets(const Formula& f, const Term& x, const Scheme& how, Shape& scales) {
  const Shape& shape = x.shape();
  const int64_t all = numel(shape);
  if (how.granularity == Granularity::tensor) {
    scales = {};
    return reshape(x, {1, all});
  }
  if (shape.empty()) f.fail<ShapeError>("a value without axes has no channels");
  const int64_t rows = shape[0], length = rows ? all / rows : 0;
  if (how.granularity == Granularity::channel) {
    scales = {rows};
    return reshape(x, {rows, length});
  }
  if (shape.size() != 2) f.fail<ShapeError>("groups are of a matrix, not of " + lazy::to_string(shape));
  const int64_t whole = (length + how.group - 1) / how.group * how.group;
  Term full = x;
  if (whole != length) full = padded(x, 1, {0}, {whole - length}, PadMode::constant, ScalarNumber(0));
  scales = {rows, whole / how.group};
  return reshape(full, {rows * scales[1], how.group});
}

/// Returns one number for each set beside (sets, numbers).
Term beside(const Formula& f, const Term& t, const Shape& scales) {
  if (t.shape() != scales)
    f.fail<ShapeError>("scales " + lazy::to_string(t.shape()) + " where " + lazy::to_string(scales) +
                       " are needed");
  return reshape(t, {numel(scales), 1});
}

/// Holds x in sets with scales and zero points beside it.
struct Sets {
  Shape scales;
  Term x, scale, zero;

  Sets(const Formula& f, const Term& of, const Affine& a, const Scheme& how)
      : x(in_sets(f, of, how, scales)), scale(beside(f, f.term(a.scale), scales)) {
    zero = a.zero_point.defined() ? beside(f, f.term(a.zero_point), scales)
                                  : x.number(static_cast<double>(how.middle()));
  }
  /// Returns the integers before they are cut; for a float of 8 bits, the numbers that become codes.
  Term integers() const { return round(x * (1.0 / scale)) + zero; }
  Term scaled() const { return x * (1.0 / scale); }
};

/// Returns codes of a float of 8 bits, and their numbers.
Term codes_of(const Term& x, const Scheme& how) {
  const Formula& f = x.formula();
  return f.term(to_float8(f.arg(x.handle()), how.float8()).handle());
}
Term numbers_of(const Term& codes, const Scheme& how) {
  const Formula& f = codes.formula();
  return f.term(from_float8(f.arg(codes.handle()), how.float8(), f.work).handle());
}

Term cut(const Term& q, const Scheme& how) {
  return minimum(maximum(q, static_cast<double>(how.lowest())), static_cast<double>(how.highest()));
}

/// Returns x's shape with whole groups.
Shape shape_of_integers(const Shape& x, const Shape& scales, const Scheme& how) {
  return how.granularity == Granularity::group ? Shape{scales[0], scales[1] * how.group} : x;
}

/// Returns numbers in sets in x's shape, without what filled up the last group of a row.
Term in_shape(const Term& sets, const Shape& x, const Shape& scales, const Scheme& how) {
  const Term all = reshape(sets, shape_of_integers(x, scales, how));
  return all.shape() == x ? all : part(all, 1, 0, x[1]);
}

Affine affine_of_bounds(const Formula& f, const Term& low, const Term& high, const Scheme& how) {
  const Term least = minimum(low, 0.0), most = maximum(high, 0.0);
  const auto steps = static_cast<double>(how.highest() - how.lowest());
  if (how.symmetric) {
    const double half = how.is_float8() ? largest_of(how.float8()) : steps / 2;
    const Term scale = maximum(maximum(-least, most) / half, kLeastScale);
    return {f.tensor(scale.as(f.result).handle()), {}};
  }
  const Term scale = maximum((most - least) / steps, kLeastScale);
  const Term zero = cut(static_cast<double>(how.lowest()) - round(least / scale), how);
  return {f.tensor(scale.as(f.result).handle()), f.tensor(zero.as(how.dtype()).handle())};
}

}  // namespace

Affine affine_of(const Tensor& least, const Tensor& most, const Scheme& how, Site s) {
  check("affine_of", how, s);
  Arg a(least, s), b(most, s);
  const Formula f("affine_of", {&a, &b});
  return affine_of_bounds(f, f.term(a), f.term(b), how);
}

Affine affine_of(const Tensor& x, const Scheme& how, Site s) {
  check("affine_of", how, s);
  Arg a(x, s);
  const Formula f("affine_of", {&a});
  const Term given = f.term(a);
  if (numel(given.shape()) == 0)
    f.fail<ShapeError>("no numbers to find a range of: " + lazy::to_string(given.shape()));
  Shape scales;
  const Term sets = in_sets(f, given, how, scales);
  const Term most = reshape(max(sets, {1}), scales), least = reshape(-max(-sets, {1}), scales);
  return affine_of_bounds(f, least, most, how);
}

Tensor quantize(const Tensor& x, const Affine& affine, const Scheme& how, Site s) {
  check("quantize", how, s);
  Arg a(x, s), scale(affine.scale, s);
  const Formula f("quantize", {&a, &scale});
  const Term given = f.term(a);
  const Sets sets(f, given, affine, how);
  const Term q = how.is_float8() ? codes_of(sets.scaled(), how) : cut(sets.integers(), how).as(how.dtype());
  return f.tensor(reshape(q, shape_of_integers(given.shape(), sets.scales, how)).handle());
}

Tensor dequantize(const Tensor& q, const Affine& affine, const Scheme& how, Site s) {
  check("dequantize", how, s);
  Arg a(q, s), scale(affine.scale, s);
  const Formula f("dequantize", {&scale});
  const Term given = how.is_float8() ? numbers_of({f, Operand(f.name, a).take()}, how) : f.term(a);
  const Sets sets(f, given, affine, how);
  return f.tensor(reshape((sets.x - sets.zero) * sets.scale, given.shape()).handle());
}

Tensor fake_quantize(const Tensor& x, const Affine& affine, const Scheme& how, Site s) {
  check("fake_quantize", how, s);
  Arg a(x, s);
  const Formula f("fake_quantize", {&a});
  const Term given = f.term(a);
  const Shape& shape = given.shape();
  const Sets sets(f, given, affine, how);
  Composite whole(f.name, {&given.handle()}, f.site);
  const Term whole_range = how.is_float8() ? sets.scaled() : sets.integers();
  // NaN stays as it is. Codes have no derivative, so this is also what depends on x.
  const Term kept = how.is_float8() ? where(whole_range == whole_range,
                                            numbers_of(codes_of(whole_range, how), how), whole_range)
                                    : cut(whole_range, how);
  const auto placed = [&](const Term& t) { return in_shape(t, shape, sets.scales, how); };
  const Term inside = how.is_float8() ? abs(whole_range) <= largest_of(how.float8()) : kept == whole_range;
  const Handle uncut = placed(inside).handle();
  return f.finish(whole, placed((kept - sets.zero) * sets.scale), [uncut](const Differentiated& d) {
    const Recorder r{"fake_quantize", d.site};
    return std::vector<Handle>{r.where(uncut, d.gradient, 0)};
  });
}

Tensor first_steps(const Tensor& x, const Scheme& how, Site s) {
  check("first_steps", how, s);
  Arg a(x, s);
  const Formula f("first_steps", {&a});
  Shape scales;
  const Term sets = in_sets(f, f.term(a), how, scales);
  const double most = std::sqrt(static_cast<double>(how.highest() - how.middle()));
  const Term steps = maximum(mean(abs(sets), {1}) * (2 / most), kLeastScale);
  return f.tensor(reshape(steps, scales).as(f.result).handle());
}

Tensor fake_quantize_learned(const Tensor& x, const Tensor& scale, const Scheme& how, double gradient_factor,
                             Site s) {
  check("fake_quantize_learned", how, s);
  Arg a(x, s), b(scale, s);
  const Formula f("fake_quantize_learned", {&a, &b});
  const Term given = f.term(a), steps = maximum(f.term(b), kLeastScale);
  const Shape shape = given.shape();
  const Sets sets(f, given, {f.tensor(steps.handle()), {}}, how);
  Composite whole(f.name, {&given.handle(), &steps.handle()}, f.site);
  const auto placed = [&](const Term& t) { return in_shape(t, shape, sets.scales, how); };
  const auto middle = static_cast<double>(how.middle());
  const Term all = sets.integers(), kept = cut(all, how), inside = kept == all;
  const Term slope = where(inside, kept - middle - sets.scaled(), kept - middle) * gradient_factor;
  const Handle uncut = placed(inside).handle();
  return f.finish(whole, placed((kept - middle) * sets.scale),
                  [uncut, slope = slope.handle(), scales = sets.scales, how](const Differentiated& d) {
                    const Formula g("fake_quantize_learned", d.site);
                    const Term gradient = g.term(g.as(slope->dtype, d.gradient));
                    Shape same;
                    const Term by_set = in_sets(g, gradient, how, same) * g.term(slope);
                    return std::vector<Handle>{g.where(uncut, gradient.handle(), 0),
                                               reshape(sum(by_set, {1}), scales).handle()};
                  });
}

Tensor detail::in_rows(const Tensor& weights, const Scheme& how, const Site& s) {
  if (how.granularity != Granularity::group) return weights;
  const Shape shape = weights.shape(s);
  return reshape(Arg(weights, s), Shape{shape[0], numel(shape) / std::max<int64_t>(shape[0], 1)});
}

Tensor pack_4(const Tensor& q, Site s) {
  Arg a(q, s);
  const Recorder r{"pack_4", s};
  const Handle h = Operand(r.name, a).take();
  if (h->shape.size() != 2 || h->shape[1] % kBlock != 0 || h->dtype != DType::uint8)
    r.fail<ShapeError>("takes a matrix of uint8 with a multiple of 32 columns, not " +
                       lazy::to_string(h->shape));
  const int64_t rows = h->shape[0], blocks = h->shape[1] / kBlock;
  const Handle apart = r.reshape(h, {rows, blocks, 2, kBlock / 2});
  const Handle lower = r.part(apart, 2, 0, 1), upper = r.part(apart, 2, 1, 1);
  const Handle bytes = r.op(Op::bitwise_or, lower, r.op(Op::left_shift, upper, ScalarNumber(4)));
  return r.tensor(r.reshape(bytes, {rows, blocks * kBlock / 2}));
}

Tensor unpack_4(const Tensor& packed, Site s) {
  Arg a(packed, s);
  const Recorder r{"unpack_4", s};
  const Handle h = Operand(r.name, a).take();
  if (h->shape.size() != 2 || h->shape[1] % (kBlock / 2) != 0 || h->dtype != DType::uint8)
    r.fail<ShapeError>("takes a matrix of uint8 with a multiple of 16 columns, not " +
                       lazy::to_string(h->shape));
  const int64_t rows = h->shape[0], blocks = h->shape[1] * 2 / kBlock;
  const Handle halves = detail::halves_of(r, r.reshape(h, {rows, blocks, 1, kBlock / 2}));
  return r.tensor(r.reshape(halves, {rows, blocks * kBlock}));
}

Handle detail::halves_of(const Recorder& r, const Handle& bytes) {
  const Handle half = r.reshape(r.as(DType::uint8, r.index(0, {2}, bytes)), {2, 1});
  const Handle shifted = r.op(Op::right_shift, bytes, r.op(Op::multiply, half, ScalarNumber(4)));
  return r.op(Op::bitwise_and, shifted, ScalarNumber(15));
}

}  // namespace lazy::quant
