#include "lazy/ops/einsum.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "lazy/core/build.hpp"
#include "lazy/core/policy.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds a factor and the letters of its axes, each of which occurs once.
struct Factor {
  Handle h;
  std::string axes;
  bool has(char c) const { return axes.find(c) != std::string::npos; }
  int64_t extent(char c) const { return h->shape[static_cast<int>(axes.find(c))]; }
};

std::string quoted(std::string_view s) { return "\"" + std::string(s) + "\""; }

/// Moves the axes into the order of `to`, which has the same letters.
Factor ordered(const Factor& f, const std::string& to, const Site& s) {
  Dims axes;
  for (char c : to) axes.push_back(static_cast<int64_t>(f.axes.find(c)));
  return {permute(f.h, axes, s), to};
}

/// Sums over the axes that are not in `kept`.
Factor summed(const Factor& f, const std::string& kept, const Site& s) {
  Dims gone;
  std::string left;
  for (size_t i = 0; i < f.axes.size(); ++i) {
    if (kept.find(f.axes[i]) == std::string::npos) gone.push_back(static_cast<int64_t>(i));
    else left += f.axes[i];
  }
  if (gone.empty()) return f;
  return {reduce("einsum", Op::sum, f.h, gone, dropdims, s), left};
}

/// Multiplies two factors, of which only the letters of `wanted` are still needed: a matrix product that sums
/// over the other common letters, with the common letters that are needed as its batch.
Factor product(const char* op, const Factor& x, const Factor& y, const std::string& wanted, const Site& s) {
  const auto needed = [&](char c) { return wanted.find(c) != std::string::npos; };
  std::string batch, over, left, right;
  for (char c : x.axes) (y.has(c) ? needed(c) ? batch : over : left) += c;
  for (char c : y.axes)
    if (!x.has(c)) right += c;
  const auto extents = [&](const Factor& f, const std::string& axes) {
    int64_t n = 1;
    for (char c : axes) n = narrow(op, "an extent of", Wide(n) * f.extent(c), s);
    return n;
  };
  const auto shaped = [&](const Factor& f, const std::string& first, const std::string& second) {
    const Factor o = ordered(f, batch + first + second, s);
    Shape shape;
    for (char c : batch) shape.push_back(f.extent(c));
    shape.push_back(extents(f, first));
    shape.push_back(extents(f, second));
    return detail::reshape(o.h, shape, s);
  };
  const Handle a = shaped(x, left, over), b = shaped(y, over, right);
  const Handle h = over.empty() ? binary(op, Op::multiply, a, b, s) : detail::matmul(op, a, b, s);
  Shape shape;
  for (char c : batch + left) shape.push_back(x.extent(c));
  for (char c : right) shape.push_back(y.extent(c));
  return {detail::reshape(h, shape, s), batch + left + right};
}

/// Returns operand i with its letters; of repeated letters it takes the diagonal.
Factor labelled(const char* op, Handle h, std::string axes, const Site& s) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t again = axes.find(axes[i], i + 1);
    if (again == std::string::npos) continue;
    const int64_t n = h->shape[static_cast<int>(i)];
    if (h->shape[static_cast<int>(again)] != n)
      fail<ShapeError>(op, std::string("axes ") + axes[i] + " of shape " + to_string(h->shape) + " differ",
                       s);
    std::string rest = axes;
    rest.erase(again, 1);
    rest.erase(i, 1);
    Dims order;
    Shape flat, diagonal;
    for (size_t j = 0; j < axes.size(); ++j)
      if (j != i && j != again) {
        order.push_back(static_cast<int64_t>(j));
        flat.push_back(h->shape[static_cast<int>(j)]);
      }
    diagonal = flat;
    order.push_back(static_cast<int64_t>(i));
    order.push_back(static_cast<int64_t>(again));
    flat.push_back(n * n);
    diagonal.push_back(n);
    Dims start(flat.size(), 0), step(flat.size(), 1);
    step[flat.size() - 1] = n + 1;
    h = detail::slice(detail::reshape(permute(h, order, s), flat, s), start, step, diagonal, s);
    axes = rest + axes[i];
    i = static_cast<size_t>(-1);  // restarts: an axis may occur three times
  }
  return {h, axes};
}

/// Holds the operands' letters and the result's.
struct Subscripts {
  std::vector<std::string> operands;
  std::string result;
};
Subscripts parse(std::string_view text, const Site& s) {
  const auto wrong = [&](const std::string& what) {
    fail<ShapeError>("einsum", quoted(text) + ": " + what, s);
  };
  Subscripts r;
  r.operands.emplace_back();
  std::string* to = &r.operands.back();
  bool arrow = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') wrong("an ellipsis is not supported: name the axes");
    if (c == '-' && !arrow && i + 1 < text.size() && text[i + 1] == '>') {
      arrow = true;
      to = &r.result;
      ++i;
    } else if (c == ',' && !arrow) {
      r.operands.emplace_back();
      to = &r.operands.back();
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      *to += c;
    } else {
      wrong("axes are letters, not '" + std::string(1, c) + "'");
    }
  }
  std::string all;
  for (const std::string& o : r.operands) all += o;
  if (!arrow) {
    std::sort(all.begin(), all.end());
    for (char c : all)
      if (std::count(all.begin(), all.end(), c) == 1) r.result += c;
    return r;
  }
  for (char c : r.result) {
    if (std::count(r.result.begin(), r.result.end(), c) > 1)
      wrong(std::string("the result has axis ") + c + " twice");
    if (all.find(c) == std::string::npos) wrong(std::string("no operand has the result's axis ") + c);
  }
  return r;
}

