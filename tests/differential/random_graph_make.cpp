// Making random programs: statements are proposed at random and kept if both runs can record them.
#include <algorithm>
#include <array>

#include "support/error.hpp"
#include "tests/differential/random_graph.hpp"

namespace random_graph {
namespace {

using namespace lazy;

constexpr int64_t kMaxElements = 2000, kMaxProducts = 20000;

class Maker {
 public:
  Maker(uint64_t seed, bool exact_only) : r_(seed), first_(p_, {false, 0}), second_(p_, {true, 1}) {
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

  Program make(int size) {
    while (!leaf(random_dims(4))) {}
    for (int tries = 0; static_cast<int>(p_.statements.size()) < size && tries < size * 20; ++tries)
      propose();
    drop_handles();
    return std::move(p_);
  }

 private:
  int pick(int n) { return static_cast<int>(r_() % static_cast<uint64_t>(n)); }
  bool chance(int n) { return pick(n) == 0; }
  int64_t some_extent() {
    constexpr int64_t extents[] = {2, 3, 5, 7, 2, 3, 4, 11, 13, 17, 31, 64, 0, 1};
    return extents[pick(chance(6) ? 14 : 12)];
  }
  DType any_type() {
    constexpr DType common[] = {float32, float32, float64, int64, int32, float16, bool_};
    return chance(2) ? common[pick(7)] : static_cast<DType>(pick(kDTypeCount));
  }
  DType type() { return types_[static_cast<size_t>(pick(static_cast<int>(types_.size())))]; }
  std::vector<Dim> random_dims(int max_rank) {
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
  bool add(Statement s) {
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

  int count() const { return static_cast<int>(p_.statements.size()); }
  /// A register, the later ones more often.
  int any_register() {
    const int n = count();
    return chance(2) ? n - 1 - pick(std::min(n, 3)) : pick(n);
  }
  const std::vector<Dim>& dims(int reg) const { return p_.statements[static_cast<size_t>(reg)].dims; }
  DType dtype(int reg) const { return first_.registers()[static_cast<size_t>(reg)].dtype(); }

  bool leaf(std::vector<Dim> dims, int type_number = -1, bool may_be_strided = true) {
    Statement s;
    s.kind = Kind::leaf;
    s.dtype = type_number < 0 ? type() : static_cast<DType>(type_number);
    s.dims = std::move(dims);
    s.salt = r_();
    s.layout = may_be_strided && chance(3) ? 1 + pick(15) : 0;
    return add(std::move(s));
  }

  static bool broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b, std::vector<Dim>& out) {
    out.assign(std::max(a.size(), b.size()), {});
    for (size_t i = 1; i <= out.size(); ++i) {
      const Dim x = i <= a.size() ? a[a.size() - i] : Dim{}, y = i <= b.size() ? b[b.size() - i] : Dim{};
      if (x != y && !x.empty() && !y.empty()) return false;
      out[out.size() - i] = x.empty() ? y : x;
    }
    return true;
  }
  /// A register that broadcasts with these dimensions; made if need be.
  int partner(const std::vector<Dim>& with, int type_number = -1) {
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
    return leaf(d, type_number) ? count() - 1 : -1;
  }

  Range random_range() {
    constexpr int64_t steps[] = {1, 1, 1, 2, 3, -1, -1, -2};
    Range g;
    g.step = steps[pick(8)];
    g.has_start = chance(2);
    g.has_stop = chance(2);
    g.start = pick(4) - (g.step < 0 ? 2 : 0);
    g.stop = chance(2) ? -1 - pick(2) : g.step < 0 ? pick(2) : 2 + pick(12);
    return g;
  }
  /// Random ranges over some axes, and the dimensions that are left.
  void ranges(Statement& s, const std::vector<Dim>& d, bool whole_ok) {
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

  void propose() {
    Statement s;
    const int a = any_register();
    const std::vector<Dim> d = dims(a);
    s.operand[0] = a;
    s.dims = d;
    s.salt = r_();
    const auto rank = static_cast<int>(d.size());
    switch (pick(38)) {
      case 0: leaf(random_dims(5)); return;
      case 1: {
        s.operand[0] = -1;
        s.kind = std::array{Kind::arange, Kind::full, Kind::eye}[static_cast<size_t>(pick(3))];
        s.dtype = type();
        s.dims = random_dims(3);
        s.dims.resize(s.kind == Kind::arange ? 1 : s.kind == Kind::eye ? 2 : s.dims.size());
        break;
      }
      case 2:
        s.kind = Kind::triangle;
        s.flipped = chance(2);
        s.fn = pick(3) - 1;
        break;
      default: {  // pointwise
        const int which = pick(10);
        if (which < 3) {
          s.kind = Kind::unary;
          s.fn = pick(static_cast<int>(kUnary.size()));
          if (p_.exact_only && !kUnary[static_cast<size_t>(s.fn)].exact) return;
        } else if (which < 7) {
          s.kind = Kind::binary;
          s.fn = pick(static_cast<int>(kBinary.size()));
          if (p_.exact_only && !kBinary[static_cast<size_t>(s.fn)].exact) return;
          const int b = chance(12) ? a : partner(d);
          if (b < 0) return;
          s.operand[1] = b;
          if (chance(2)) std::swap(s.operand[0], s.operand[1]);
          if (!broadcast(d, dims(b), s.dims)) return;
        } else {
          s.kind = Kind::with_scalar;
          s.fn = pick(static_cast<int>(kBinary.size()));
          if (p_.exact_only && !kBinary[static_cast<size_t>(s.fn)].exact) return;
          s.scalar_kind = pick(4);
          s.flipped = chance(3);
        }
        break;
      }
      case 14: {
        const int c = partner(d, static_cast<int>(bool_));
        const int b = c < 0 ? -1 : partner(d);
        if (b < 0) return;
        std::vector<Dim> out;
        if (!broadcast(d, dims(b), out) || !broadcast(out, dims(c), s.dims)) return;
        s.kind = Kind::where;
        s.operand[0] = c;
        s.operand[1] = a;
        s.operand[2] = b;
        break;
      }
      case 15:
        s.kind = Kind::cast;
        s.dtype = chance(2) ? type() : any_type();
        break;
      case 16:
      case 17: {  // the same symbols, shuffled and dealt out anew
        Dim all;
        for (const Dim& x : d) all.insert(all.end(), x.begin(), x.end());
        if (chance(2)) std::shuffle(all.begin(), all.end(), r_);
        s.kind = Kind::reshape;
        s.dims.clear();
        for (int id : all) {
          if (s.dims.empty() || s.dims.back().empty() || !chance(3)) s.dims.emplace_back();
          s.dims.back().push_back(id);
          if (chance(6)) s.dims.emplace_back();
        }
        for (Dim& x : s.dims) std::sort(x.begin(), x.end());
        break;
      }
      case 18:
      case 19:
        if (rank < 2) return;
        s.kind = Kind::permute;
        for (int i = 0; i < rank; ++i) s.axes.push_back(i);
        std::shuffle(s.axes.begin(), s.axes.end(), r_);
        for (int i = 0; i < rank; ++i)
          s.dims[static_cast<size_t>(i)] = d[static_cast<size_t>(s.axes[static_cast<size_t>(i)])];
        break;
      case 20:
      case 21:
        if (rank == 0) return;
        s.kind = Kind::slice;
        ranges(s, d, true);
        break;
      case 22:
        if (rank == 0) return;
        s.kind = Kind::flip;
        s.axes = {pick(rank)};
        break;
      case 34:
      case 35: {  // where a window does not fit, recording throws and the statement is dropped
        if (rank == 0) return;
        s.kind = Kind::window;
        s.axes = {pick(rank), 1 + pick(4), 1 + pick(2)};
        Symbol count;
        count.derived = true;
        count.of = d[static_cast<size_t>(s.axes[0])];
        count.range.has_start = true;
        count.range.start = (s.axes[1] - 1) * s.axes[2];
        count.range.step = 1 + pick(2);
        s.ranges = {count.range};
        s.dims[static_cast<size_t>(s.axes[0])] = {static_cast<int>(p_.symbols.size())};
        p_.symbols.push_back(count);
        Symbol length;
        length.first = length.second = s.axes[1];
        s.dims.push_back(s.axes[1] == 1 ? Dim{} : Dim{static_cast<int>(p_.symbols.size())});
        p_.symbols.push_back(length);
        break;
      }
      case 36: return convolution(a);
      case 37: return attention(a);
      case 23:
        s.kind = Kind::expand;
        s.axes = {pick(rank + 1)};
        s.dims.insert(s.dims.begin() + s.axes[0], Dim{});
        break;
      case 24:
        s.kind = Kind::squeeze;
        for (int i = 0; i < rank; ++i)
          if (d[static_cast<size_t>(i)].empty()) s.axes.push_back(i);
        if (s.axes.empty()) return;
        std::erase_if(s.dims, [](const Dim& x) { return x.empty(); });
        break;
      case 25:
        s.kind = Kind::broadcast;
        for (Dim& x : s.dims)
          if (x.empty() && chance(2)) x = {pick(free_)};
        if (chance(2)) s.dims.insert(s.dims.begin(), Dim{pick(free_)});
        break;
      case 26:
      case 27:
      case 28: {
        if (rank == 0) return;
        s.kind = Kind::reduce;
        s.fn = pick(static_cast<int>(kReduce.size()));
        const ReduceRow& row = kReduce[static_cast<size_t>(s.fn)];
        if (p_.exact_only && !row.exact) return;
        s.keepdims = chance(2);
        for (int i = 0; i < rank; ++i)
          if (chance(2)) s.axes.push_back(i);
        if (row.one_axis && s.axes.size() != 1) s.axes = {pick(rank)};
        s.dims.clear();
        for (int i = 0; i < rank; ++i) {
          const bool gone = s.axes.empty() || std::count(s.axes.begin(), s.axes.end(), i) != 0;
          if (!gone) s.dims.push_back(d[static_cast<size_t>(i)]);
          else if (s.keepdims) s.dims.emplace_back();
        }
        break;
      }
      case 29:
        if (rank == 0) return;
        s.kind = Kind::cumsum;
        s.axes = {pick(rank)};
        break;
      case 30: {
        if (rank == 0) return;
        const Dim k = d.back(), n = {pick(free_)};
        if (first_.extent(k) * first_.extent(n) > 400) return;
        std::vector<Dim> other{k};
        if (!chance(4)) other.push_back(n);
        for (int i = 0; i < rank - 2 && other.size() == 2; ++i)
          if (chance(2)) other.insert(other.begin(), d[static_cast<size_t>(rank - 3 - i)]);
          else break;
        const bool column = other.size() == 1;
        if (numel(first_.registers()[static_cast<size_t>(a)].shape()) * first_.extent(n) > kMaxProducts)
          return;
        if (!leaf(other, static_cast<int>(dtype(a)))) return;
        s.kind = Kind::matmul;
        s.operand[1] = count() - 1;
        s.dims.pop_back();
        if (!column) s.dims.push_back(n);
        break;
      }
      case 31:
      case 32: {
        if (rank == 0) return;
        ranges(s, d, true);
        const int b = partner(s.dims, static_cast<int>(dtype(a)));
        std::vector<Dim> out;
        if (b < 0 || !broadcast(s.dims, dims(b), out) || out != s.dims) return;
        s.kind = Kind::assign;
        s.flipped = chance(3);
        s.operand[1] = b;
        s.region = s.dims;
        s.dims = d;
        break;
      }
      case 33:
        if (chance(3)) {
          s.kind = Kind::read;
        } else {
          if (rank == 0 || !leaf(d, static_cast<int>(bool_))) return;
          s.kind = Kind::assign_mask;
          s.operand[1] = count() - 1;
          s.flipped = chance(2);
        }
        break;
    }
    add(std::move(s));
  }

  int64_t elements(int reg) const { return numel(first_.registers()[static_cast<size_t>(reg)].shape()); }
  Dim new_symbol(Symbol s) {
    p_.symbols.push_back(std::move(s));
    return {static_cast<int>(p_.symbols.size()) - 1};
  }

  /// Of register `x`, or of a new image where that is none.
  void convolution(int x) {
    bool rows = false;  // of channels-first images, which lanes may run along
    if (dims(x).size() < 3 || dims(x).size() > 4 || chance(2)) {
      rows = chance(2);
      std::vector<Dim> d(static_cast<size_t>(3 + pick(2)));
      for (Dim& e : d) e = chance(rows ? 2 : 5) ? Dim{} : Dim{pick(free_)};
      Symbol wide;
      wide.first = 44 + pick(24);
      wide.second = 44 + pick(24);
      if (rows) d.back() = new_symbol(wide);
      if (!leaf(d)) return;
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
    if (!leaf(weights, static_cast<int>(dtype(x)), false)) return;
    s.operand[1] = count() - 1;
    add(std::move(s));
  }

  /// Of register `x` as queries, or of new ones where that is none.
  void attention(int x) {
    if (p_.exact_only) return;
    if (dims(x).size() < 2 || !is_float(dtype(x))) {
      std::vector<Dim> d = random_dims(2);
      d.push_back({pick(free_)});
      d.push_back({pick(free_)});
      if (!leaf(d, static_cast<int>(float32))) return;
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
      if (!leaf(key, type)) return;
      s.operand[1] = count() - 1;
      if (!leaf(value, type)) return;
      s.operand[2] = count() - 1;
      s.dims[rank - 1] = width;
    }
    add(std::move(s));
  }

  // Most handles go at once, some later or never; the last register is always kept.
  void drop_handles() {
    const int n = count();
    std::vector<int> last_use(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      last_use[static_cast<size_t>(i)] = i;
      for (int o : p_.statements[static_cast<size_t>(i)].operand)
        if (o >= 0) last_use[static_cast<size_t>(o)] = i;
    }
    for (int i = 0; i < n; ++i) {
      const int last = last_use[static_cast<size_t>(i)];
      const bool stays = i == n - 1 || chance(5) || (last == i && chance(2));
      p_.dropped_after.push_back(stays ? kToTheEnd : chance(4) ? last + pick(n - last) : last);
    }
  }

  Random r_;
  Program p_;
  Machine first_, second_;
  int free_ = 0;
  std::vector<DType> types_;
};

// Without statement `at`: its uses read `instead`, or go too.
Program without(const Program& p, int at, int instead) {
  Program q = p;
  q.statements.clear();
  q.dropped_after.clear();
  std::vector<int> now(p.statements.size(), -1), old_of;
  for (int i = 0; i < static_cast<int>(p.statements.size()); ++i) {
    if (i == at) {
      if (instead >= 0) now[static_cast<size_t>(i)] = now[static_cast<size_t>(instead)];
      continue;
    }
    Statement s = p.statements[static_cast<size_t>(i)];
    bool whole = true;
    for (int& o : s.operand)
      if (o >= 0) {
        o = now[static_cast<size_t>(o)];
        whole = whole && o >= 0;
      }
    if (!whole) continue;
    now[static_cast<size_t>(i)] = static_cast<int>(q.statements.size());
    q.statements.push_back(std::move(s));
    old_of.push_back(i);
  }
  const auto n = static_cast<int>(q.statements.size());
  for (int j = 0; j < n; ++j) {
    const int before = p.dropped_after[static_cast<size_t>(old_of[static_cast<size_t>(j)])];
    if (before == kToTheEnd) {
      q.dropped_after.push_back(kToTheEnd);
      continue;
    }
    int drop =
        j;  // where the old statement, or what is left before it, is now; after the last use in any case
    for (int k = j; k < n; ++k) {
      if (old_of[static_cast<size_t>(k)] <= before) drop = k;
      for (int o : q.statements[static_cast<size_t>(k)].operand)
        if (o == j) drop = std::max(drop, k);
    }
    q.dropped_after.push_back(drop);
  }
  return q;
}

}  // namespace

Program generate(uint64_t seed, int size, bool exact_only) { return Maker(seed, exact_only).make(size); }

std::vector<Program> simpler(const Program& p) {
  std::vector<Program> all;
  const auto n = static_cast<int>(p.statements.size());
  for (int i = n - 1; i >= 0; --i) {
    if (n > 1) all.push_back(without(p, i, -1));
    const Statement& s = p.statements[static_cast<size_t>(i)];
    for (int o : s.operand)
      if (o >= 0 && p.statements[static_cast<size_t>(o)].dims == s.dims) all.push_back(without(p, i, o));
  }
  for (int i = 0; i < n; ++i) {
    if (p.dropped_after[static_cast<size_t>(i)] == kToTheEnd && i != n - 1) {
      Program q = p;
      int last = i;
      for (int k = i; k < n; ++k)
        for (int o : p.statements[static_cast<size_t>(k)].operand)
          if (o == i) last = k;
      q.dropped_after[static_cast<size_t>(i)] = last;
      all.push_back(std::move(q));
    }
    if (p.statements[static_cast<size_t>(i)].layout != 0) {
      Program q = p;
      q.statements[static_cast<size_t>(i)].layout = 0;
      all.push_back(std::move(q));
    }
  }
  if (p.specials) {
    all.push_back(p);
    all.back().specials = false;
  }
  for (size_t k = 0; k < p.symbols.size(); ++k)
    for (const bool second : {false, true}) {
      const int64_t v = second ? p.symbols[k].second : p.symbols[k].first;
      if (p.symbols[k].derived || v <= 3) continue;
      Program q = p;
      (second ? q.symbols[k].second : q.symbols[k].first) = v / 2 + 1;
      all.push_back(std::move(q));
    }
  // Only those that both runs can record.
  std::erase_if(all, [](const Program& q) {
    try {
      for (const bool second : {false, true}) {
        Machine m(q, {second, 0});
        for (const Statement& s : q.statements) m.step(s);
      }
    } catch (const Error&) { return true; }
    return q.statements.empty();
  });
  return all;
}

}  // namespace random_graph
