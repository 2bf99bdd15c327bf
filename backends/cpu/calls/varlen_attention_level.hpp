// Has attention over sequences for vectors of one width. Included by the file of each, after its lanes. Every
// element is computed in one order, so the width changes no bit.
#pragma once
#include <limits>

#include "backends/cpu/calls/lanes_product.hpp"
#include "backends/cpu/calls/varlen_attention.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend::varlen {
namespace {

constexpr int64_t kPartialSums = 16;  // that a row's sum is made of, whatever the vectors

/// Returns e^x for x <= 0, and 0 where that is about the smallest normal number; NaN stays. That of float is
/// within 2 ulp: 2^f for a fraction f in [-1/2, 1/2] is its Taylor polynomial.
LAZY_LEVEL_INLINE Vector<float> weight(Vector<float> x) {
  using L = Lanes<float>;
  const auto t = x * L::all(1.44269504088896341f);
  const auto n = L::nearest(t), f = t - n;
  auto p = L::all(1.54035304e-4f);
  for (const float c : {1.33335581e-3f, 9.61812911e-3f, 5.55041087e-2f, 2.40226507e-1f, 6.93147181e-1f, 1.0f})
    p = L::fma(p, f, L::all(c));
  return L::select_less(x, L::all(-86), L::all(0), L::scaled(p, n));
}
LAZY_LEVEL_INLINE Vector<double> weight(Vector<double> x) {
  return each_lane(x, [](double v) { return v < -700 ? 0.0 : std::exp(v); });
}
template <class T>
LAZY_LEVEL_INLINE T weight_of(T x) {
  T lanes[Lanes<T>::kCount];
  Lanes<T>::store(lanes, weight(Lanes<T>::all(x)));
  return lanes[0];
}
/// Holds sums by index modulo kPartialSums.
template <class T>
struct PartialSums {
  using L = Lanes<T>;
  static constexpr int64_t kVectors = kPartialSums / L::kCount;
  Vector<T> all[kVectors];
  LAZY_LEVEL_INLINE PartialSums() {
    for (auto& v : all) v = L::all(0);
  }
  /// Adds them up in halves.
  LAZY_LEVEL_INLINE T total() {
    for (int64_t n = kVectors / 2; n > 0; n /= 2)
      for (int64_t i = 0; i < n; ++i) all[i] = all[i] + all[i + n];
    return L::total(all[0]);
  }
};
/// Returns the sum of a[i] b[i].
template <class T>
LAZY_LEVEL_INLINE T dot(const T* a, const T* b, int64_t n) {
  using L = Lanes<T>;
  PartialSums<T> sums;
  int64_t i = 0;
  for (; i + kPartialSums <= n; i += kPartialSums)
    for (int64_t v = 0; v < sums.kVectors; ++v)
      sums.all[v] = L::fma(L::load(a + i + v * L::kCount), L::load(b + i + v * L::kCount), sums.all[v]);
  for (int64_t v = 0; i < n; ++v, i += L::kCount)
    sums.all[v] = L::fma(load_some(a + i, n - i), load_some(b + i, n - i), sums.all[v]);
  return sums.total();
}

/// Holds the right side of products: panels of a few vectors of columns.
template <class T>
struct Right {
  static constexpr int64_t kMost = Lanes<T>::kRegisters == 32 ? 4 : 3;  // vectors of a panel
  static constexpr int64_t kColumns = kMost * Lanes<T>::kCount;

  T* data = nullptr;
  int64_t depth = 0, columns = 0;

