#include "lazy/nn/modules/init.hpp"

#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/linalg/linalg.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/diagonals.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/sorting.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/distributions.hpp"
#include "lazy/random/random.hpp"

namespace lazy::nn::init {

using lazy::detail::fail;

namespace {

Generator& generator_of(Generator* g) { return g ? *g : default_generator(); }

/// Describes what a variable's new value has to be like.
struct Like {
  const char* name;
  const Site& site;
  Shape shape;
  DType dtype;
  Device device;

  Like(const char* n, const Variable& v)
      : name(n),
        site(v.site),
        shape(v.value().shape(site)),
        dtype(v.value().dtype(site)),
        device(v.value().device(site)) {}

  Tensor normal(Generator* g, double mean, double std, const Shape& s, DType t) const {
    return lazy::normal(generator_of(g), mean, std, s, t, device, site);
  }
  Tensor uniform(Generator* g, double low, double high) const {
    return lazy::uniform(generator_of(g), low, high, shape, dtype, device, site);
  }
  void needs_matrix() const {
    if (shape.size() != 2)
      fail<ShapeError>(name, "takes 2 dimensions, not shape " + lazy::to_string(shape), site);
  }
};

struct Fans {
  double in, out;
};
Fans fans_of(const Like& like) {
  const Shape& s = like.shape;
  if (s.size() < 2)
    fail<ShapeError>(like.name, "fans are of 2 dimensions or more, not of shape " + lazy::to_string(s),
                     like.site);
  double window = 1;
  for (int a = 2; a < s.size(); ++a) window *= static_cast<double>(s[a]);
  return {static_cast<double>(s[1]) * window, static_cast<double>(s[0]) * window};
}

/// Returns a / b; 0 where there is nothing to draw for.
double ratio(double a, double b) { return b > 0 ? a / b : 0; }

double xavier_std(const Like& like, double gain) {
  const Fans fans = fans_of(like);
  return gain * std::sqrt(ratio(2, fans.in + fans.out));
}
double kaiming_std(const Like& like, const KaimingOptions& o) {
  const Fans fans = fans_of(like);
  return calculate_gain(o.nonlinearity, o.a) * std::sqrt(ratio(1, o.mode == Fan::in ? fans.in : fans.out));
}

/// Returns the index along an axis, for a tensor of the shape.
Tensor along(const Like& like, int axis) {
  Shape s(like.shape.size(), 1);
  s[axis] = like.shape[axis];
  return reshape(arange(like.shape[axis], int64, like.device, like.site), s);
}

/// Counts the scopes of the thread in which nothing is filled.
thread_local int skips = 0;

}  // namespace

Skip::Skip() noexcept { ++skips; }
Skip::~Skip() { --skips; }
bool Skip::active() noexcept { return skips > 0; }

void Variable::set(Tensor value) const {
  const no_grad scope;
  if (parameter_) {
    *parameter_ = std::move(value);
    return;
  }
  const bool trained = tensor_->requires_grad(site);
  *tensor_ = std::move(value);
  if (trained) tensor_->requires_grad_(true, site);
}

double calculate_gain(Nonlinearity f, double slope) {
  switch (f) {
    case Nonlinearity::tanh: return 5.0 / 3;
    case Nonlinearity::relu: return std::sqrt(2.0);
    case Nonlinearity::leaky_relu: return std::sqrt(2 / (1 + slope * slope));
    case Nonlinearity::selu: return 0.75;
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid: break;
  }
  return 1;
}

void uniform_(Variable v, double low, double high, Generator* g) {
  if (Skip::active()) return;
  v.set(Like("uniform_", v).uniform(g, low, high));
}

void normal_(Variable v, double mean, double std, Generator* g) {
  if (Skip::active()) return;
  const Like like("normal_", v);
  v.set(like.normal(g, mean, std, like.shape, like.dtype));
}

void trunc_normal_(Variable v, double mean, double std, double low, double high, Generator* g) {
  if (Skip::active()) return;
  const Like like("trunc_normal_", v);
  v.set(truncated_normal(generator_of(g), mean, std, low, high, like.shape, like.dtype, like.device,
                         like.site));
}

void constant_(Variable v, double value) {
  if (Skip::active()) return;
  const Like like("constant_", v);
  v.set(full(like.shape, value, like.dtype, like.device, like.site));
}
void ones_(Variable v) { constant_(v, 1); }
void zeros_(Variable v) { constant_(v, 0); }

void eye_(Variable v) {
  if (Skip::active()) return;
  const Like like("eye_", v);
  like.needs_matrix();
  v.set(eye(like.shape[0], like.shape[1], 0, like.dtype, like.device, like.site));
}

void dirac_(Variable v, IntegerArg groups) {
  if (Skip::active()) return;
  const Like like("dirac_", v);
  const Shape& s = like.shape;
  if (s.size() < 3 || s.size() > 5)
    fail<ShapeError>(like.name, "takes 3 to 5 dimensions, not shape " + lazy::to_string(s), like.site);
  if (groups < 1 || s[0] % groups != 0)
    fail<ShapeError>(
        like.name,
        "there are no " + std::to_string(groups) + " groups of " + std::to_string(s[0]) + " channels",
        like.site);
  Tensor is_one = along(like, 0) % (s[0] / groups) == along(like, 1);
  for (int a = 2; a < s.size(); ++a) is_one = is_one & (along(like, a) == s[a] / 2);
  v.set(is_one.astype(like.dtype));
}

void xavier_uniform_(Variable v, double gain, Generator* g) {
  if (Skip::active()) return;
  const Like like("xavier_uniform_", v);
  const double bound = std::sqrt(3.0) * xavier_std(like, gain);
  v.set(like.uniform(g, -bound, bound));
}
void xavier_normal_(Variable v, double gain, Generator* g) {
  if (Skip::active()) return;
  const Like like("xavier_normal_", v);
  v.set(like.normal(g, 0, xavier_std(like, gain), like.shape, like.dtype));
}

void kaiming_uniform_(Variable v, const KaimingOptions& o) {
  if (Skip::active()) return;
  const Like like("kaiming_uniform_", v);
  const double bound = std::sqrt(3.0) * kaiming_std(like, o);
  v.set(like.uniform(o.generator, -bound, bound));
}
void kaiming_normal_(Variable v, const KaimingOptions& o) {
  if (Skip::active()) return;
  const Like like("kaiming_normal_", v);
  v.set(like.normal(o.generator, 0, kaiming_std(like, o), like.shape, like.dtype));
}

void orthogonal_(Variable v, double gain, Generator* g) {
  if (Skip::active()) return;
  const Like like("orthogonal_", v);
  if (like.shape.size() < 2)
    fail<ShapeError>(like.name, "takes 2 dimensions or more, not shape " + lazy::to_string(like.shape),
                     like.site);
  const int64_t rows = like.shape[0], all = numel(like.shape);
  if (all == 0) return;
  const int64_t columns = all / rows;
  const bool wide = columns > rows;
  const DType work = is_half(like.dtype) ? float32 : like.dtype;
  const auto [q, r] = qr(like.normal(g, 0, 1, wide ? Shape{columns, rows} : Shape{rows, columns}, work));
  // The signs make the distribution uniform (Mezzadri 2007).
  const Tensor rotation = q * where(diagonal(r) < 0, -gain, gain);
  v.set(reshape(wide ? rotation.T() : rotation, like.shape).astype(like.dtype));
}

void sparse_(Variable v, double sparsity, double std, Generator* g) {
  if (Skip::active()) return;
  const Like like("sparse_", v);
  like.needs_matrix();
  if (!(sparsity >= 0 && sparsity <= 1))
    fail<Error>(like.name, "sparsity is from 0 to 1, not " + std::to_string(sparsity), like.site);
  const int64_t zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(like.shape[0])));
  const Tensor values = like.normal(g, 0, std, like.shape, like.dtype);
  const Tensor order =
      argsort(argsort(lazy::rand(generator_of(g), like.shape, float32, like.device, like.site), 0), 0);
  v.set(where(order < zeros, 0, values));
}

}  // namespace lazy::nn::init
