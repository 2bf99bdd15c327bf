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
  std::vector<double> before;  // multiplications up to a piece; one more than there are pieces
};

/// Cuts all sequences into pieces of at most so many rows.
template <class T>
Cut cut(const VarlenAttention<T>& a, int64_t most) {
  Cut c;
  c.before.push_back(0);
  for (int64_t n = 0; n < a.sequences; ++n)
    for (int64_t g = 0; g < a.groups; ++g)
      for (int64_t first = 0, rows = a.queries(n) * a.shared(); first < rows; first += most) {
        const int64_t last = std::min(rows, first + most);
        c.pieces.push_back({n, g, first, last});
        const double work = static_cast<double>(last - first) * static_cast<double>(a.keys(n) + 1);
        c.before.push_back(c.before.back() + work * static_cast<double>(a.depth + a.width));
      }
  return c;
}

/// Calls range(first, last) for all pieces, of about equal work.
template <class Range>
void share(const Cut& c, Range&& range) {
  const auto count = static_cast<int64_t>(c.pieces.size());
  if (!count) return;
  const Piece* const all = c.pieces.data();
  const int64_t threads = worth_threads(2 * c.before.back() / kFlopsOfNanosecond) ? thread_count() : 1;
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
    single ? run_forward(r, level_.forward) : run_forward(r, level_.forward_double);
  }
  std::string schedule() const override { return level_.name; }

 private:
  template <class T>
  void run_forward(const CallRun& r, varlen::Pieces<varlen::ForwardWork<T>> pieces) const {
    const VarlenAttention<T> a(r);
    const varlen::ForwardWork<T> work{a, reinterpret_cast<T*>(r.out[0]), reinterpret_cast<T*>(r.out[1])};
    Cut c = cut(a, varlen::kMostRows);
    // Few long sequences are cut further. Which rows a piece has changes no bit.
    if (static_cast<int64_t>(c.pieces.size()) < kPiecesOfThread * thread_count() / 2)
      c = cut(a, 2 * varlen::kRowsAtOnce);
    share(c, [&](const Piece* begin, const Piece* end) { pieces(work, begin, end); });
  }
  template <class T>
  void run_backward(const CallRun& r, varlen::Pieces<varlen::BackwardWork<T>> pieces) const {
    const VarlenAttention<T> a(r);
    const int own = a.how.operands();
    const auto in = [&](int i) { return reinterpret_cast<const T*>(r.in[own + i]); };
    const auto out = [&](int i) { return reinterpret_cast<T*>(r.out[i]); };
    // What no query sees has no gradient.
    for (int i = 0; i < 3; ++i)
      if (out(i)) std::fill_n(out(i), numel(r.outputs[static_cast<size_t>(i)].shape), T{0});
    const varlen::BackwardWork<T> work{a, in(0), in(1), in(2), out(0), out(1), out(2)};
    const Cut c = cut(a, std::numeric_limits<int64_t>::max() / 2);
    share(c, [&](const Piece* begin, const Piece* end) { pieces(work, begin, end); });
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