  static int64_t size(int64_t depth, int64_t columns) { return depth * round_up(columns, Lanes<T>::kCount); }
  int64_t vectors() const { return round_up(columns, Lanes<T>::kCount) / Lanes<T>::kCount; }
  int64_t count() const { return (vectors() + kMost - 1) / kMost; }
  int64_t width(int64_t panel) const { return std::min(kMost, vectors() - panel * kMost); }
  T* panel(int64_t p) const { return data + p * kColumns * depth; }
};

/// Packs rows as they are: row(k) has the right side's row k. Returns whether all of it is finite.
template <class T, class Row>
LAZY_LEVEL_INLINE bool pack_rows(Right<T>& to, int64_t depth, int64_t columns, Row&& row) {
  using L = Lanes<T>;
  to.depth = depth, to.columns = columns;
  auto check = L::all(0);
  for (int64_t p = 0; p < to.count(); ++p) {
    const int64_t width = to.width(p);
    for (int64_t k = 0; k < depth; ++k) {
      const T* const from = row(k) + p * Right<T>::kColumns;
      T* const at = to.panel(p) + k * width * L::kCount;
      for (int64_t v = 0; v < width; ++v) {
        const auto x = load_some(from + v * L::kCount, columns - p * Right<T>::kColumns - v * L::kCount);
        check = L::fma(x, L::all(0), check);
        L::store(at + v * L::kCount, x);
      }
    }
  }
  T lanes[L::kCount];
  L::store(lanes, check);
  return std::all_of(lanes, lanes + L::kCount, [](T x) { return x == 0; });
}
/// Packs rows as columns: row(j) has the right side's column j.
template <class T, class Row>
LAZY_LEVEL_INLINE void pack_columns(Right<T>& to, int64_t depth, int64_t columns, Row&& row) {
  constexpr int64_t kLanes = Lanes<T>::kCount;
  to.depth = depth, to.columns = columns;
  for (int64_t p = 0; p < to.count(); ++p)
    for (int64_t v = 0, width = to.width(p); v < width; ++v) {
      const int64_t first = p * Right<T>::kColumns + v * kLanes, some = std::min(kLanes, columns - first);
      T* const at = to.panel(p) + v * kLanes;
      const T* rows[kLanes];
      for (int64_t l = 0; l < some; ++l) rows[l] = row(first + l);
      int64_t begin = 0;
      if constexpr (sizeof(T) == 4)
        for (; some == kLanes && begin + kLanes <= depth; begin += kLanes) {
          Vector<T> square[kLanes];
          for (int64_t l = 0; l < kLanes; ++l) square[l] = Lanes<T>::load(rows[l] + begin);
          Lanes<T>::transpose(square);
          for (int64_t l = 0; l < kLanes; ++l) Lanes<T>::store(at + (begin + l) * width * kLanes, square[l]);
        }
      for (int64_t k = begin; k < depth; ++k) {
        T* const line = at + k * width * kLanes;
        for (int64_t l = 0; l < some; ++l) line[l] = rows[l][k];
        std::fill(line + some, line + kLanes, T{0});
      }
    }
}

/// Adds to c, in columns of panels [first, last), the product of a and `depth` of the right side's rows.
template <class T, Left kLeft = Left::rows, Sums kSums = Sums::add>
LAZY_LEVEL void add_panels(T* c, int64_t c_step, const T* a, int64_t a_step, int64_t rows, const Right<T>& b,
                           int64_t first, int64_t last, int64_t from, int64_t depth) {
  for (int64_t p = first; p < last; ++p)
    add_panel_of<T, kLeft, kSums>(b.width(p), c + p * Right<T>::kColumns, c_step, a, a_step, rows,
                                  b.panel(p) + from * b.width(p) * Lanes<T>::kCount, depth);
}

/// Holds memory of one thread for rows of one length, whole vectors and not a power of two apart.
template <class T>
struct Lines {
  T* data = nullptr;
  int64_t step = 0;
  static int64_t step_of(int64_t n) { return round_up(n, 64) + 64 / static_cast<int64_t>(sizeof(T)); }
  T* row(int64_t i) const { return data + i * step; }
};
/// Cuts one block of memory into parts.
template <class T>
class Parts {
 public:
  explicit Parts(int64_t elements)
      : memory_((elements + 64) * static_cast<int64_t>(sizeof(T))),
        at_(reinterpret_cast<T*>(memory_.data())) {}
  T* take(int64_t n) { return std::exchange(at_, at_ + n); }
  Lines<T> lines(int64_t rows, int64_t n) {
    return {take(rows * Lines<T>::step_of(n)), Lines<T>::step_of(n)};
  }
  static int64_t size(int64_t rows, int64_t n) { return rows * Lines<T>::step_of(n); }

