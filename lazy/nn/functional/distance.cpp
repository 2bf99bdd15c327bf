#include "lazy/nn/functional/distance.hpp"

#include <algorithm>

#include "lazy/indexing/gathering.hpp"
#include "lazy/nn/functional/norms.hpp"
#include "lazy/ops/grids.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Adds an axis of extent 1 at a position.
Term expanded(const Term& x, int axis) {
  Shape shape;
  for (int i = 0; i <= x.rank(); ++i) shape.push_back(i == axis ? 1 : x.extent(i - (i > axis)));
  return reshape(x, shape);
}

}  // namespace

Tensor cosine_similarity(Arg a, Arg b, IntegerArg axis, double eps) {
  const Formula f("cosine_similarity", {&a, &b});
  const Term x = f.term(a), y = f.term(b);
  const Shape shape = broadcast_shapes(f.name, x.shape(), y.shape(), f.site);
  const int i = normal_axis(f.name, axis, shape.size(), f.site);
  Composite whole(f.name, {&x.handle(), &y.handle()}, f.site);
  const Term u = broadcast(x, shape), v = broadcast(y, shape);
  const auto length = [&](const Term& t) { return no_shorter_than(eps, norm(t, 2, {i}, dropdims)); };
  return f.finish(whole, sum(u * v, {i}, dropdims) / (length(u) * length(v)));
}

Tensor pairwise_distance(Arg a, Arg b, double p, double eps, KeepDims keep) {
  const Formula f("pairwise_distance", {&a, &b});
  const Term x = f.term(a), y = f.term(b);
  if (x.rank() == 0 && y.rank() == 0) f.fail<ShapeError>("takes vectors, not two numbers");
  Composite whole(f.name, {&x.handle(), &y.handle()}, f.site);
  return f.finish(whole, norm(x - y + eps, p, {-1}, keep));
}

Tensor cdist(Arg a, Arg b, double p) {
  const Formula f("cdist", {&a, &b});
  const Term x = f.term(a), y = f.term(b);
  if (!(p >= 0)) f.fail<Error>("p is negative");
  if (x.rank() < 2 || y.rank() < 2 || x.extent(-1) != y.extent(-1))
    f.fail<ShapeError>("takes rows of one length, not " + to_string(x.shape()) + " and " +
                       to_string(y.shape()));
  if (x.rank() == kMaxRank || y.rank() == kMaxRank) f.fail<ShapeError>("more than 7 axes");
  Composite whole(f.name, {&x.handle(), &y.handle()}, f.site);
  const Term difference = expanded(x, x.rank() - 1) - expanded(y, y.rank() - 2);
  return f.finish(whole, norm(difference, p, {-1}, dropdims));
}

Tensor pdist(Arg x, double p) {
  const Formula f("pdist", {&x});
  const Term v = f.term(x);
  if (!(p >= 0)) f.fail<Error>("p is negative");
  if (v.rank() != 2) f.fail<ShapeError>("takes rows (n, m), not " + to_string(v.shape()));
  const int64_t n = v.extent(0);
  const int64_t pairs = narrow(f.name, "a number of", Wide(n) * std::max<int64_t>(n - 1, 0) / 2, f.site);
  check_countable(f.name, {2, pairs}, f.site);
  Composite whole(f.name, {&v.handle()}, f.site);
  const Tensor rows = triu_indices(n, n, 1, v.handle()->device, f.site);
  const auto chosen = [&](int64_t which) {
    const Handle at = f.reshape(f.part(rows.handle(), 0, which, 1), {pairs});
    if (pairs == 0) return part(v, 0, 0, 0);
    return f.term(take(f.arg(v.handle()), f.arg(at), 0).handle());
  };
  return f.finish(whole, norm(chosen(0) - chosen(1), p, {-1}, dropdims));
}

}  // namespace lazy
