#include "lazy/nn/functional/linear.hpp"

#include "jit/calls/call.hpp"
#include "lazy/core/advice.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/nn/functional/channels.hpp"
#include "lazy/nn/functional/complex_products.hpp"

namespace lazy {
namespace {
using namespace detail;

Shape with_last(Shape shape, std::initializer_list<int64_t> last) {
  shape.resize(shape.size() - 1);
  for (int64_t n : last) shape.push_back(n);
  return shape;
}

[[noreturn]] void mismatch(const char* name, const Shape& x, const Shape& w, const Site& s) {
  fail<ShapeError>(name, "x " + to_string(x) + " and weights " + to_string(w) + " do not fit", s);
}

Handle integers(const char* name, Arg& ids) {
  Handle h = Operand(name, ids).take();
  if (!is_int(h->dtype))
    fail<DtypeError>(name, std::string("ids are integers, not ") + name_of(h->dtype), ids.site());
  return h;
}

// A linear map is an intention (jit/calls/call.hpp). Its operands, of one dtype, are x, weights (out, in) or
// (in), and the bias, if there is one.
constexpr const char* kLinearName = "linear";
enum LinearOperand : size_t { kLinearX, kLinearWeights, kLinearBias };

Shape linear_shape(const Shape& x, const Shape& w) {
  return w.size() == 2 ? with_last(x, {w[0]}) : with_last(x, {});
}

std::vector<jit::CallOutput> infer_linear(const jit::CallSpec&, std::span<const jit::Meta> o) {
  return {{{o[kLinearX].dtype, linear_shape(o[kLinearX].shape, o[kLinearWeights].shape)}, {}}};
}

std::vector<Handle> expand_linear(const jit::Expanding& e) {
  const Recorder r{kLinearName, e.site};
  const Handle &x = e[kLinearX], &w = e[kLinearWeights];
  const int64_t in = w->shape.back(), out = w->shape.size() == 2 ? w->shape[0] : 1;
  // Steps of one sequence, (T, 1, in), are the rows of one product, not T products of a row.
  const int rank = x->shape.size();
  const bool single = rank > 2 && x->shape[rank - 2] == 1 && in > 0;
  const Handle rows = rank == 1 ? r.reshape(x, {1, in})
                      : single  ? r.reshape(x, {numel(x->shape) / in, in})
                                : x;
  const Handle columns = detail::matrix_transpose(r.reshape(w, {out, in}), r.site);
  const Handle y = r.reshape(detail::matmul(r.name, rows, columns, r.site), linear_shape(x->shape, w->shape));
  return {e.operands.size() > kLinearBias ? r.op(Op::add, y, e[kLinearBias]) : y};
}

/// Scales and shifts the columns of the result by weights and bias.
std::vector<Handle> linear_with_channels(const jit::Expanding& e, const jit::ChannelMap& map) {
  const Handle &x = e[kLinearX], &w = e[kLinearWeights];
  const Handle bias = e.operands.size() > kLinearBias ? e[kLinearBias] : Handle();
  const bool columns = w->shape.size() == 2 && map.axis == x->shape.size() - 1;
  if (!is_float(w->dtype) || !columns || (bias && bias->shape != Shape{w->shape[0]})) return {};
  const Recorder r{kLinearName, e.site};
  return {x, with_factors(r, w, 0, map), with_shifts(r, bias, w->dtype, map)};
}

/// Gives the derivatives of x W^T + b: g W, g^T x, and the sum of g, with the rows of a whole batch as one
/// matrix. So a weight's gradient lies as the weight does, and what updates it joins the product.
std::vector<Handle> linear_gradients(const jit::CallGradients& d) {
  const Recorder r{kLinearName, d.site};
  const Handle &x = d.operands[kLinearX], &w = d.operands[kLinearWeights];
  const int64_t in = x->shape.back(), out = w->shape.size() == 2 ? w->shape[0] : 1,
                rows = numel(x->shape) / in;
  const Handle g = r.reshape(d.gradients[0], {rows, out});
  std::vector<Handle> all(d.operands.size());
  if (d.wants(kLinearX)) {
    const Handle gx = detail::matmul(r.name, g, r.reshape(w, {out, in}), r.site);
    all[kLinearX] = r.reshape(gx, x->shape);
  }
  if (d.wants(kLinearWeights)) {
    const Handle gw =
        detail::matmul(r.name, detail::matrix_transpose(g, r.site), r.reshape(x, {rows, in}), r.site);
    all[kLinearWeights] = r.reshape(gw, w->shape);
  }
  if (d.wants(kLinearBias))
    all[kLinearBias] =
        d.operands[kLinearBias]->shape == Shape{out} ? r.reduce(Op::sum, g, {0}) : d.gradients[0];
  return all;
}

constinit const jit::CallDefinition kLinear{.name = kLinearName,
                                            .traits = jit::call_trait::kNoThrow,
                                            .infer = infer_linear,
                                            .expand = expand_linear,
                                            .with_channels = linear_with_channels,
                                            .vjp = linear_gradients};

}  // namespace

Tensor linear(Arg x, Arg w, const MaybeTensor& bias) {
  constexpr const char* name = kLinearName;
  const Site s = x.site();
  if (Tensor y = recorded_by_weights(w, {name, x, bias}); y.defined()) return y;
  const DType t = contraction_type(name, {&x, &w}, {&bias});
  tell_of_widening(name, x.handle(), w.handle(), s);
  if (is_bool(t)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", s);
  if (is_complex(t))
    return product_of_planes(name, x, w, bias, s, [](Arg a, Arg b, const Tensor& c) {
      return c.defined() ? linear(std::move(a), std::move(b), c) : linear(std::move(a), std::move(b));
    });
  const Handle a = Operand(name, x, t).take(), b = Operand(name, w, t).take();
  const Shape xs = a->shape, ws = b->shape;
  if (xs.empty() || ws.empty() || ws.size() > 2 || xs.back() != ws.back()) mismatch(name, xs, ws, s);
  const Shape shape = linear_shape(xs, ws);
  Handle added;
  if (bias.defined()) {
    const Shape& given = bias.handle()->shape;
    const bool a_row = given.size() == 1 && !shape.empty() && given[0] == shape.back();
    if (!a_row && broadcast_shapes(name, shape, given, s) != shape)
      fail<ShapeError>(name, "a bias " + to_string(given) + " for a result " + to_string(shape), s);
    added = cast(bias.handle(), t, s);
  }
  const Handle* const all[] = {&a, &b, &added};
  const std::span<const Handle* const> operands(all, added ? 3 : 2);
  const jit::CallSpec& spec = jit::intern_call(kLinear, std::string_view());
  // Without elements the derivatives are those of the ops.
  const bool empty = numel(xs) == 0 || numel(shape) == 0;
  return Tensor(
      (empty ? detail::record_expanded(spec, operands, s) : detail::record_call(spec, operands, s))[0]);
}

Tensor bilinear(Arg a, Arg b, Arg w, const MaybeTensor& bias) {
  const Formula f("bilinear", contraction, {&a, &b, &w}, {&bias});
  for (const Arg* x : {&a, &b}) tell_of_widening(f.name, x->handle(), w.handle(), f.site);
  const Term x = f.term(a), y = f.term(b), weights = f.term(w);
  const Shape &xs = x.shape(), &ys = y.shape(), &ws = weights.shape();
  const bool fits = ws.size() == 3 && !xs.empty() && xs.size() == ys.size() && xs.back() == ws[1] &&
                    ys.back() == ws[2] && with_last(xs, {1}) == with_last(ys, {1});
  if (!fits)
    f.fail<ShapeError>("a " + to_string(xs) + ", b " + to_string(ys) + " and weights " + to_string(ws) +
                       " do not fit");
  Composite whole(f.name, {&x.handle(), &y.handle(), &weights.handle(), &bias.handle()}, f.site);
  const int64_t out = ws[0], in1 = ws[1], in2 = ws[2], rows = count_along(with_last(xs, {1}), {});
  // (rows, in1) (in1, out in2) -> (rows, out, in2), summed with b over in2.
  const Term matrix = reshape(permute(weights, {1, 0, 2}), {in1, out * in2});
  const Term left = f.term(detail::matmul(f.name, reshape(x, {rows, in1}).handle(), matrix.handle(), f.site));
  const Term products = reshape(left, {rows, out, in2}) * reshape(y, {rows, 1, in2});
  Term r = reshape(sum(products, {-1}), with_last(xs, {out}));
  if (bias.defined()) {
    const Term added = f.term(bias);
    if (added.shape() != Shape{out})
      f.fail<ShapeError>("a bias " + to_string(added.shape()) + " for " + std::to_string(out) + " results");
    r = r + added;
  }
  return f.finish(whole, r);
}

Tensor one_hot(Arg ids) {
  constexpr const char* name = "one_hot";
  const Site s = ids.site();
  const Handle at = integers(name, ids);
  if (numel(at->shape) == 0)
    fail<ShapeError>(name, "no ids " + to_string(at->shape) + " tell no number of classes: give it", s);
  const Handle wide = cast(at, int64, s);
  const Tensor ends[] = {Tensor(reduce(name, Op::min, wide, {}, dropdims, s)),
                         Tensor(reduce(name, Op::max, wide, {}, dropdims, s))};
  const Handle* const both[] = {&ends[0].handle(), &ends[1].handle()};
  jit::evaluate(both, jit::Cause::count, s);
  const int64_t least = ends[0].item<int64_t>(s), most = ends[1].item<int64_t>(s);
  if (least < 0) fail<IndexError>(name, "id " + std::to_string(least) + " is negative", s);
  if (most == INT64_MAX) fail<ShapeError>(name, "id " + std::to_string(most) + " is above all classes", s);
  return one_hot(Arg(at, s), most + 1);
}

Tensor embedding(Arg ids, Arg weight) {
  constexpr const char* name = "embedding";
  const Site s = ids.site();
  const Handle at = integers(name, ids), rows = Operand(name, weight).take();
  if (rows->shape.size() != 2)
    fail<ShapeError>(name, "takes weights of 2 axes, not " + to_string(rows->shape), s);
  if (at->shape.size() + 1 > kMaxRank)
    fail<ShapeError>(name, "ids " + to_string(at->shape) + " have too many axes", s);
  if (rows->shape[0] == 0 && numel(at->shape) > 0) fail<IndexError>(name, "no id is in range of no rows", s);
  const jit::Purpose purpose(name);
  Composite whole(name, {&at, &rows}, s);
  return Tensor(whole.result(take(Arg(rows, s), Arg(at, s), 0, Bounds::strict).handle()));
}

Tensor one_hot(Arg ids, IntegerArg classes) {
  constexpr const char* name = "one_hot";
  const Site s = ids.site();
  const Handle at = integers(name, ids);
  if (classes < 1)
    fail<ShapeError>(name, std::to_string(classes.value) + " classes: at least 1 is needed", s);
  if (at->shape.size() == kMaxRank)
    fail<ShapeError>(name, "ids " + to_string(at->shape) + " have too many axes", s);
  Shape column = at->shape;
  column.push_back(1);
  Shape shape = at->shape;
  shape.push_back(classes);
  check_countable(name, shape, s);
  Composite whole(name, {&at}, s);
  const Handle index = iota(at->shape.size(), shape, at->device, s);
  const Handle hit = binary(name, Op::equal, detail::reshape(cast(at, int64, s), column, s), index, s);
  return Tensor(whole.result(cast(hit, int64, s)));
}

}  // namespace lazy