 private:
  const Scratch memory_;
  T* at_;
};

/// Says where rows and keys of a piece lie.
template <class T>
struct Where {
  const VarlenAttention<T>& a;
  const Piece& piece;
  int64_t shared = a.shared(), queries = a.queries(piece.sequence), keys = a.keys(piece.sequence);

  int64_t row(int64_t r) const {
    return (a.q_offsets[piece.sequence] + r / shared) * a.heads + piece.group * shared + r % shared;
  }
  int64_t place(int64_t r) const { return keys - queries + r / shared; }
  int64_t key(int64_t j) const { return a.row(piece.sequence, j) * a.groups + piece.group; }
  std::pair<int64_t, int64_t> seen(int64_t r) const { return a.seen(place(r), keys); }
  T slope(int64_t r) const { return a.slopes ? a.slopes[piece.group * shared + r % shared] : T{0}; }
  /// Returns the keys, counted from `first` on, of which one of some rows sees any, of `count` keys.
  std::pair<int64_t, int64_t> seen_by_any(int64_t r, int64_t rows, int64_t first, int64_t count) const {
    return {std::max<int64_t>(seen(r).first - first, 0), std::min(seen(r + rows - 1).second - first, count)};
  }
  /// Puts queries times the factor into lines.
  LAZY_LEVEL_INLINE void load_queries(int64_t r, int64_t rows, const Lines<T>& to, int64_t line = 0) const {
    for (int64_t i = 0; i < rows; ++i) {
      const T* const from = a.q + row(r + i) * a.depth;
      T* const at = to.row(line + i);
      for (int64_t e = 0; e < a.depth; ++e) at[e] = from[e] * a.factor;
    }
  }
  bool hides() const { return a.how.causal || a.how.window; }
};

template <class T>
class Forward {
 public:
  explicit Forward(const ForwardWork<T>& work)
      : work_(work),
        a_(work.a),
        memory_(size(a_)),
        query_(memory_.lines(kRowsAtOnce, a_.depth)),
        scores_(memory_.lines(kRowsAtOnce, kKeysAtOnce)),
        sums_(memory_.lines(kMostRows, a_.width)),
        top_(memory_.take(kMostRows)),
        total_(memory_.take(kMostRows)),
        read_keys_(memory_.lines(lines_of_keys(a_), a_.depth)),
        read_values_(memory_.lines(lines_of_values(a_), a_.width)) {
    keys_.data = memory_.take(Right<T>::size(a_.depth, kKeysAtOnce));
    values_.data = memory_.take(Right<T>::size(kKeysAtOnce, a_.width));
  }

  /// Makes results of what splits of the same rows left, in their order.
  LAZY_LEVEL void join(const Piece* begin, const Piece* end) {
    const int64_t rows = begin->last - begin->first;
    for (int64_t r = 0; r < rows * begin->groups; ++r) {
      const Piece one{begin->sequence, begin->group + r / rows, begin->first, begin->last};
      const auto part = [&](const Piece& p) { return work_.parts + (p.part + r) * (a_.width + 2); };
      T top = -std::numeric_limits<T>::infinity(), total{0};
      for (const Piece* p = begin; p != end; ++p) top = std::max(top, part(*p)[0]);
      T* const sums = sums_.row(r);
      std::fill_n(sums, a_.width, T{0});
      for (const Piece* p = begin; p != end; ++p) {
        const T* const from = part(*p);
        if (from[1] == 0) continue;  // it has seen nothing
        const T by = weight_of<T>(from[0] - top);
        total += by * from[1];
        for (int64_t i = 0; i < a_.width; ++i) sums[i] += by * from[2 + i];
      }
      top_[r] = top, total_[r] = total;
      finish(Where<T>{a_, one}.row(begin->first + r % rows), r);
    }
  }
  LAZY_LEVEL void run(const Piece& piece) {
    few_rows_of(a_, piece.sequence) ? run_few(piece) : run_many(piece);
  }

