// Proposes a random program's next statement.
#include <algorithm>
#include <array>

#include "tests/differential/random_graph_maker.hpp"

namespace random_graph {

using namespace lazy;

bool Maker::pointwise(Statement& s, int a) {
  const auto may = [&](const auto& row) { return row.exact || !p_.exact_only; };
  s.operand[0] = a;
  s.dims = dims(a);
  const int which = pick(10);
  if (which < 3) {
    s.kind = Kind::unary;
    s.fn = pick(static_cast<int>(kUnary.size()));
    return may(kUnary[static_cast<size_t>(s.fn)]);
  }
  s.fn = pick(static_cast<int>(kBinary.size()));
  if (!may(kBinary[static_cast<size_t>(s.fn)])) return false;
  if (which < 7) {
    s.kind = Kind::binary;
    const int b = chance(12) ? a : partner(dims(a));
    if (b < 0) return false;
    s.operand[1] = b;
    if (chance(2)) std::swap(s.operand[0], s.operand[1]);
    return broadcast(dims(a), dims(b), s.dims);
  }
  s.kind = Kind::with_scalar;
  s.scalar_kind = pick(4);
  s.flipped = chance(3);
  return true;
}

/// Returns a register of integers of these dimensions; -1 if there can be none.
int Maker::indices(const std::vector<Dim>& d) {
  for (int tries = 0; tries < 3; ++tries) {
    const int r = any_register();
    if (dims(r) == d && is_int(dtype(r))) return r;
  }
  constexpr DType types[] = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};
  return input(d, static_cast<int>(types[pick(8)])) ? count() - 1 : -1;
}

bool Maker::new_input(Statement&, int) {
  input(random_dims(5));
  return false;
}

bool Maker::source(Statement& s, int) {
  s.operand[0] = -1;
  s.kind = std::array{Kind::arange, Kind::full, Kind::eye}[static_cast<size_t>(pick(3))];
  s.dtype = type();
  s.dims = random_dims(3);
  s.dims.resize(s.kind == Kind::arange ? 1 : s.kind == Kind::eye ? 2 : s.dims.size());
  return true;
}

bool Maker::triangle(Statement& s, int) {
  s.kind = Kind::triangle;
  s.flipped = chance(2);
  s.fn = pick(3) - 1;
  return true;
}

bool Maker::select(Statement& s, int a) {
  const std::vector<Dim> d = s.dims;
  const int c = partner(d, static_cast<int>(bool_));
  const int b = c < 0 ? -1 : partner(d);
  if (b < 0) return false;
  std::vector<Dim> out;
  if (!broadcast(d, dims(b), out) || !broadcast(out, dims(c), s.dims)) return false;
  s.kind = Kind::where;
  s.operand[0] = c;
  s.operand[1] = a;
  s.operand[2] = b;
  return true;
}

bool Maker::cast(Statement& s, int) {
  s.kind = Kind::cast;
  s.dtype = chance(2) ? type() : any_type();
  return true;
}

// Has the same symbols, shuffled and distributed anew.
bool Maker::reshape(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
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
  return true;
}

bool Maker::permute(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank < 2) return false;
  s.kind = Kind::permute;
  for (int i = 0; i < rank; ++i) s.axes.push_back(i);
  std::shuffle(s.axes.begin(), s.axes.end(), r_);
  for (int i = 0; i < rank; ++i)
    s.dims[static_cast<size_t>(i)] = d[static_cast<size_t>(s.axes[static_cast<size_t>(i)])];
  return true;
}

bool Maker::slice(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  s.kind = Kind::slice;
  ranges(s, d, true);
  return true;
}

bool Maker::flip(Statement& s, int) {
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  s.kind = Kind::flip;
  s.axes = {pick(rank)};
  return true;
}

bool Maker::expand(Statement& s, int) {
  const auto rank = static_cast<int>(s.dims.size());
  s.kind = Kind::expand;
  s.axes = {pick(rank + 1)};
  s.dims.insert(s.dims.begin() + s.axes[0], Dim{});
  return true;
}

bool Maker::squeeze(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  s.kind = Kind::squeeze;
  for (int i = 0; i < rank; ++i)
    if (d[static_cast<size_t>(i)].empty()) s.axes.push_back(i);
  if (s.axes.empty()) return false;
  std::erase_if(s.dims, [](const Dim& x) { return x.empty(); });
  return true;
}

bool Maker::broadcast_to(Statement& s, int) {
  s.kind = Kind::broadcast;
  for (Dim& x : s.dims)
    if (x.empty() && chance(2)) x = {pick(free_)};
  if (chance(2)) s.dims.insert(s.dims.begin(), Dim{pick(free_)});
  return true;
}

bool Maker::reduce(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  s.kind = Kind::reduce;
  s.fn = pick(static_cast<int>(kReduce.size()));
  const ReduceRow& row = kReduce[static_cast<size_t>(s.fn)];
  if (p_.exact_only && !row.exact) return false;
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
  return true;
}

bool Maker::scan(Statement& s, int) {
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  s.kind = Kind::scan;
  s.fn = pick(static_cast<int>(kScan.size()));
  s.axes = {pick(rank)};
  return true;
}

