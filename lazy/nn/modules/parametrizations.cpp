#include "lazy/nn/modules/parametrizations.hpp"

#include "lazy/complex/complex.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/norms.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/products.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn::utils::parametrizations {

using namespace lazy::detail;
using nn::detail::Repr;

namespace {

/// Returns the axes other than one; all if there is none.
Dims others(const char* name, std::optional<int64_t> axis, int rank, const Site& s) {
  Dims r;
  const int left_out = axis ? normal_axis(name, *axis, rank, s) : -1;
  for (int i = 0; i < rank; ++i)
    if (i != left_out) r.push_back(i);
  return r;
}

/// Returns the length of x for each index of an axis, or of all of it if there is none, as a 0-d value.
Term length(const Term& x, std::optional<int64_t> axis) {
  const Formula& f = x.formula();
  const Dims along = others(f.name, axis, x.rank(), f.site);
  if (along.empty()) return abs(x);
  return norm(x, 2, along, axis ? keepdims : dropdims);
}

}  // namespace

Tensor WeightNorm::forward(const std::vector<Tensor>& x, Site s) {
  Arg g(x[0], s), v(x[1], s);
  const Formula f("weight_norm", {&g, &v});
  const Term lengths = f.term(g), direction = f.term(v);
  Composite whole(f.name, {&lengths.handle(), &direction.handle()}, f.site);
  return f.finish(whole, direction * (lengths / length(direction, dim)));
}

std::optional<std::vector<Tensor>> WeightNorm::right_inverse(const Tensor& value, Site s) {
  Arg w(value, s);
  const Formula f("weight_norm", {&w});
  const Term v = f.term(w);
  return std::vector{f.tensor(length(v, dim).as(plane_type(f.result)).handle()), value};
}

SpectralNorm::SpectralNorm(const Tensor& weight, int64_t iterations, double least, int64_t rows_along,
                           Generator* generator, Site s)
    : n_power_iterations(iterations), dim(rows_along), eps(least) {
  const int rank = weight.ndim(s);
  dim = normal_axis("spectral_norm", dim, rank, s);
  if (rank < 2) return;
  const no_grad scope;
  const int64_t rows = weight.size(dim, s), all = weight.size(s);
  Generator& source = generator ? *generator : default_generator();
  const auto drawn = [&](int64_t n) { return randn(source, {n}, weight.dtype(s), weight.device(s), s); };
  u_ = drawn(rows), v_ = drawn(rows ? all / rows : 0);
  iterate(weight, 15, s);
}

void SpectralNorm::members(Visitor& v) {
  v.whole(*this, this, sizeof *this);
  v.member("_u", u_);
  v.member("_v", v_);
}

namespace {

/// Returns a weight as a matrix of rows along an axis.
Tensor matrix_of(const Tensor& w, int64_t rows_along, const Site& s) {
  Dims order{rows_along};
  for (int i = 0; i < w.ndim(s); ++i)
    if (i != rows_along) order.push_back(i);
  const Tensor first = permute(Arg(w, s), Axes(order));
  const int64_t rows = w.size(rows_along, s), all = w.size(s);
  return reshape(Arg(first, s), Shape{rows, rows ? all / rows : 0});
}

/// Returns a vector divided by its length, or by `least` if that is more.
Tensor of_length_one(const Tensor& x, double least, const Site& s) {
  Arg a(x, s);
  const Formula f("spectral_norm", {&a});
  const Term v = f.term(a);
  return f.tensor((v / no_shorter_than(least, norm(v, 2, {0}))).as(f.result).handle());
}

}  // namespace

void SpectralNorm::iterate(const Tensor& matrix, int64_t times, const Site& s) {
  const no_grad scope;
  const Tensor m = matrix_of(matrix, dim, s), t = conj(Arg(m.T(s), s));
  for (int64_t i = 0; i < times; ++i) {
    u_ = of_length_one(mv(Arg(m, s), Arg(v_, s)), eps, s);
    v_ = of_length_one(mv(Arg(t, s), Arg(u_, s)), eps, s);
  }
}