 private:
  LAZY_LEVEL void clear(int64_t rows) {
    std::fill_n(top_, rows, -std::numeric_limits<T>::infinity());
    std::fill_n(total_, rows, T{0});
    std::fill_n(sums_.data, rows * sums_.step, T{0});
  }
  LAZY_LEVEL void run_few(const Piece& piece) {
    const int64_t rows = piece.last - piece.first, end = std::min(a_.keys(piece.sequence), piece.end_key);
    clear(rows * piece.groups);
    const auto head = [&](int64_t g) {
      return Piece{piece.sequence, piece.group + g, piece.first, piece.last};
    };
    for (int64_t g = 0; g < piece.groups; ++g) {
      const Piece one = head(g);
      Where<T>{a_, one}.load_queries(piece.first, rows, query_, g * rows);
    }
    for (int64_t first = piece.first_key; first < end; first += kKeysAtOnce)
      few_rows(piece, first, std::min(kKeysAtOnce, end - first));
    if (piece.part >= 0) return leave(piece.part, rows * piece.groups);
    for (int64_t g = 0; g < piece.groups; ++g) {
      const Piece one = head(g);
      const Where<T> at{a_, one};
      for (int64_t r = 0; r < rows; ++r) finish(at.row(piece.first + r), g * rows + r);
    }
  }
  LAZY_LEVEL void run_many(const Piece& piece) {
    const Where<T> at{a_, piece};
    const int64_t rows = piece.last - piece.first;
    clear(rows);
    const int64_t begin = at.seen(piece.first).first / kKeysAtOnce * kKeysAtOnce,
                  end = at.seen(piece.last - 1).second;
    for (int64_t first = begin; first < end; first += kKeysAtOnce) {
      const int64_t count = std::min(kKeysAtOnce, at.keys - first);
      if (a_.k) {
        pack_columns(keys_, a_.depth, count, [&](int64_t j) { return a_.k + at.key(first + j) * a_.depth; });
      } else {
        for (int64_t j = 0; j < count; ++j) a_.stored_k.read(at.key(first + j), 1, read_keys_.row(j));
        pack_columns(keys_, a_.depth, count, [&](int64_t j) { return read_keys_.row(j); });
      }
      if (a_.v) {
        finite_ = pack_rows(values_, count, a_.width,
                            [&](int64_t j) { return a_.v + at.key(first + j) * a_.width; });
      } else {
        for (int64_t j = 0; j < count; ++j) a_.stored_v.read(at.key(first + j), 1, read_values_.row(j));
        finite_ = pack_rows(values_, count, a_.width, [&](int64_t j) { return read_values_.row(j); });
      }
      for (int64_t r = 0; r < rows; r += kRowsAtOnce)
        block(at, r, std::min(kRowsAtOnce, rows - r), first, count);
    }
    for (int64_t r = 0; r < rows; ++r) finish(at.row(piece.first + r), r);
  }

  static int64_t size(const VarlenAttention<T>& a) {
    return Parts<T>::size(kRowsAtOnce, a.depth) + Parts<T>::size(kRowsAtOnce, kKeysAtOnce) +
           Parts<T>::size(kMostRows, a.width) + 2 * kMostRows + Right<T>::size(a.depth, kKeysAtOnce) +
           Right<T>::size(kKeysAtOnce, a.width) + Parts<T>::size(lines_of_keys(a), a.depth) +
           Parts<T>::size(lines_of_values(a), a.width);
  }
  // Lines for keys and values that are stored in fewer bits: of a block of keys of one head, or, in the same
  // memory, of as many keys as few rows read at once, of all heads that go together.
  static int64_t heads_together(const VarlenAttention<T>& a) { return std::min(a.groups, kRowsAtOnce); }
  static int64_t lines_of_keys(const VarlenAttention<T>& a) {
    return a.k ? 0 : std::max(kKeysAtOnce, heads_together(a));
  }
  static int64_t lines_of_values(const VarlenAttention<T>& a) {
    return a.v ? 0 : std::max(kKeysAtOnce, kValuesAtOnce * heads_together(a));
  }