bool Maker::matmul(Statement& s, int a) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  const Dim k = d.back(), n = {pick(free_)};
  if (first_.extent(k) * first_.extent(n) > 400) return false;
  std::vector<Dim> other{k};
  if (!chance(4)) other.push_back(n);
  for (int i = 0; i < rank - 2 && other.size() == 2; ++i)
    if (chance(2)) other.insert(other.begin(), d[static_cast<size_t>(rank - 3 - i)]);
    else break;
  const bool column = other.size() == 1;
  if (numel(first_.registers()[static_cast<size_t>(a)].shape()) * first_.extent(n) > kMaxProducts)
    return false;
  if (!input(other, static_cast<int>(dtype(a)))) return false;
  s.kind = Kind::matmul;
  s.operand[1] = count() - 1;
  s.dims.pop_back();
  if (!column) s.dims.push_back(n);
  return true;
}

bool Maker::assign(Statement& s, int a) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  ranges(s, d, true);
  const int b = partner(s.dims, static_cast<int>(dtype(a)));
  std::vector<Dim> out;
  if (b < 0 || !broadcast(s.dims, dims(b), out) || out != s.dims) return false;
  s.kind = Kind::assign;
  s.flipped = chance(3);
  s.operand[1] = b;
  s.region = s.dims;
  s.dims = d;
  return true;
}

bool Maker::read_or_assign(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (chance(3)) {
    s.kind = Kind::read;
  } else {
    if (rank == 0 || !input(d, static_cast<int>(bool_))) return false;
    s.kind = Kind::assign_mask;
    s.operand[1] = count() - 1;
    s.flipped = chance(2);
  }
  return true;
}

// Where a window does not fit, recording throws and the statement is dropped.
bool Maker::window(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
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
  return true;
}

bool Maker::make_convolution(Statement&, int a) {
  convolution(a);
  return false;
}

bool Maker::make_attention(Statement&, int a) {
  attention(a);
  return false;
}

bool Maker::make_read_twice(Statement&, int a) {
  read_twice(a);
  return false;
}

bool Maker::make_loop(Statement&, int a) {
  if (chance(3)) loop(a);
  return false;
}

bool Maker::sort(Statement& s, int) {
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  s.kind = Kind::sort;
  s.axes = {pick(rank)};
  s.keepdims = chance(2);
  s.flipped = chance(2);
  return true;
}

bool Maker::join(Statement& s, int a) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0 || rank == kMaxRank || !input(d, static_cast<int>(dtype(a)))) return false;
  s.kind = Kind::join;
  s.operand[1] = count() - 1;
  s.axes = {pick(rank)};
  s.flipped = chance(2);
  return true;
}

bool Maker::take(Statement& s, int) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  const int axis = pick(rank);
  s.kind = Kind::take;
  s.axes = {axis, pick(4)};
  s.keepdims = chance(2);
  std::vector<Dim> at = s.keepdims ? d : random_dims(2);
  if (s.keepdims) at[static_cast<size_t>(axis)] = {pick(free_)};
  if ((s.operand[1] = indices(at)) < 0) return false;
  if (s.keepdims) s.dims = at;
  else {
    s.dims.erase(s.dims.begin() + axis);
    s.dims.insert(s.dims.begin() + axis, at.begin(), at.end());
  }
  return true;
}

bool Maker::put(Statement& s, int a) {
  const std::vector<Dim> d = s.dims;
  const auto rank = static_cast<int>(s.dims.size());
  if (rank == 0) return false;
  const int axis = pick(rank);
  s.kind = Kind::put;
  s.axes = {axis, pick(4), dtype(a) == bool_ ? 0 : pick(5)};
  std::vector<Dim> at = d;
  at[static_cast<size_t>(axis)] = {pick(free_)};
  if ((s.operand[1] = indices(at)) < 0) return false;
  s.operand[2] = partner(at, static_cast<int>(dtype(a)));
  std::vector<Dim> out;
  if (s.operand[2] < 0 || !broadcast(at, dims(s.operand[2]), out) || out != at) return false;
  return true;
}

void Maker::propose() {
  struct Row {
    int weight;  // of 47
    bool (Maker::*proposer)(Statement&, int);
  };
  static constexpr Row kRows[] = {{1, &Maker::new_input},
                                  {1, &Maker::source},
                                  {1, &Maker::triangle},
                                  {11, &Maker::pointwise},
                                  {1, &Maker::select},
                                  {1, &Maker::cast},
                                  {2, &Maker::reshape},
                                  {2, &Maker::permute},
                                  {2, &Maker::slice},
                                  {1, &Maker::flip},
                                  {1, &Maker::expand},
                                  {1, &Maker::squeeze},
                                  {1, &Maker::broadcast_to},
                                  {3, &Maker::reduce},
                                  {1, &Maker::scan},
                                  {1, &Maker::matmul},
                                  {2, &Maker::assign},
                                  {1, &Maker::read_or_assign},
                                  {2, &Maker::window},
                                  {1, &Maker::make_convolution},
                                  {1, &Maker::make_attention},
                                  {2, &Maker::make_read_twice},
                                  {1, &Maker::make_loop},
                                  {1, &Maker::sort},
                                  {1, &Maker::join},
                                  {2, &Maker::take},
                                  {2, &Maker::put}};
  Statement s;
  const int a = any_register();
  s.operand[0] = a;
  s.dims = dims(a);
  s.salt = r_();
  int weights = 0;
  for (const Row& r : kRows) weights += r.weight;
  int drawn = pick(weights);
  const Row* row = kRows;
  for (; drawn >= row->weight; ++row) drawn -= row->weight;
  if ((this->*row->proposer)(s, a)) add(std::move(s));
}

}  // namespace random_graph
