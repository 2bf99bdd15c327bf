#include "lazy/nn/functional/conv_problem.hpp"

#include "lazy/core/advice.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/core/policy.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include "support/profile.hpp"

namespace lazy::detail {
namespace {

#define LAZY_PURPOSES(name)                                                               \
  {                                                                                       \
    name, name ": weights to channels last", name ": windows as rows", name ": products", \
        name ": image laid out anew"                                                      \
  }
constexpr Purposes kPurposes[] = {LAZY_PURPOSES("conv"), LAZY_PURPOSES("conv1d"), LAZY_PURPOSES("conv2d"),
                                  LAZY_PURPOSES("conv3d"), LAZY_PURPOSES("conv_transpose")};
#undef LAZY_PURPOSES

}  // namespace

Purposes purposes_of(std::string_view name) {
  Purposes p = *std::find_if(std::begin(kPurposes), std::end(kPurposes),
                             [&](const Purposes& one) { return one.name == name; });
  if (!profile::on()) [[likely]]
    return p;
  const char* const node = jit::Purpose::current();
  if (!node || !std::string_view(node).starts_with("node '")) return p;
  for (const char** const text : {&p.weights, &p.windows, &p.products, &p.image})
    *text = profile::intern(std::string(node) + ": " + *text);
  return p;
}

void Problem::mismatch(const std::string& why) const {
  fail<ShapeError>(
      name, "an image " + to_string(given->shape) + " and weights " + to_string(weights->shape) + ": " + why,
      site);
}

Dims range(int first, int last) {
  Dims r;
  for (int i = first; i < last; ++i) r.push_back(i);
  return r;
}

Dims joined(std::initializer_list<Dims> parts) {
  Dims r;
  for (const Dims& p : parts)
    for (int64_t v : p) r.push_back(v);
  return r;
}

Problem problem(const char* name, Arg& x, Arg& w, const ConvOptions& o, bool converts) {
  const Site s = x.site();
  const DType t = o.dtype.given ? o.dtype.value : contraction_type(name, {&x, &w}, {&o.bias});
  const auto is_byte = [](const Arg& a) {
    return a.handle() && is_int(a.handle()->dtype) && size_of(a.handle()->dtype) == 1;
  };
  converts &= o.dtype.given && is_int(t) && is_byte(x) && is_byte(w);
  const auto operand = [&](Arg& a) { return (converts ? Operand(name, a) : Operand(name, a, t)).take(); };
  tell_of_widening(name, x.handle(), w.handle(), s);
  if (is_bool(t)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", s);
  Problem p{.name = name,
            .site = s,
            .given = operand(x),
            .weights = operand(w),
            .bias = {},
            .stride = {},
            .padding = {},
            .dilation = {},
            .groups = o.groups,
            .layout = o.layout,
            .result = t};
  if (o.bias.defined()) p.bias = cast(o.bias.handle(), t, s);
  if (p.given->shape.size() < 3) p.mismatch("an image has a batch axis, channels and spatial axes");
  if (p.given->shape.size() != p.weights->shape.size()) p.mismatch("they differ in the number of axes");
  const int n = p.spatial();
  if (n > kMostSpatial) p.mismatch("more than three spatial axes");
  p.stride = per_axis(name, "stride", o.stride, n, 1, s);
  p.padding = per_axis(name, "padding", o.padding, n, 0, s);
  p.dilation = per_axis(name, "dilation", o.dilation, n, 1, s);
  if (o.groups < 1)
    fail<ShapeError>(name, "groups is " + std::to_string(o.groups.value) + ": at least 1 is needed", s);
  check_devices(name, {&p.given, &p.weights}, s);
  return p;
}

bool Problem::take_format(bool transposed) {
  if (layout != channels_first || !(given->channels_last || weights->channels_last)) return false;
  const int n = spatial();
  given = seen_last(given, site);
  // (O, C / groups, K...) -> (K..., C / groups, O), or (C, O / groups, K...) -> (K..., C, O / groups)
  weights = permute(weights, joined({range(2, n + 2), transposed ? Dims{0, 1} : Dims{1, 0}}), site);
  layout = channels_last;
  return true;
}

void check_groups(const Problem& p, int64_t channels, Wide expected, int64_t divided) {
  if (channels != expected)
    p.mismatch("the image has " + std::to_string(channels) + " channels, the weights take " +
               to_string(expected) + (p.groups > 1 ? " in " + std::to_string(p.groups) + " groups" : ""));
  if (divided % p.groups != 0 || p.groups > std::max<int64_t>(divided, 1))
    p.mismatch(std::to_string(divided) + " channels do not make " + std::to_string(p.groups) + " groups");
}

void check_bias(const Problem& p, int64_t channels) {
  if (p.bias && p.bias->shape != Shape{channels})
    p.mismatch("a bias " + to_string(p.bias->shape) + " for " + std::to_string(channels) + " channels");
}

Handle biased(const Problem& p, const Handle& y, int axis) {
  if (!p.bias) return y;
  if (axis < 0) axis = p.layout == channels_first ? 1 : y->shape.size() - 1;
  check_bias(p, y->shape[axis]);
  Shape beside(y->shape.size(), 1);
  beside[axis] = y->shape[axis];
  return binary(p.name, Op::add, y, detail::reshape(p.bias, beside, p.site), p.site);
}

}  // namespace lazy::detail
