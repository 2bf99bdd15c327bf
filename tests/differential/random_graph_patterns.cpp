// Adds statements that come in groups: layers of networks, values read twice, loops.
#include "tests/differential/random_graph_maker.hpp"

namespace random_graph {

using namespace lazy;

/// Takes register `x`, or a new image if it is none.
void Maker::convolution(int x) {
  bool rows = false;  // for channels-first images, along which lanes may run
  if (dims(x).size() < 3 || dims(x).size() > 4 || chance(2)) {
    rows = chance(2);
    std::vector<Dim> d(static_cast<size_t>(3 + pick(2)));
    for (Dim& e : d) e = chance(rows ? 2 : 5) ? Dim{} : Dim{pick(free_)};
    Symbol wide;
    wide.first = 44 + pick(24);
    wide.second = 44 + pick(24);
    if (rows) d.back() = new_symbol(wide);
    if (!input(d)) return;
    x = count() - 1;
  }
  if (dtype(x) == bool_) return;
  Statement s;
  s.kind = Kind::convolve;
  s.operand[0] = x;
  s.flipped = !rows && chance(2);
  s.keepdims = !rows && chance(3);
  s.dims = dims(x);
  const size_t n = s.dims.size() - 2, first = s.flipped ? 1 : 2, channels = s.flipped ? n + 1 : 1;
  std::vector<int> stride, padding, dilation;
  std::vector<Dim> length;
  int64_t taps = 1;
  for (size_t i = 0; i < n; ++i) {
    const int k = 1 + pick(3);
    taps *= k;
    stride.push_back(rows ? 1 + chance(4) : 1 + pick(2));
    dilation.push_back(1 + pick(2));
    const int reach = (k - 1) * dilation[i];
    padding.push_back(pick(reach / 2 + 1));
    Symbol own, windows;
    own.first = own.second = k;
    length.push_back(k == 1 ? Dim{} : new_symbol(own));
    windows.derived = true;
    windows.of = s.dims[first + i];
    windows.range.has_start = true;
    windows.range.start = reach - 2 * padding[i];
    windows.range.step = stride[i];
    s.dims[first + i] = new_symbol(windows);
  }
  const Dim in = s.dims[channels], out = s.keepdims ? in : Dim{pick(free_)};
  s.dims[channels] = out;
  if (elements(x) * taps * (s.keepdims ? 1 : first_.extent(out)) > 2 * kMaxProducts) return;
  for (const auto* list : {&stride, &padding, &dilation})
    s.axes.insert(s.axes.end(), list->begin(), list->end());
  const Dim group = s.keepdims ? Dim{} : in;
  std::vector<Dim> weights;
  if (!s.flipped) weights = {out, group};
  for (const Dim& k : length) weights.push_back(k);
  if (s.flipped) weights.push_back(group), weights.push_back(out);
  if (!input(weights, static_cast<int>(dtype(x)), false)) return;
  s.operand[1] = count() - 1;
  add(std::move(s));
}

/// Takes register `x` as queries, or new ones if it is none.
void Maker::attention(int x) {
  if (p_.exact_only) return;
  if (dims(x).size() < 2 || !is_float(dtype(x))) {
    std::vector<Dim> d = random_dims(2);
    d.push_back({pick(free_)});
    d.push_back({pick(free_)});
    if (!input(d, static_cast<int>(float32))) return;
    x = count() - 1;
  }
  Statement s;
  s.kind = Kind::attention;
  s.dims = dims(x);
  s.flipped = chance(3);
  s.operand[0] = s.operand[1] = s.operand[2] = x;
  if (!chance(4)) {
    const size_t rank = s.dims.size();
    const Dim keys{pick(free_)}, width{pick(free_)};
    if (elements(x) * first_.extent(keys) > kMaxProducts) return;
    std::vector<Dim> key = s.dims;
    key[rank - 2] = keys;
    while (key.size() > 2 && chance(4)) key.erase(key.begin());
    std::vector<Dim> value = key;
    value.back() = width;
    const auto type = static_cast<int>(dtype(x));
    if (!input(key, type)) return;
    s.operand[1] = count() - 1;
    if (!input(value, type)) return;
    s.operand[2] = count() - 1;
    s.dims[rank - 1] = width;
  }
  add(std::move(s));
}

/// Returns a view of `x` with the same dimensions; -1 if there is none.
int Maker::view_of(int x) {
  Statement s;
  s.operand[0] = x;
  s.dims = dims(x);
  const auto rank = static_cast<int>(s.dims.size());
  for (int i = 0; i < rank; ++i) s.axes.push_back(i);
  std::vector<std::pair<size_t, size_t>> alike;  // axes that can change places
  for (size_t i = 0; i < s.dims.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (s.dims[i] == s.dims[j] && !s.dims[i].empty()) alike.emplace_back(i, j);
  if (!alike.empty() && !chance(4)) {
    const auto [i, j] = alike[static_cast<size_t>(pick(static_cast<int>(alike.size())))];
    s.kind = Kind::permute;
    std::swap(s.axes[i], s.axes[j]);
  } else {
    s.kind = Kind::flip;
    s.axes = {pick(rank)};
  }
  return add(std::move(s)) ? count() - 1 : -1;
}

/// Adds a value that is read directly and through a view, often for the last time: its memory can't be taken
/// over then.
void Maker::read_twice(int x) {
  if (chance(2)) {
    const Dim n{pick(free_)};
    std::vector<Dim> square{n, n};
    if (chance(3)) square.insert(square.begin(), Dim{pick(free_)});
    if (!input(square)) return;
    x = count() - 1;
  }
  const size_t rank = dims(x).size();
  if (rank == 0) return;
  if (!chance(4)) {  // makes it the result of a kernel
    Statement s;
    s.operand[0] = x;
    s.dims = dims(x);
    const bool square = rank > 1 && s.dims[rank - 1] == s.dims[rank - 2] && dtype(x) != bool_ &&
                        elements(x) * first_.extent(s.dims[rank - 1]) <= kMaxProducts;
    if (square && !chance(3)) {
      s.kind = Kind::matmul;
      s.operand[1] = x;
    } else if (chance(2)) {
      s.kind = Kind::scan;
      s.fn = pick(static_cast<int>(kScan.size()));
      s.axes = {pick(static_cast<int>(rank))};
    } else if (!pointwise(s, x)) {
      return;
    }
    if (!add(std::move(s))) return;
    x = count() - 1;
    if (dims(x).empty()) return;
  }
  int with = x;
  for (int times = chance(3) ? 2 : 1; times > 0; --times) {
    Statement s;
    s.kind = Kind::binary;
    s.fn = pick(static_cast<int>(kBinary.size()));
    if (p_.exact_only && !kBinary[static_cast<size_t>(s.fn)].exact) return;
    s.dims = dims(x);
    s.operand[0] = with;
    s.operand[1] = view_of(x);
    if (s.operand[1] < 0) return;
    if (chance(2)) std::swap(s.operand[0], s.operand[1]);
    if (!add(std::move(s))) return;
    with = count() - 1;
  }
}

/// Adds a loop recorded iteration by iteration, long enough to be rolled. An operand is this iteration's, the
/// previous one's (at first any register), or the same in all.
void Maker::loop(int x) {
  if (!loops_.empty()) return;
  constexpr int kFewestValues = 96;
  const std::vector<Dim> d = dims(x);
  const int period = 1 + pick(5), trips = (kFewestValues + pick(40)) / period + 1;
  struct Source {
    enum { own, before, fixed } from;
    int which;
  };
  struct Step {
    Statement s;
    std::vector<Source> operands;
    bool same_scalar;
  };
  std::vector<Step> steps;
  std::vector<int> initial;
  std::vector<Dim> out;
  for (int j = 0; j < period; ++j) {
    initial.push_back(partner(d));
    if (initial.back() < 0) return;
    Step step{{}, {}, chance(2)};
    const auto operand = [&] {
      const int how = pick(6);
      if (how < 2 && j > 0) return Source{Source::own, pick(j)};
      if (how < 4) return Source{Source::before, pick(period)};
      return Source{Source::fixed, partner(d)};
    };
    step.operands.push_back({j > 0 ? Source::own : Source::before, j > 0 ? j - 1 : period - 1});
    const int which = pick(8);
    if (which < 2) {
      step.s.kind = Kind::unary;
      step.s.fn = pick(static_cast<int>(kUnary.size()));
      if (p_.exact_only && !kUnary[static_cast<size_t>(step.s.fn)].exact) return;
    } else if (which < 7) {
      step.s.kind = which < 5 ? Kind::binary : Kind::with_scalar;
      step.s.fn = pick(static_cast<int>(kBinary.size()));
      if (p_.exact_only && !kBinary[static_cast<size_t>(step.s.fn)].exact) return;
      step.s.scalar_kind = pick(4);
      step.s.flipped = chance(3);
      step.s.salt = r_();
      if (step.s.kind == Kind::binary) step.operands.push_back(operand());
    } else if (chance(2)) {
      step.s.kind = Kind::cast;
      step.s.dtype = type();
    } else {
      step.s.kind = Kind::where;
      step.operands.insert(step.operands.begin(), Source{Source::fixed, partner(d, static_cast<int>(bool_))});
      step.operands.push_back(operand());
    }
    for (const Source& o : step.operands)
      if (o.which < 0) return;
    steps.push_back(std::move(step));
  }
  const int first = count();
  const auto record = [&] {
    for (int t = 0; t < trips; ++t)
      for (const Step& step : steps) {
        Statement s = step.s;
        if (!step.same_scalar) s.salt = r_();
        s.dims.clear();
        for (size_t i = 0; i < step.operands.size(); ++i) {
          const auto [from, which] = step.operands[i];
          const int begin = first + t * period;
          s.operand[i] = from == Source::fixed ? which
                         : from == Source::own ? begin + which
                         : t == 0              ? initial[static_cast<size_t>(which)]
                                               : begin - period + which;
          const std::vector<Dim> so_far = s.dims;
          if (!broadcast(so_far, dims(s.operand[i]), s.dims)) return;
        }
        if (!add(std::move(s))) return;
      }
  };
  record();
  loops_.emplace_back(first, count());
}

}  // namespace random_graph