  /// Attends with rows [r, r + rows) of the piece to `count` keys from `first` on.
  LAZY_LEVEL void block(const Where<T>& at, int64_t r, int64_t rows, int64_t first, int64_t count) {
    const int64_t row = at.piece.first + r;
    const auto [low, high] = at.seen_by_any(row, rows, first, count);
    if (low >= high) return;
    at.load_queries(row, rows, query_);
    constexpr int64_t kColumns = Right<T>::kColumns;
    const int64_t first_panel = low / kColumns, last_panel = (high + kColumns - 1) / kColumns;
    add_panels<T, Left::rows, Sums::set>(scores_.data, scores_.step, query_.data, query_.step, rows, keys_,
                                         first_panel, last_panel, 0, a_.depth);
    const int64_t from = low / kPartialSums * kPartialSums, to = round_up(high, kPartialSums);
    for (int64_t i = 0; i < rows; ++i) weigh(at, row + i, r + i, scores_.row(i), first, from, to, count);
    T* const sums = sums_.row(r);
    if (finite_)
      return add_panels(sums, sums_.step, scores_.data + from, scores_.step, rows, values_, 0,
                        values_.count(), from, high - from);
    // Values that a row doesn't see must not turn its sums into NaN.
    for (int64_t i = 0; i < rows; ++i) {
      const auto [own, end] = clipped(at.seen(row + i), first, count);
      if (own < end)
        add_panels(sums + i * sums_.step, sums_.step, scores_.row(i) + own, scores_.step, 1, values_, 0,
                   values_.count(), own, end - own);
    }
  }
  /// Attends with all rows of a few heads of keys, without packing: keys and values are read once, as they
  /// lie.
  LAZY_LEVEL void few_rows(const Piece& piece, int64_t first, int64_t count) {
    const int64_t rows = piece.last - piece.first;
    const Where<T> at{a_, piece};
    for (int64_t j = 0; j < count; ++j) {
      const T* key = a_.k + at.key(first + j) * a_.depth;
      if (!a_.k) a_.stored_k.read(at.key(first + j), piece.groups, read_keys_.data), key = read_keys_.data;
      for (int64_t g = 0; g < piece.groups; ++g)
        for (int64_t i = g * rows; i < (g + 1) * rows; ++i)
          scores_.row(i)[j] = dot(query_.row(i), key + g * a_.depth, a_.depth);
    }
    std::pair<int64_t, int64_t> own[kRowsAtOnce];
    for (int64_t g = 0; g < piece.groups; ++g)
      for (int64_t i = 0; i < rows; ++i) {
        const Piece one{piece.sequence, piece.group + g, piece.first, piece.last};
        weigh(Where<T>{a_, one}, piece.first + i, g * rows + i, scores_.row(g * rows + i), first, 0,
              round_up(count, kPartialSums), count);
        own[g * rows + i] = clipped(at.seen(piece.first + i), first, count);
      }
    for (int64_t j = 0; j < count; j += kValuesAtOnce) {
      const T* values[kValuesAtOnce];
      for (int64_t k = j; k < std::min(count, j + kValuesAtOnce); ++k) {
        if (a_.v) {
          values[k - j] = a_.v + at.key(first + k) * a_.width;
          continue;
        }
        T* const to = read_values_.data + (k - j) * heads_together(a_) * read_values_.step;
        a_.stored_v.read(at.key(first + k), piece.groups, to);
        values[k - j] = to;
      }
      for (int64_t i = 0; i < piece.groups * rows; ++i) {
        const int64_t begin = std::max(own[i].first, j), end = std::min(own[i].second, j + kValuesAtOnce);
        add_values(sums_.row(i), scores_.row(i) + j, values, i / rows * a_.width, begin - j, end - j);
      }
    }
  }
  static constexpr int64_t kValuesAtOnce = 16;  // of all heads: they fit the first-level cache
  /// Adds weighed values [begin, end) to a row's sums.
  LAZY_LEVEL_INLINE void add_values(T* sums, const T* weights, const T* const* values, int64_t offset,
                                    int64_t begin, int64_t end) const {
    using L = Lanes<T>;
    constexpr int64_t kAtOnce = 4;
    int64_t e = 0;
    for (; e + kAtOnce * L::kCount <= a_.width; e += kAtOnce * L::kCount) {
      Vector<T> all[kAtOnce];
      for (int64_t v = 0; v < kAtOnce; ++v) all[v] = L::load(sums + e + v * L::kCount);
      for (int64_t j = begin; j < end; ++j)
        for (int64_t v = 0; v < kAtOnce; ++v)
          all[v] = L::fma(L::all(weights[j]), L::load(values[j] + offset + e + v * L::kCount), all[v]);
      for (int64_t v = 0; v < kAtOnce; ++v) L::store(sums + e + v * L::kCount, all[v]);
    }
    for (; e < a_.width; e += L::kCount) {
      auto all = L::load(sums + e);
      for (int64_t j = begin; j < end; ++j)
        all = L::fma(L::all(weights[j]), load_some(values[j] + offset + e, a_.width - e), all);
      L::store(sums + e, all);
    }
  }
  static std::pair<int64_t, int64_t> clipped(std::pair<int64_t, int64_t> seen, int64_t first, int64_t count) {
    return {std::max<int64_t>(seen.first - first, 0), std::min(seen.second - first, count)};
  }

