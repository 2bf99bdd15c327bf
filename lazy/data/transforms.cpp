#include "lazy/data/transforms.hpp"

#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/positions.hpp"
#include "lazy/random/random.hpp"

namespace lazy::data {
namespace {

using namespace lazy::detail;

void check_rank(const Recorder& r, const Handle& h, int least, int most) {
  const int rank = h->shape.size();
  if (rank < least || rank > most)
    r.fail<ShapeError>("expected pictures [" + std::string(most > 4 ? "..." : "n") +
                       ", channels, height, width], found " + to_string(h->shape));
}

/// Holds a batch [n, c, h, w] and draws a number for each picture.
struct Pictures {
  Pictures(const char* name, Arg& x) : f(name, x.site()), h(Operand(name, x).take()) {
    check_rank(f, h, 4, 4);
    x_ = f.term(h);
  }
  const Term& x() const { return x_; }
  int64_t count() const { return h->shape[0]; }
  /// Returns integers in [low, high), one for each picture.
  Term integers(Generator& g, int64_t low, int64_t high) const {
    return f.term(
        randint(g, low, high, ShapeArg(Shape{count(), 1, 1, 1}), type(high), h->device, f.site).handle());
  }
  /// Returns 0, 1, ... along an axis.
  Term along(int axis, int64_t extent) const { return positions(x_, axis, extent).as(type(extent)); }
  DType type(int64_t extent) const { return position_type(x_, std::max(extent, h->shape[2] * h->shape[3])); }

  const Formula f;
  const Handle h;

 private:
  Term x_;
};

}  // namespace

Tensor to_float(Arg pictures) {
  const Recorder r{"to_float", pictures.site()};
  const Handle x = Operand(r.name, pictures).take();
  check_rank(r, x, 3, kMaxRank);
  if (is_float(x->dtype)) return Tensor(x);
  if (x->dtype != uint8 && x->dtype != uint16)
    r.fail<DtypeError>(std::string("pictures are uint8, uint16 or of floating point, not ") +
                       name_of(x->dtype));
  return Tensor(r.op(Op::divide, r.as(float32, x), ScalarNumber(x->dtype == uint8 ? 255.0 : 65535.0)));
}

Tensor normalize(Arg pictures, const std::vector<double>& mean, const std::vector<double>& std) {
  const Recorder r{"normalize", pictures.site()};
  const Handle x = Operand(r.name, pictures).take();
  check_rank(r, x, 3, kMaxRank);
  if (!is_float(x->dtype))
    r.fail<DtypeError>(std::string("expected floating point, found ") + name_of(x->dtype));
  const auto channels = static_cast<size_t>(x->shape[x->shape.size() - 3]);
  const DType work = wide_float(x->dtype);
  const auto values_of = [&](const std::vector<double>& v, const char* what) {
    if (v.size() != channels && v.size() != 1)
      r.fail<ShapeError>(std::to_string(v.size()) + " numbers as " + what + " of pictures " +
                         to_string(x->shape));
    std::vector<double> each = v;
    each.resize(channels, v[0]);
    return r.as(work, values(each.data(), float64, {static_cast<int64_t>(channels), 1, 1}, x, r.site));
  };
  for (const double d : std)
    if (!(d != 0)) r.fail<Error>("a standard deviation can't be " + std::to_string(d));
  const Handle centre = values_of(mean, "mean"), scale = values_of(std, "std");
  return Tensor(r.as(x->dtype, r.op(Op::divide, r.op(Op::subtract, r.as(work, x), centre), scale)));
}

Tensor random_horizontal_flip(Generator& g, Arg pictures, double p) {
  const Pictures all("random_horizontal_flip", pictures);
  if (!(p >= 0 && p <= 1)) all.f.fail<Error>("a probability can't be " + std::to_string(p));
  const Tensor drawn = rand(g, ShapeArg(Shape{all.count(), 1, 1, 1}), float32, all.h->device, all.f.site);
  const Term mirrored = all.f.term(all.f.reversed(all.h, 3));
  return Tensor(where(all.f.term(drawn.handle()) < p, mirrored, all.x()).handle());
}

Tensor random_crop(Generator& g, Arg pictures, int64_t padding, int64_t height, int64_t width) {
  const Pictures all("random_crop", pictures);
  const Shape& shape = all.h->shape;
  const int64_t h = height < 0 ? shape[2] : height, w = width < 0 ? shape[3] : width;
  if (padding < 0 || padding > INT32_MAX || h > shape[2] + 2 * padding || w > shape[3] + 2 * padding ||
      h < 1 || w < 1)
    all.f.fail<ShapeError>("a window of " + std::to_string(h) + " x " + std::to_string(w) + " does not fit " +
                           to_string(shape) + " with " + std::to_string(padding) + " pixels around");
  const auto last = [](const Term& extent, int64_t n) { return extent < static_cast<double>(n); };
  const auto from = [&](int axis, int64_t window) {
    const int64_t places = shape[axis] + 2 * padding - window + 1;
    return all.along(axis, window).as(all.type(places)) + all.integers(g, 0, places) -
           static_cast<double>(padding);
  };
  const Term y = from(2, h), x = from(3, w);
  const Term inside = (y >= 0.0) & last(y, shape[2]) & (x >= 0.0) & last(x, shape[3]);
  const auto clipped = [](const Term& i, int64_t n) {
    return minimum(maximum(i, 0.0), static_cast<double>(n - 1));
  };
  const Term picked = at(all.x(), 2, {clipped(y, shape[2]), clipped(x, shape[3])});
  return Tensor(where(inside, picked, 0.0).handle());
}

Tensor cutout(Generator& g, Arg pictures, int64_t size) {
  const Pictures all("cutout", pictures);
  if (size < 0 || size > INT32_MAX) all.f.fail<ShapeError>("a square of side " + std::to_string(size));
  const auto within = [&](int axis) {
    const int64_t extent = all.h->shape[axis];
    if (extent == 0) return all.along(axis, extent) < 0.0;
    const Term i = all.along(axis, extent) + static_cast<double>(size / 2) - all.integers(g, 0, extent);
    return (i >= 0.0) & (i < static_cast<double>(size));
  };
  const Term rows = within(2);  // draws before the columns do
  return Tensor(where(rows & within(3), 0.0, all.x()).handle());
}

}  // namespace lazy::data