/// Multiplies the factors from left to right and keeps the letters of `result`, in their order.
Handle contracted(const char* op, std::vector<Factor> factors, const std::string& result, const Site& s) {
  Factor total = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) {
    std::string wanted = result;
    for (size_t j = i + 1; j < factors.size(); ++j) wanted += factors[j].axes;
    total = summed(total, wanted + factors[i].axes, s);
    Factor next = summed(factors[i], wanted + total.axes, s);
    // The factor whose axes come first in the result has the rows, so that nothing need be moved afterwards.
    const auto first_own = [&](const Factor& f, const Factor& other) {
      for (size_t at = 0; at < result.size(); ++at)
        if (f.has(result[at]) && !other.has(result[at])) return at;
      return result.size();
    };
    if (first_own(next, total) < first_own(total, next)) std::swap(total, next);
    total = product(op, total, next, wanted, s);
  }
  total = summed(total, result, s);
  return ordered(total, result, s).h;
}

Tensor dot_over(const Arg& x, const Arg& y, const Dims& of_a, const Dims& of_b) {
  constexpr const char* name = "tensordot";
  const Site& s = x.site();
  const DType t = contraction_type(name, {&x, &y}), work = is_bool(t) ? int64 : t;
  const Handle a = Operand(name, x, work).take(), b = Operand(name, y, work).take();
  const auto differ = [&](const std::string& what) {
    fail<ShapeError>(name, "shapes " + to_string(a->shape) + " and " + to_string(b->shape) + ": " + what, s);
  };
  if (of_a.size() != of_b.size())
    differ(std::to_string(of_a.size()) + " axes of one and " + std::to_string(of_b.size()) + " of the other");
  // Each axis gets a label: those of a from 1 on, the others of b from 64 on.
  Factor left{a, {}}, right{b, std::string(static_cast<size_t>(b->shape.size()), 0)};
  for (int i = 0; i < a->shape.size(); ++i) left.axes += static_cast<char>(1 + i);
  std::string result = left.axes;
  for (int i = 0; i < of_a.size(); ++i) {
    const int p = normal_axis(name, of_a[i], a->shape.size(), s),
              q = normal_axis(name, of_b[i], b->shape.size(), s);
    char& label = right.axes[static_cast<size_t>(q)];
    if (label || result.find(left.axes[static_cast<size_t>(p)]) == std::string::npos)
      differ("an axis is given twice");
    if (a->shape[p] != b->shape[q])
      differ("axes " + std::to_string(p) + " and " + std::to_string(q) + " differ");
    label = left.axes[static_cast<size_t>(p)];
    result.erase(result.find(label), 1);
  }
  for (size_t i = 0; i < right.axes.size(); ++i)
    if (!right.axes[i]) result += right.axes[i] = static_cast<char>(64 + i);
  return Tensor(cast(contracted(name, {left, right}, result, s), t, s));
}

}  // namespace

Tensor einsum(std::string_view text, std::initializer_list<Arg> operands, Site s) {
  constexpr const char* name = "einsum";
  const Subscripts subscripts = parse(text, s);
  if (subscripts.operands.size() != operands.size())
    fail<ShapeError>(name,
                     quoted(text) + " names " + std::to_string(subscripts.operands.size()) +
                         " operands, but there are " + std::to_string(operands.size()),
                     s);
  std::vector<const Arg*> all_operands;
  for (const Arg& x : operands) all_operands.push_back(&x);
  std::vector<Factor> factors;
  const DType t = contraction_type(name, all_operands);
  const DType work = is_bool(t) ? int64 : t;
  std::string all;
  for (const Arg& x : operands) {
    const Operand h(name, x, work);
    const std::string& axes = subscripts.operands[factors.size()];
    if (static_cast<size_t>(h->shape.size()) != axes.size())
      fail<ShapeError>(name,
                       quoted(text) + ": " + quoted(axes) + " is " + std::to_string(axes.size()) +
                           " axes, but the operand has shape " + to_string(h->shape),
                       s);
    factors.push_back(labelled(name, h, axes, s));
  }
  for (const Factor& f : factors)
    for (const Factor& g : factors)
      for (char c : f.axes)
        if (g.has(c) && f.extent(c) != g.extent(c))
          fail<ShapeError>(name,
                           quoted(text) + ": axis " + c + " is " + std::to_string(f.extent(c)) +
                               " in shape " + to_string(f.h->shape) + " and " + std::to_string(g.extent(c)) +
                               " in shape " + to_string(g.h->shape),
                           s);
  Handle y = cast(contracted(name, std::move(factors), subscripts.result, s), t, s);
  return operands.size() == 1 ? returned(std::move(y), *operands.begin()) : Tensor(std::move(y));
}

Tensor tensordot(Arg a, Arg b, IntegerArg axes) {
  constexpr const char* name = "tensordot";
  const int ra = shape_of(name, a).size(), rb = shape_of(name, b).size();
  if (axes < 0 || axes > std::min(ra, rb))
    fail<ShapeError>(name,
                     std::to_string(axes.value) + " axes of operands with " + std::to_string(ra) + " and " +
                         std::to_string(rb),
                     a.site());
  Dims of_a, of_b;
  for (int64_t i = 0; i < axes; ++i) {
    of_a.push_back(ra - axes + i);
    of_b.push_back(i);
  }
  return dot_over(a, b, of_a, of_b);
}

Tensor tensordot(Arg a, Arg b, Axes of_a, Axes of_b) { return dot_over(a, b, of_a, of_b); }

}  // namespace lazy