  /// Makes weights of a row's scores in columns [from, to), and corrects its sums for a larger score.
  LAZY_LEVEL void weigh(const Where<T>& at, int64_t row, int64_t r, T* x, int64_t first, int64_t from,
                        int64_t to, int64_t count) {
    using L = Lanes<T>;
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    auto [own, end] = clipped(at.seen(row), first, count);
    own = std::clamp(own, from, to), end = std::clamp(end, own, to);
    std::fill(x + from, x + own, kNever);
    std::fill(x + end, x + to, kNever);
    if (const T slope = at.slope(row); slope != 0)
      for (int64_t j = own; j < end; ++j) x[j] -= slope * static_cast<T>(std::abs(at.place(row) - first - j));
    auto largest = L::all(top_[r]);
    for (int64_t j = from; j < to; j += L::kCount) largest = L::larger(L::load(x + j), largest);
    T top = L::largest(largest);
    if (top == kNever) {
      // All are -inf or NaN; NaN stays.
      if (std::none_of(x + own, x + end, [](T s) { return s != s; }))
        return std::fill(x + from, x + to, T{0});
      top = 0;
    }
    PartialSums<T> sums;
    const auto least = L::all(top);
    for (int64_t j = from; j < to; j += kPartialSums)
      for (int64_t v = 0; v < sums.kVectors; ++v) {
        const auto w = weight(L::load(x + j + v * L::kCount) - least);
        L::store(x + j + v * L::kCount, w);
        sums.all[v] = sums.all[v] + w;
      }
    const T sum = sums.total();
    if (top_[r] == kNever) {
      top_[r] = top;  // all sums are 0
    } else if (top != top_[r]) {
      const T before = weight_of<T>(top_[r] - top);
      total_[r] *= before;
      T* const own_sums = sums_.row(r);
      for (int64_t i = 0; i < a_.width; ++i) own_sums[i] *= before;
      top_[r] = top;
    }
    total_[r] += sum;
  }

  /// Leaves what it has for the rows.
  LAZY_LEVEL void leave(int64_t part, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) {
      T* const to = work_.parts + (part + r) * (a_.width + 2);
      to[0] = top_[r], to[1] = total_[r];
      std::copy_n(sums_.row(r), a_.width, to + 2);
    }
  }

  LAZY_LEVEL void finish(int64_t row, int64_t r) const {
    const T total = total_[r];
    if (work_.y) {
      const T by = total == 0 ? T{0} : 1 / total;
      T* const to = work_.y + row * a_.width;
      const T* const from = sums_.row(r);
      for (int64_t i = 0; i < a_.width; ++i) to[i] = from[i] * by;
    }
    if (work_.lse)
      work_.lse[row] = total == 0 ? std::numeric_limits<T>::infinity() : top_[r] + std::log(total);
  }

  const ForwardWork<T>& work_;
  const VarlenAttention<T>& a_;
  Parts<T> memory_;
  const Lines<T> query_, scores_, sums_;
  T *const top_, *const total_;
  const Lines<T> read_keys_, read_values_;  // of keys and values that are stored in fewer bits
  Right<T> keys_, values_;
  bool finite_ = true;
};

