// Makes random programs and chooses which of their values stay.
#include <algorithm>

#include "support/error.hpp"
#include "tests/differential/random_graph_maker.hpp"

namespace random_graph {

using namespace lazy;

Maker::Maker(uint64_t seed, bool exact_only) : r_(seed), first_(p_, {false, 0}), second_(p_, {true, 1}) {
  p_.specials = chance(2);
  p_.isa = pick(3);
  p_.exact_only = exact_only;
  p_.symbols.reserve(4096);  // the machines refer to them
  const int free = 1 + pick(4);
  for (int i = 0; i < free; ++i) {
    Symbol s;
    s.first = some_extent();
    s.second = some_extent();
    p_.symbols.push_back(s);
  }
  free_ = free;
  const int n = 1 + pick(3);
  for (int i = 0; i < n; ++i) types_.push_back(any_type());
}

Program Maker::make(int size) {
  while (!input(random_dims(4))) {}
  const auto long_enough = [&] {
    int n = count();
    for (const auto& [first, end] : loops_) n -= end - first;
    return n >= size;
  };
  for (int tries = 0; !long_enough() && tries < size * 20; ++tries) propose();
  drop_handles();
  return std::move(p_);
}

int64_t Maker::some_extent() {
  constexpr int64_t extents[] = {2, 3, 5, 7, 2, 3, 4, 11, 13, 17, 31, 64, 0, 1};
  return extents[pick(chance(6) ? 14 : 12)];
}
DType Maker::any_type() {
  constexpr DType common[] = {float32, float32, float64, int64, int32, float16, bool_};
  return chance(2) ? common[pick(7)] : static_cast<DType>(pick(kDTypeCount));
}
std::vector<Dim> Maker::random_dims(int max_rank) {
  std::vector<Dim> d(static_cast<size_t>(pick(max_rank + 1)));
  for (Dim& x : d)
    if (!chance(6)) x = {pick(free_)};
  return d;
}

static bool small(const Machine& m, const std::vector<Dim>& dims) {
  int64_t n = 1;
  for (const Dim& d : dims) n = std::min(n, kMaxElements + 1) * m.extent(d);
  return n <= kMaxElements && dims.size() <= 5;
}
bool Maker::add(Statement s) {
  if (!small(first_, s.dims) || !small(second_, s.dims)) return false;
  try {
    first_.step(s);
  } catch (const Error&) { return false; }
  bool good = true;
  try {
    second_.step(s);
  } catch (const Error&) { good = false; }
  if (!good) {
    first_.undo(p_.statements.size());
    second_.undo(p_.statements.size());
    return false;
  }
  const Shape& shape = first_.registers().back().shape();
  s.shape.assign(shape.begin(), shape.end());
  p_.statements.push_back(std::move(s));
  return true;
}

int Maker::any_register() {
  const int n = count();
  return chance(2) ? n - 1 - pick(std::min(n, 3)) : pick(n);
}

bool Maker::input(std::vector<Dim> dims, int type_number, bool may_be_strided) {
  Statement s;
  s.kind = Kind::input;
  s.dtype = type_number < 0 ? type() : static_cast<DType>(type_number);
  s.dims = std::move(dims);
  s.salt = r_();
  s.layout = may_be_strided && chance(3) ? 1 + pick(15) : 0;
  return add(std::move(s));
}

bool Maker::broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b, std::vector<Dim>& out) {
  out.assign(std::max(a.size(), b.size()), {});
  for (size_t i = 1; i <= out.size(); ++i) {
    const Dim x = i <= a.size() ? a[a.size() - i] : Dim{}, y = i <= b.size() ? b[b.size() - i] : Dim{};
    if (x != y && !x.empty() && !y.empty()) return false;
    out[out.size() - i] = x.empty() ? y : x;
  }
  return true;
}
int Maker::partner(const std::vector<Dim>& with, int type_number) {
  std::vector<Dim> out;
  for (int tries = 0; tries < 4; ++tries) {
    const int r = any_register();
    if (broadcast(with, dims(r), out) && (type_number < 0 || dtype(r) == static_cast<DType>(type_number)))
      return r;
  }
  std::vector<Dim> d = with;
  for (Dim& x : d)
    if (chance(4)) x = {};
  while (!d.empty() && chance(4)) d.erase(d.begin());
  return input(d, type_number) ? count() - 1 : -1;
}

Range Maker::random_range() {
  constexpr int64_t steps[] = {1, 1, 1, 2, 3, -1, -1, -2};
  Range g;
  g.step = steps[pick(8)];
  g.has_start = chance(2);
  g.has_stop = chance(2);
  g.start = pick(4) - (g.step < 0 ? 2 : 0);
  g.stop = chance(2) ? -1 - pick(2) : g.step < 0 ? pick(2) : 2 + pick(12);
  return g;
}
void Maker::ranges(Statement& s, const std::vector<Dim>& d, bool whole_ok) {
  s.dims.clear();
  for (size_t i = 0; i < d.size(); ++i) {
    Range g;
    if (chance(5)) {
      g.integer = true;
      g.start = pick(2) - 1;
      s.ranges.push_back(g);
      continue;
    }
    if (!chance(3) || !whole_ok) g = random_range();
    s.ranges.push_back(g);
    if (!g.has_start && !g.has_stop && (g.step == 1 || g.step == -1)) {
      s.dims.push_back(d[i]);
      continue;
    }
    Symbol symbol;
    symbol.derived = true;
    symbol.of = d[i];
    symbol.range = g;
    s.dims.push_back({static_cast<int>(p_.symbols.size())});
    p_.symbols.push_back(symbol);
  }
}

Dim Maker::new_symbol(Symbol s) {
  p_.symbols.push_back(std::move(s));
  return {static_cast<int>(p_.symbols.size()) - 1};
}

// Drops most handles at once, some later or never; the last register is never dropped.
void Maker::drop_handles() {
  const int n = count();
  std::vector<int> last_use(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    last_use[static_cast<size_t>(i)] = i;
    for (int o : p_.statements[static_cast<size_t>(i)].operand)
      if (o >= 0) last_use[static_cast<size_t>(o)] = i;
  }
  for (int i = 0; i < n; ++i) {
    const int last = last_use[static_cast<size_t>(i)];
    const bool repeated = std::any_of(loops_.begin(), loops_.end(),
                                      [&](const auto& l) { return l.first <= i && i < l.second; });
    // Values of a loop that stay are made at its end.
    const bool stays = i == n - 1 || chance(repeated ? 150 : 5) || (last == i && chance(2));
    const bool later = !repeated && chance(4);
    p_.dropped_after.push_back(stays ? kToTheEnd : later ? last + pick(n - last) : last);
  }
}

Program generate(uint64_t seed, int size, bool exact_only) { return Maker(seed, exact_only).make(size); }

}  // namespace random_graph