Tensor SpectralNorm::forward(const std::vector<Tensor>& x, Site s) {
  if (!u_.defined()) return of_length_one(x[0], eps, s);
  if (training()) iterate(x[0], n_power_iterations, s);
  const Tensor m = matrix_of(x[0], dim, s);
  const Tensor stretched = mv(Arg(m, s), Arg(v_, s));
  const Tensor largest = is_complex(m.dtype(s)) ? real(Arg(vecdot(Arg(u_, s), Arg(stretched, s)), s))
                                                : dot(Arg(u_, s), Arg(stretched, s));
  return divide(Arg(x[0], s), Arg(largest, s));
}

std::optional<std::vector<Tensor>> SpectralNorm::right_inverse(const Tensor& value, Site) {
  return std::vector{value};
}

LowRank::LowRank(const Tensor& weight, int64_t rank, double factor, Generator* generator, Site s)
    : scale(factor) {
  if (rank < 1) fail<Error>("low_rank", "a rank of " + std::to_string(rank) + ": at least 1 is needed", s);
  if (weight.ndim(s) < 2)
    fail<ShapeError>("low_rank", "a parameter of " + to_string(weight.shape(s)) + " is no matrix", s);
  struct Options {
    MaybeDType dtype;
    MaybeDevice device;
    Generator* generator;
  };
  const nn::detail::Fresh fresh(Options{plane_type(weight.dtype(s)), weight.device(s), generator}, s);
  const int64_t out = weight.size(0, s), in = out ? weight.size(s) / out : 0;
  const auto made = [&](const auto& one) {
    if (!is_complex(weight.dtype(s))) return one();
    const Tensor re = one(), im = one();
    return Parameter(complex(Arg(re.detach(s), s), Arg(im.detach(s), s)), true, s);
  };
  lora_A = made([&] { return fresh.uniform({rank, in}, nn::detail::bound_of(in)); });
  lora_B = made([&] { return fresh.constant({out, rank}, 0); });
}

Tensor LowRank::forward(const std::vector<Tensor>& x, Site s) {
  const Tensor more = matmul(Arg(lora_B, s), Arg(lora_A, s)), scaled = multiply(Arg(more, s), Arg(scale, s));
  return add(Arg(x[0], s), Arg(reshape(Arg(scaled, s), x[0].shape(s)), s));
}

std::string LowRank::extra_repr() const {
  return Repr().add("rank", lora_A.size(0)).add("scale", scale).str();
}

void weight_norm(Module& module, std::string_view name, std::optional<int64_t> dim, Site s) {
  parametrize::register_parametrization(module, name, WeightNorm(dim), false, s);
}

void spectral_norm(Module& module, std::string_view name, IntegerArg iterations, double eps,
                   std::optional<int64_t> dim, Generator* generator, Site s) {
  if (!dim) {
    const bool transposed = dynamic_cast<const ConvTranspose1d*>(&module) ||
                            dynamic_cast<const ConvTranspose2d*>(&module) ||
                            dynamic_cast<const ConvTranspose3d*>(&module);
    dim = transposed ? 1 : 0;
  }
  const Parameter& p = parametrize::detail::named("spectral_norm", module, name, s);
  SpectralNorm norm(p, iterations, eps, *dim, generator, s);
  parametrize::register_parametrization(module, name, std::move(norm), false, s);
}

void low_rank(Module& module, std::string_view name, IntegerArg rank, double alpha, Generator* generator,
              Site s) {
  Parameter& p = parametrize::detail::named("low_rank", module, name, s);
  LowRank more(p, rank, alpha / static_cast<double>(rank.value), generator, s);
  parametrize::register_parametrization(module, name, std::move(more), false, s);
  parametrize::ParametrizationList& list = parametrize::parametrizations(p, s);
  for (size_t i = 0; i < list.parts(); ++i) list.original(i).requires_grad_(false, s);
}

}  // namespace lazy::nn::utils::parametrizations
