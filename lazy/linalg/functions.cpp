// Computes powers, exponentials and products of several matrices.
#include <limits>

#include "jit/built_in/linalg/matrix_exp.hpp"
#include "lazy/linalg/linalg.hpp"
#include "lazy/linalg/matrices.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Finds the order of products that takes the fewest multiplications (Cormen and others, Introduction to
/// Algorithms, 15.2), and records them.
class Chain {
 public:
  Chain(const Recorder& r, const std::vector<Handle>& factors)
      : r_(r), factors_(factors), n_(factors.size()), cost_(n_ * n_, 0), cut_(n_ * n_, 0) {
    const auto extent = [&](size_t i) {
      return static_cast<double>(i < n_ ? factors[i]->shape[0] : factors[n_ - 1]->shape[1]);
    };
    for (size_t length = 1; length < n_; ++length)
      for (size_t i = 0; i + length < n_; ++i) {
        const size_t j = i + length;
        double best = std::numeric_limits<double>::infinity();
        for (size_t k = i; k < j; ++k) {
          const double cost =
              cost_[i * n_ + k] + cost_[(k + 1) * n_ + j] + extent(i) * extent(k + 1) * extent(j + 1);
          if (cost < best) best = cost, cut_[i * n_ + j] = k;
        }
        cost_[i * n_ + j] = best;
      }
  }
  Handle all() const { return product(0, n_ - 1); }

 private:
  Handle product(size_t i, size_t j) const {
    if (i == j) return factors_[i];
    const size_t k = cut_[i * n_ + j];
    return detail::matmul(r_.name, product(i, k), product(k + 1, j), r_.site);
  }

  const Recorder& r_;
  const std::vector<Handle>& factors_;
  const size_t n_;
  std::vector<double> cost_;  // multiplications, by first and last factor
  std::vector<size_t> cut_;   // the last factor of the left part
};

}  // namespace

Tensor matrix_power(Arg x, IntegerArg n) {
  const Matrices r("matrix_power", x.site());
  const bool inverted = n < 0;
  DType t = inverted ? r.wide_type({&x}) : common_type(r.name, {&x});
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  Handle base = Operand(r.name, x, is_half(t) ? float32 : t).take();
  r.need_matrix(base->shape, true);
  if (n == 0) return r.tensor(r.broadcast(r.identity(base->shape.back(), t, base), base->shape));
  if (inverted) base = inverse(r, base);
  Handle result;
  // The magnitude as unsigned: that of the lowest int64 has no other name.
  for (uint64_t left = inverted ? 0 - static_cast<uint64_t>(n.value) : static_cast<uint64_t>(n.value);;) {
    if (left & 1) result = result ? r.product(result, base) : base;
    left >>= 1;
    if (left == 0) break;
    base = r.product(base, base);
  }
  return r.tensor(r.as(t, result), x);
}

Tensor matrix_exp(Arg x) {
  const Matrices r("matrix_exp", x.site());
  const Handle h = r.matrix(x, true);
  return r.tensor(r.call(jit::calls::kMatrixExp, 0, {&h})[0]);
}

Tensor multi_dot(const std::vector<Tensor>& xs, Site site) {
  const Recorder r{"multi_dot", site};
  if (xs.size() < 2) r.fail<ShapeError>("two matrices or more are needed, not " + std::to_string(xs.size()));
  std::vector<Arg> args;
  for (const Tensor& x : xs) args.emplace_back(x, site);
  std::vector<const Arg*> pointers;
  for (const Arg& a : args) pointers.push_back(&a);
  const DType t = contraction_type(r.name, pointers);
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  std::vector<Handle> factors;
  Shape result;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool first = i == 0, last = i + 1 == args.size();
    Handle h = r.as(is_half(t) ? float32 : t, Operand(r.name, args[i], t).take());
    const int rank = h->shape.size();
    if (rank != 2 && !(rank == 1 && (first || last)))
      r.fail<ShapeError>("factor " + std::to_string(i) +
                         " has to be a matrix, or a vector at an end; the shape is " + to_string(h->shape));
    if (first && rank == 2) result.push_back(h->shape[0]);
    if (last && rank == 2) result.push_back(h->shape[1]);
    if (rank == 1) h = r.reshape(h, first ? Shape{1, h->shape[0]} : Shape{h->shape[0], 1});
    if (!first && factors.back()->shape[1] != h->shape[0])
      r.fail<ShapeError>("factors " + std::to_string(i - 1) + " and " + std::to_string(i) +
                         " do not fit: their shapes are " + to_string(factors.back()->shape) + " and " +
                         to_string(h->shape));
    factors.push_back(std::move(h));
  }
  return r.tensor(r.reshape(r.as(t, Chain(r, factors).all()), result));
}

}  // namespace lazy