/// Goes back for all rows of a sequence and of a head of keys. Blocks are of keys by rows: scores lie
/// transposed.
template <class T>
class Backward {
 public:
  explicit Backward(const BackwardWork<T>& work)
      : work_(work),
        a_(work.a),
        memory_(size(a_)),
        query_(memory_.lines(kRowsAtOnce, a_.depth)),
        weights_(memory_.lines(kKeysAtOnce, kRowsAtOnce)),
        gradients_(memory_.lines(kKeysAtOnce, kRowsAtOnce)),
        key_(memory_.lines(kKeysAtOnce, a_.depth)),
        value_(memory_.lines(kKeysAtOnce, a_.width)),
        dk_(memory_.lines(kKeysAtOnce, a_.depth)),
        dv_(memory_.lines(kKeysAtOnce, a_.width)),
        dq_(memory_.lines(kRowsAtOnce, a_.depth)),
        lse_(memory_.take(round_up(kRowsAtOnce, 64))),
        along_(memory_.take(round_up(kRowsAtOnce, 64))) {
    queries_.data = memory_.take(Right<T>::size(a_.depth, kRowsAtOnce));
    results_.data = memory_.take(Right<T>::size(a_.width, kRowsAtOnce));
    query_rows_.data = memory_.take(Right<T>::size(kRowsAtOnce, a_.depth));
    result_rows_.data = memory_.take(Right<T>::size(kRowsAtOnce, a_.width));
    keys_.data = memory_.take(Right<T>::size(kKeysAtOnce, a_.depth));
  }

  LAZY_LEVEL void run(const Piece& piece) {
    const Where<T> at{a_, piece};
    const int64_t rows = piece.last - piece.first;
    for (int64_t first = 0; first < at.keys; first += kKeysAtOnce) {
      const int64_t count = std::min(kKeysAtOnce, at.keys - first);
      for (int64_t j = 0; j < count; ++j) {
        std::copy_n(a_.k + at.key(first + j) * a_.depth, a_.depth, key_.row(j));
        std::copy_n(a_.v + at.key(first + j) * a_.width, a_.width, value_.row(j));
      }
      std::fill_n(dk_.data, count * dk_.step, T{0});
      std::fill_n(dv_.data, count * dv_.step, T{0});
      pack_rows(keys_, count, a_.depth, [&](int64_t j) { return key_.row(j); });
      for (int64_t r = 0; r < rows; r += kRowsAtOnce)
        block(at, r, std::min(kRowsAtOnce, rows - r), first, count);
      for (int64_t j = 0; j < count; ++j) {
        const int64_t key = at.key(first + j);
        if (work_.dk) std::copy_n(dk_.row(j), a_.depth, work_.dk + key * a_.depth);
        if (work_.dv) std::copy_n(dv_.row(j), a_.width, work_.dv + key * a_.width);
      }
    }
  }

 private:
  static int64_t size(const VarlenAttention<T>& a) {
    const auto lines = [](int64_t rows, int64_t n) { return Parts<T>::size(rows, n); };
    return 2 * lines(kRowsAtOnce, a.depth) + 2 * lines(kKeysAtOnce, kRowsAtOnce) +
           2 * lines(kKeysAtOnce, a.depth) + 2 * lines(kKeysAtOnce, a.width) + 2 * round_up(kRowsAtOnce, 64) +
           Right<T>::size(a.depth, kRowsAtOnce) + Right<T>::size(a.width, kRowsAtOnce) +
           Right<T>::size(kRowsAtOnce, a.depth) + Right<T>::size(kRowsAtOnce, a.width) +
           Right<T>::size(kKeysAtOnce, a.depth);
  }

