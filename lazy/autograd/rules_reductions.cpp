// Holds the rules of reductions, scans and products. Reductions keep their axis with extent 1.
#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/rules.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;

int reduced_axis(D d) { return jit::axis_of(d.op.attributes); }

void summed(D d) {
  d.to(0, [&] { return broadcast(d.g(), d.x(0).shape()); });
}

/// Holds the lanes of x along the axis, a row for each element in which a 1 is in its place: (..., n, n,
/// ...). Products along them, along axis + 1, have no 0 that isn't one of the others'.
struct WithoutEach {
  Term lanes;
  Term element, position;  // of the row, and in it
  Shape one_row;           // of what is the same in each row

  WithoutEach(D d, const Term& x, int axis) {
    Shape all;
    for (int i = 0; i < x.rank(); ++i) {
      if (i == axis) all.push_back(x.extent(axis)), one_row.push_back(1);
      all.push_back(x.extent(i)), one_row.push_back(x.extent(i));
    }
    element = d.index(axis, all, x), position = d.index(axis + 1, all, x);
    lanes = where(element == position, 1, broadcast(reshape(x, one_row), all));
  }
};

/// True if the gradient that a rule gives is to be differentiated, and x is so small that formulas of (...,
/// n, n, ...) numbers are for it: what is shorter divides by x, whose own derivatives at 0 are wrong then.
bool differentiated_again(const Term& x, int axis) {
  return is_grad_enabled() && numel(x.shape()) * x.extent(axis) <= int64_t{1} << 22;
}

/// The product of the others: y / x, where no element is 0; at a single 0 the product of the rest.
void product_of_all(D d) {
  d.to(0, [&] {
    const int axis = reduced_axis(d);
    if (differentiated_again(d.x(0), axis)) {
      const WithoutEach others(d, d.x(0), axis);
      const Handle products = d.reduce(Op::prod, others.lanes.handle(), {axis + 1}, keepdims);
      return d.g() * reshape(d.term(products), d.x(0).shape());
    }
    const Term x = d.x(0), is_zero = x == 0;
    const Term zeros = sum(where(is_zero, x.number(1), x.number(0)), {reduced_axis(d)});
    const Term rest = d.term(d.reduce(Op::prod, where(is_zero, 1, x).handle(), {reduced_axis(d)}, keepdims));
    const Term others = where(is_zero, where(zeros == 1, rest, 0), where(zeros == 0, rest / x, 0));
    return d.g() * others;
  });
}

/// Elements that are equal share.
void extreme_of_all(D d) {
  d.to(0, [&] {
    const Term x = d.x(0), taken = where(x == d.y(), x.number(1), x.number(0));
    return d.g() * taken / sum(taken, {reduced_axis(d)});
  });
}

Term reversed(D d, const Term& t) { return d.term(d.Recorder::reversed(t.handle(), reduced_axis(d))); }

Term scan(D d, Op op, const Term& t) {
  const Handle& h = t.handle();
  return d.term(detail::record(op, {&h}, h->dtype, h->shape, d.site, d.op.attributes));
}
Term scan(D d, Op op, const Term& t, int axis) {
  const Handle& h = t.handle();
  jit::Attributes along = d.op.attributes;
  along.axes[0] = axis;
  return d.term(detail::record(op, {&h}, h->dtype, h->shape, d.site, std::move(along)));
}
/// Sums from each element on to the end.
Term sum_from(D d, const Term& t) { return reversed(d, scan(d, Op::cumsum, reversed(d, t))); }

/// Element i is in the sums i, i + 1, ...
void running_sum(D d) {
  d.to(0, [&] { return sum_from(d, d.g()); });
}

/// Element i is in the products i, i + 1, ..., each without it: y / x up to the first 0, at which it is the
/// products as if that were 1; behind it all are 0.
void running_product(D d) {
  d.to(0, [&] {
    const int axis = reduced_axis(d);
    if (differentiated_again(d.x(0), axis)) {
      const WithoutEach others(d, d.x(0), axis);
      const Term products = scan(d, Op::cumprod, others.lanes, axis + 1);
      const Term in_them = where(others.position >= others.element, products, 0);
      return reshape(sum(in_them * reshape(d.g(), others.one_row), {axis + 1}), d.x(0).shape());
    }
    const Term x = d.x(0), is_zero = x == 0;
    const Term zeros = scan(d, Op::cumsum, where(is_zero, x.number(1), x.number(0)));
    const Term first = is_zero & (zeros == 1), rest = scan(d, Op::cumprod, where(first, 1, x));
    return where(first, sum_from(d, d.g() * rest), where(zeros == 0, sum_from(d, d.g() * d.y()) / x, 0));
  });
}

/// A gradient goes to the element that is the largest, or smallest, so far: the last of equal ones.
void running_extreme(D d) {
  d.to(0, [&] {
    const Term x = d.x(0), position = d.index(reduced_axis(d), x.shape(), x);
    const Term at = scan(d, Op::cummax, where(x == d.y(), position, 0));
    return d.added_at(0, d.g(), at.handle(), reduced_axis(d));
  });
}

/// Returns the matrices of a batch, one below the other.
Handle stacked_rows(const Handle& h, const Site& s) {
  const int64_t columns = h->shape.back();
  return detail::reshape(h, {columns == 0 ? 0 : numel(h->shape) / columns, columns}, s);
}

void matrix_product(D d) {
  const auto product = [&](const Handle& a, const Handle& b) { return d.term(matmul(d.name, a, b, d.site)); };
  const Handle &a = d.op.operands[0], &b = d.op.operands[1];
  d.to(0, [&] { return product(d.g().handle(), matrix_transpose(b, d.site)); });
  d.to(1, [&] {
    const Handle g = d.g().handle();
    if (b->shape.size() > 2 || a->shape.size() <= 2 || numel(a->shape) == 0 || numel(g->shape) == 0)
      return product(matrix_transpose(a, d.site), g);
    // A matrix for a whole batch is one product, not one a batch and their sum.
    return product(matrix_transpose(stacked_rows(a, d.site), d.site), stacked_rows(g, d.site));
  });
}

constexpr RuleRow kReductionRules[] = {
    {Op::sum, summed},
    {Op::prod, product_of_all},
    {Op::max, extreme_of_all},
    {Op::min, extreme_of_all},
    {Op::cumsum, running_sum},
    {Op::cumprod, running_product},
    {Op::cummax, running_extreme},
    {Op::cummin, running_extreme},
    {Op::matmul, matrix_product},
};

}  // namespace

std::span<const RuleRow> reduction_rules() { return kReductionRules; }

}  // namespace lazy::detail
