// Runs attention over sequences of any lengths on the CPU: shares rows of queries and heads among threads.
#include "backends/cpu/calls/varlen_attention.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;
using varlen::Piece;
using varlen::VarlenAttention;

constexpr int64_t kPiecesOfThread = 8;  // so that threads end together
constexpr double kFlopsOfNanosecond = 50;

/// Holds pieces, and what each takes.
struct Cut {
  std::vector<Piece> pieces;
  std::vector<double> before{0};  // multiplications up to a piece; one more than there are pieces
  int64_t parts = 0;              // rows of all splits

  void add(const Piece& p, int64_t keys) {
    pieces.push_back(p);
    before.push_back(before.back() +
                     static_cast<double>((p.last - p.first) * p.groups) * static_cast<double>(keys + 1));
  }
};

/// Cuts a sequence of few rows into splits of its keys, of as many heads as go together.
template <class T>
void cut_few(const VarlenAttention<T>& a, int64_t n, Cut& c) {
  const int64_t rows = a.queries(n) * a.shared(), keys = a.keys(n);
  if (!rows) return;
  const int64_t together = std::max<int64_t>(1, varlen::kRowsAtOnce / rows);
  for (int64_t g = 0; g < a.groups; g += together) {
    Piece p{n, g, 0, rows, std::min(together, a.groups - g)};
    if (keys <= varlen::kKeysOfSplit) {
      c.add(p, keys);
      continue;
    }
    for (p.first_key = 0; p.first_key < keys; p.first_key = p.end_key, c.parts += rows * p.groups) {
      p.end_key = std::min(keys, p.first_key + varlen::kKeysOfSplit);
      p.part = c.parts;
      c.add(p, p.end_key - p.first_key);
    }
  }
}

/// Cuts all sequences into pieces of at most so many rows.
template <class T>
Cut cut(const VarlenAttention<T>& a, int64_t most, bool few) {
  Cut c;
  for (int64_t n = 0; n < a.sequences; ++n) {
    if (few && varlen::few_rows_of(a, n)) {
      cut_few(a, n, c);
      continue;
    }
    const int64_t rows = a.queries(n) * a.shared();
    for (int64_t g = 0; g < a.groups; ++g)
      for (int64_t first = 0; first < rows; first += most)
        c.add({n, g, first, std::min(rows, first + most)}, a.keys(n));
  }
  return c;
}

/// Calls range(first, last) for all pieces, of about equal work.
template <class Range>
void share(const Cut& c, int64_t width, Range&& range) {
  const auto count = static_cast<int64_t>(c.pieces.size());
  if (!count) return;
  const Piece* const all = c.pieces.data();
  const int64_t threads = worth_threads(2 * c.before.back() * static_cast<double>(width) / kFlopsOfNanosecond)
                              ? thread_count()
                              : 1;
  if (threads == 1 || count == 1) return range(all, all + count);
  const int64_t ranges = std::min(count, threads * kPiecesOfThread);
  const auto begin = [&](int64_t i) {
    const double at = c.before.back() * static_cast<double>(i) / static_cast<double>(ranges);
    if (i == ranges) return count;
    return static_cast<int64_t>(std::lower_bound(c.before.begin(), c.before.end() - 1, at) -
                                c.before.begin());
  };
  for_each(ranges, [&](int64_t i) {
    if (begin(i) < begin(i + 1)) range(all + begin(i), all + begin(i + 1));
  });
}

class Varlen final : public jit::CallKernel {
 public:
  Varlen(const varlen::Level& level, bool backward) : level_(level), backward_(backward) {}
  void run(const CallRun& r) const override {
    jit::calls::check_sequences(r);
    const bool single = r.operands[0].dtype == float32;
    if (backward_) return single ? run_backward(r, level_.backward) : run_backward(r, level_.backward_double);
    single ? run_forward(r, level_.forward, level_.join)
           : run_forward(r, level_.forward_double, level_.join_double);
  }
  std::string schedule() const override { return level_.name; }

 private:
  template <class T>
  void run_forward(const CallRun& r, varlen::Pieces<varlen::ForwardWork<T>> pieces,
                   varlen::Pieces<varlen::ForwardWork<T>> join) const {
    const VarlenAttention<T> a(r);
    Cut c = cut(a, varlen::kMostRows, true);
    // Few long sequences are cut further. Which rows a piece has changes no bit.
    if (static_cast<int64_t>(c.pieces.size()) < kPiecesOfThread * thread_count() / 2)
      c = cut(a, 2 * varlen::kRowsAtOnce, true);
    const Scratch parts(c.parts * (a.width + 2) * static_cast<int64_t>(sizeof(T)));
    const varlen::ForwardWork<T> work{a, reinterpret_cast<T*>(r.out[0]), reinterpret_cast<T*>(r.out[1]),
                                      reinterpret_cast<T*>(parts.data())};
    share(c, a.depth + a.width, [&](const Piece* begin, const Piece* end) { pieces(work, begin, end); });
    const Piece *at = c.pieces.data(), *const end = at + c.pieces.size();
    while (at != end) {
      const Piece* const first = at++;
      if (first->part < 0) continue;
      while (at != end && at->part >= 0 && at->first_key > 0) ++at;
      join(work, first, at);
    }
  }
  template <class T>
  void run_backward(const CallRun& r, varlen::Pieces<varlen::BackwardWork<T>> pieces) const {
    const VarlenAttention<T> a(r);
    const int own = a.how.operands();
    const auto in = [&](int i) { return reinterpret_cast<const T*>(r.in[own + i]); };
    const auto out = [&](int i) { return reinterpret_cast<T*>(r.out[i]); };
    // Gradients of queries are added up, and keys that no query sees have none.
    for (int i = 0; i < 3; ++i)
      if (out(i)) std::fill_n(out(i), numel(r.outputs[static_cast<size_t>(i)].shape), T{0});
    const varlen::BackwardWork<T> work{a, in(0), in(1), in(2), out(0), out(1), out(2)};
    const Cut c = cut(a, std::numeric_limits<int64_t>::max() / 2, false);
    share(c, a.depth + a.width, [&](const Piece* begin, const Piece* end) { pieces(work, begin, end); });
  }

  const varlen::Level& level_;
  const bool backward_;
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_varlen_attention(Isa isa, bool backward) {
  if (isa >= Isa::avx512) return std::make_unique<Varlen>(varlen::kAvx512, backward);
  if (isa == Isa::avx2) return std::make_unique<Varlen>(varlen::kAvx2, backward);
  return nullptr;
}

}  // namespace lazy::cpu_backend
