#include "lazy/batching/vmap.hpp"

#include "lazy/batching/batching.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/samples.hpp"

namespace lazy::detail {

struct Vmapping::State {
  State(const VmapAxes& a, const Site& s) : axes(a), site(s), batching(s), observing(batching) {
    ++samples_followed;
  }
  ~State() { --samples_followed; }

  VmapAxes axes;
  Site site;
  Batching batching;
  Observing observing;
};

namespace {

/// Returns the value with an axis moved from one place to another.
Handle moved(const Handle& h, int from, int to, const Site& s) {
  Dims axes;
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != from) axes.push_back(i);
  Dims order;
  for (int i = 0, next = 0; i < h->shape.size(); ++i) order.push_back(i == to ? from : axes[next++]);
  return detail::permute(h, order, s);
}

int normal(const char* what, int axis, int count, const Site& s) {
  if (axis < -count || axis >= count)
    fail<IndexError>("vmap",
                     std::string(what) + " " + std::to_string(axis) + " of a value of " +
                         std::to_string(count) + (count == 1 ? " axis" : " axes"),
                     s);
  return axis < 0 ? axis + count : axis;
}

}  // namespace

Vmapping::Vmapping(const VmapAxes& axes, size_t arguments, const Site& s)
    : state_(std::make_unique<State>(axes, s)) {
  if (!axes.in_axes.empty() && axes.in_axes.size() != arguments)
    fail<Error>("vmap",
                std::to_string(axes.in_axes.size()) + " in_axes for " + std::to_string(arguments) +
                    (arguments == 1 ? " argument" : " arguments"),
                s);
}
Vmapping::~Vmapping() = default;

Tensor Vmapping::sample(const Tensor& argument, size_t i) {
  State& v = *state_;
  const std::optional<int> axis = v.axes.in_axes.empty() ? std::optional(0) : v.axes.in_axes[i];
  if (!axis) return argument;
  const Arg a(argument, v.site);
  const Handle h = Operand("vmap", a);
  const int at = normal("in_axes", *axis, h->shape.size(), v.site);
  return Tensor(v.batching.sample(at == 0 ? h : moved(h, at, 0, v.site)));
}

Tensor Vmapping::batch(const Tensor& result) {
  State& v = *state_;
  if (v.batching.size() < 0) fail<Error>("vmap", "no argument has samples", v.site);
  const Arg a(result, v.site);
  const Handle h = v.batching.batch(Operand("vmap", a));
  const int to = normal("out_axes", v.axes.out_axes, h->shape.size(), v.site);
  return Tensor(to == 0 ? h : moved(h, 0, to, v.site));
}

}  // namespace lazy::detail
