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

void Maker::propose() {
  Statement s;
  const int a = any_register();
  const std::vector<Dim> d = dims(a);
  s.operand[0] = a;
  s.dims = d;
  s.salt = r_();
  const auto rank = static_cast<int>(d.size());
  switch (pick(47)) {
    case 0: input(random_dims(5)); return;
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
    default:
      if (!pointwise(s, a)) return;
      break;
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
    case 17: {  // the same symbols, shuffled and distributed anew
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
    case 43:
    case 44: {
      if (rank == 0) return;
      const int axis = pick(rank);
      s.kind = Kind::take;
      s.axes = {axis, pick(4)};
      s.keepdims = chance(2);
      std::vector<Dim> at = s.keepdims ? d : random_dims(2);
      if (s.keepdims) at[static_cast<size_t>(axis)] = {pick(free_)};
      if ((s.operand[1] = indices(at)) < 0) return;
      if (s.keepdims) s.dims = at;
      else {
        s.dims.erase(s.dims.begin() + axis);
        s.dims.insert(s.dims.begin() + axis, at.begin(), at.end());
      }
      break;
    }
    case 45:
    case 46: {
      if (rank == 0) return;
      const int axis = pick(rank);
      s.kind = Kind::put;
      s.axes = {axis, pick(4), dtype(a) == bool_ ? 0 : pick(5)};
      std::vector<Dim> at = d;
      at[static_cast<size_t>(axis)] = {pick(free_)};
      if ((s.operand[1] = indices(at)) < 0) return;
      s.operand[2] = partner(at, static_cast<int>(dtype(a)));
      std::vector<Dim> out;
      if (s.operand[2] < 0 || !broadcast(at, dims(s.operand[2]), out) || out != at) return;
      break;
    }
    case 36: return convolution(a);
    case 37: return attention(a);
    case 38:
    case 39: return read_twice(a);
    case 40:
      if (chance(3)) loop(a);
      return;
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
      s.kind = Kind::scan;
      s.fn = pick(static_cast<int>(kScan.size()));
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
      if (numel(first_.registers()[static_cast<size_t>(a)].shape()) * first_.extent(n) > kMaxProducts) return;
      if (!input(other, static_cast<int>(dtype(a)))) return;
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
        if (rank == 0 || !input(d, static_cast<int>(bool_))) return;
        s.kind = Kind::assign_mask;
        s.operand[1] = count() - 1;
        s.flipped = chance(2);
      }
      break;
    case 41:
      if (rank == 0) return;
      s.kind = Kind::sort;
      s.axes = {pick(rank)};
      s.keepdims = chance(2);
      s.flipped = chance(2);
      break;
    case 42:
      if (rank == 0 || rank == kMaxRank || !input(d, static_cast<int>(dtype(a)))) return;
      s.kind = Kind::join;
      s.operand[1] = count() - 1;
      s.axes = {pick(rank)};
      s.flipped = chance(2);
      break;
  }
  add(std::move(s));
}

}  // namespace random_graph