  LAZY_LEVEL void block(const Where<T>& at, int64_t r, int64_t rows, int64_t first, int64_t count) {
    const int64_t row = at.piece.first + r;
    const auto [low, high] = at.seen_by_any(row, rows, first, count);
    if (low >= high) return;
    at.load_queries(row, rows, query_);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t from = at.row(row + i);
      const T *const g = work_.g + from * a_.width, *const y = work_.y + from * a_.width;
      along_[i] = dot(g, y, a_.width);
      lse_[i] = work_.lse[from];
    }
    for (int64_t i = rows; i < round_up(rows, Lanes<T>::kCount); ++i)
      along_[i] = 0, lse_[i] = std::numeric_limits<T>::infinity();
    const auto query = [&](int64_t i) { return query_.row(i); };
    const auto result = [&](int64_t i) { return work_.g + at.row(row + i) * a_.width; };
    pack_columns(queries_, a_.depth, rows, query);
    pack_columns(results_, a_.width, rows, result);
    pack_rows(query_rows_, rows, a_.depth, query);
    pack_rows(result_rows_, rows, a_.width, result);
    const int64_t keys = high - low;
    T *const w = weights_.row(low), *const d = gradients_.row(low);
    add_panels<T, Left::rows, Sums::set>(w, weights_.step, key_.row(low), key_.step, keys, queries_, 0,
                                         queries_.count(), 0, a_.depth);
    add_panels<T, Left::rows, Sums::set>(d, gradients_.step, value_.row(low), value_.step, keys, results_, 0,
                                         results_.count(), 0, a_.width);
    weigh(at, row, rows, first, low, high);
    add_panels(dv_.row(low), dv_.step, w, weights_.step, keys, result_rows_, 0, result_rows_.count(), 0,
               rows);
    add_panels(dk_.row(low), dk_.step, d, gradients_.step, keys, query_rows_, 0, query_rows_.count(), 0,
               rows);
    if (!work_.dq) return;
    add_panels<T, Left::columns, Sums::set>(dq_.data, dq_.step, d, gradients_.step, rows, keys_, 0,
                                            keys_.count(), low, keys);
    for (int64_t i = 0; i < rows; ++i) {
      T* const to = work_.dq + at.row(row + i) * a_.depth;
      for (int64_t e = 0; e < a_.depth; ++e) to[e] += dq_.row(i)[e] * a_.factor;
    }
  }

  /// Makes weights of the scores, and their gradients of the weights' ones.
  LAZY_LEVEL void weigh(const Where<T>& at, int64_t row, int64_t rows, int64_t first, int64_t low,
                        int64_t high) const {
    using L = Lanes<T>;
    for (int64_t j = low; j < high; ++j) {
      T *const w = weights_.row(j), *const d = gradients_.row(j);
      if (a_.slopes)
        for (int64_t i = 0; i < rows; ++i)
          w[i] -= at.slope(row + i) * static_cast<T>(std::abs(at.place(row + i) - first - j));
      for (int64_t i = 0; i < rows; i += L::kCount) {
        const auto p = weight(L::load(w + i) - L::load(lse_ + i));
        L::store(w + i, p);
        L::store(d + i, p * (L::load(d + i) - L::load(along_ + i)));
      }
    }
    if (!at.hides()) return;
    for (int64_t i = 0; i < rows; ++i) {
      const auto [own, end] = at.seen(row + i);
      for (int64_t j = low; j < high; ++j)
        if (first + j < own || first + j >= end) weights_.row(j)[i] = gradients_.row(j)[i] = 0;
    }
  }

  const BackwardWork<T>& work_;
  const VarlenAttention<T>& a_;
  Parts<T> memory_;
  const Lines<T> query_, weights_, gradients_, key_, value_, dk_, dv_, dq_;
  T *const lse_, *const along_;
  Right<T> queries_, results_, query_rows_, result_rows_, keys_;
};

template <class T>
LAZY_LEVEL void forward(const ForwardWork<T>& work, const Piece* begin, const Piece* end) {
  Forward<T> f(work);
  for (; begin != end; ++begin) f.run(*begin);
}
template <class T>
LAZY_LEVEL void join(const ForwardWork<T>& work, const Piece* begin, const Piece* end) {
  Forward<T>(work).join(begin, end);
}
template <class T>
LAZY_LEVEL void backward(const BackwardWork<T>& work, const Piece* begin, const Piece* end) {
  Backward<T> b(work);
  for (; begin != end; ++begin) b.run(*begin);
}

}  // namespace
}  // namespace lazy::cpu_backend::varlen
