#include "lazy/batching/vmap.hpp"

#include "lazy/batching/batching.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/samples.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::detail {

struct Vmapping::State final : SampleDraws {
  State(const VmapAxes& a, const Site& s) : axes(a), site(s), batching(s), observing(batching) {
    ++samples_followed;
  }
  ~State() { --samples_followed; }
  Handle number(const char* name, Device device, const Site& s) override {
    if (axes.randomness == Randomness::error)
      fail<Error>(name,
                  "draws random numbers in vmap: say whether each sample has its own, "
                  "{.randomness = Randomness::different}, or all have the same, Randomness::same",
                  s);
    if (axes.randomness == Randomness::same || batching.size() < 0) return {};
    for (const Handle& h : numbers)
      if (h->device == device) return h;
    return numbers.emplace_back(batching.sample(iota(0, {batching.size()}, device, s)));
  }
  int64_t count() const override { return batching.size(); }

  VmapAxes axes;
  Site site;
  Batching batching;
  std::vector<Handle> numbers;  // of the samples, int64, once a draw has asked, by device
  Observing observing;
};

namespace {

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
  return Tensor(v.batching.sample(at == 0 ? h : moveaxis(Arg(Tensor(h), v.site), at, 0).handle()));
}

Tensor Vmapping::batch(const Tensor& result) {
  State& v = *state_;
  if (v.batching.size() < 0) fail<Error>("vmap", "no argument has samples", v.site);
  const Arg a(result, v.site);
  const Handle h = v.batching.batch(Operand("vmap", a));
  const int to = normal("out_axes", v.axes.out_axes, h->shape.size(), v.site);
  return to == 0 ? Tensor(h) : moveaxis(Arg(Tensor(h), v.site), 0, to);
}

}  // namespace lazy::detail
