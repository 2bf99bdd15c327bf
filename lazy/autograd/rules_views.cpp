// Holds the rules of views and of slice updates: a gradient goes back the way its value came.
#include "lazy/autograd/rules.hpp"
#include "lazy/core/memory_format.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;

void reshaped(D d) {
  d.to(0, [&] { return reshape(d.g(), d.x(0).shape()); });
}

void permuted(D d) {
  Dims back(d.op.attributes.axes.size(), 0);
  for (int i = 0; i < back.size(); ++i) back[static_cast<int>(d.op.attributes.axes[i])] = i;
  d.to(0, [&] {
    // The gradient of an image that was seen with its channels last lies as the image does.
    const bool last = d.x(0).handle()->channels_last && moves_channels_last(d.op.attributes.axes);
    return last ? d.term(seen_first(d.g().handle(), d.site)) : permute(d.g(), back);
  });
}

/// Summed by Differentiation::to, as for any operand that was broadcast.
void broadcasted(D d) {
  d.to(0, [&] { return d.g(); });
}

Term part_of(D d, const Term& t, const Dims& start, const Dims& step, const Shape& shape) {
  return d.term(slice(t.handle(), start, step, shape, d.site));
}
Term put_into(D d, const Term& base, const Term& t, const Dims& start, const Dims& step) {
  if (numel(t.shape()) == 0) return base;
  return d.term(slice_update(d.name, base.handle(), t.handle(), start, step, d.site));
}

/// Gives the part that was taken its gradient. Steps of an update are positive, so axes that the slice runs
/// through backwards are reversed first.
void sliced(D d) {
  if (!d.wants(0)) return;
  Dims start = d.op.attributes.ints, step = d.op.attributes.steps, first(start.size(), 0),
       direction(start.size(), 1);
  Term g = d.g();
  bool reversed = false;
  for (int a = 0; a < start.size(); ++a) {
    const int64_t n = g.shape()[a];
    if (n <= 1) step[a] = 1;
    if (step[a] > 0 || n == 0) continue;
    reversed = true;
    direction[a] = -1;
    first[a] = n - 1;
    start[a] += (n - 1) * step[a];
    step[a] = -step[a];
  }
  if (reversed && numel(g.shape()) > 0) g = part_of(d, g, first, direction, g.shape());
  d.to_part(0, start, step, g);
}

/// Adds, for each place in a window, the gradients of all windows there. That many ops are recorded.
void windowed(D d) {
  d.to(0, [&] {
    const jit::Attributes& at = d.op.attributes;
    const Term g = d.g();
    const int rank = d.x(0).rank(), cut = at.axes.size();
    Shape windows, one = g.shape();  // of one place: the windows, and g's part of it
    for (int i = 0; i < rank; ++i) windows.push_back(g.shape()[i]);
    for (int i = 0; i < cut; ++i) one[rank + i] = 1;
    Term sum = d.zeros_like(d.x(0));
    if (numel(g.shape()) == 0) return sum;
    Dims place(cut, 0);
    for (;;) {
      Dims first(g.rank(), 0), start(rank, 0), step(rank, 1);
      for (int i = 0; i < cut; ++i) {
        const int axis = static_cast<int>(at.axes[i]);
        first[rank + i] = place[i];
        start[axis] = place[i] * at.steps[i];
        if (windows[axis] > 1) step[axis] = at.ints[i];
      }
      const Term here = reshape(part_of(d, g, first, Dims(g.rank(), 1), one), windows);
      sum = put_into(d, sum, part_of(d, sum, start, step, windows) + here, start, step);
      int i = cut - 1;
      for (; i >= 0 && ++place[i] == g.shape()[rank + i]; --i) place[i] = 0;
      if (i < 0) return sum;
    }
  });
}

void updated(D d) {
  const Dims &start = d.op.attributes.ints, &step = d.op.attributes.steps;
  const bool piece = jit::is_piece(d.op.attributes);
  d.to(0, [&] { return piece ? d.g() : put_into(d, d.g(), d.zeros_like(d.x(1)), start, step); });
  d.to(1, [&] { return part_of(d, d.g(), start, step, d.x(1).shape()); });
}

constexpr RuleRow kViewRules[] = {
    {Op::reshape, reshaped}, {Op::permute, permuted}, {Op::broadcast, broadcasted},
    {Op::slice, sliced},     {Op::window, windowed},  {Op::slice_update, updated},
};

}  // namespace

std::span<const RuleRow> view_rules() { return kViewRules; }

}  // namespace lazy::detail
