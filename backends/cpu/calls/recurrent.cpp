// Runs recurrent layers on the CPU: packs their weights and shares the sequences of a batch among threads, so
// that none waits for another before the end.
#include "backends/cpu/calls/recurrent.hpp"

#include "backends/cpu/calls/calls.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace recurrent;
using jit::CallRun;

constexpr int64_t kRowsOfThread = 4;  // sequences that a thread takes at least
constexpr int64_t kRowsAtOnce = 64;   // sequences whose states fit the second-level cache beside the weights
constexpr int64_t kVectorsOfPanel = 3;
constexpr double kFlopsInNanosecond = 50;

class Recurrent final : public jit::CallKernel {
 public:
  Recurrent(const Level& level, bool backward) : level_(level), backward_(backward) {}
  void run(const CallRun& r) const override {
    if (r.operands[0].dtype == float32) run_as(r, backward_ ? level_.backward : level_.forward);
    else run_as(r, backward_ ? level_.backward_double : level_.forward_double);
  }
  std::string schedule() const override { return level_.name; }

 private:
  template <class T>
  void run_as(const CallRun& run, recurrent::Steps<T> steps) const {
    const Recurrence<T> r = jit::calls::recurrence_of<T>(run, backward_);
    const int64_t lanes = level_.bytes / static_cast<int64_t>(sizeof(T)), n = r.units, p = r.outputs,
                  wide = r.row();
    // Takes those of one gate, or of all: forward the weights' rows are columns.
    const Source<T> w = backward_ ? Source<T>{r.w, wide, 1, p, 0, p, 1}
                                  : Source<T>{r.w, p, r.gates(), n, n * p, 1, p},
                    w_r = backward_ ? Source<T>{r.w_r, p, 1, n, 0, n, 1} : Source<T>{r.w_r, n, 1, p, 0, 1, n};
    const int64_t size = packed_size(w, lanes), size_r = r.w_r ? packed_size(w_r, lanes) : 0;
    const Scratch memory((size + size_r) * static_cast<int64_t>(sizeof(T)));
    T* const data = reinterpret_cast<T*>(memory.data());
    Work<T> work{r, pack(w, lanes, kVectorsOfPanel, data), {}};
    if (r.w_r) work.w_r = pack(w_r, lanes, kVectorsOfPanel, data + size);
    share(r, [&](int64_t first, int64_t last) { steps(work, first, last); });
  }
  /// Calls range(first, last) for all sequences.
  template <class T, class Range>
  static void share(const Recurrence<T>& r, Range&& range) {
    const double flops =
        2.0 * static_cast<double>(r.steps * r.batch) * static_cast<double>(r.row() * r.outputs);
    const int64_t threads = worth_threads(flops / kFlopsInNanosecond) ? thread_count() : 1;
    const int64_t shared = std::min(threads, (r.batch + kRowsOfThread - 1) / kRowsOfThread);
    const int64_t pieces =
        std::max(shared, round_up((r.batch + kRowsAtOnce - 1) / kRowsAtOnce, shared ? shared : 1));
    const auto begin = [&](int64_t q) { return r.batch * q / pieces; };
    const auto piece = [&](int64_t q) { range(begin(q), begin(q + 1)); };
    if (shared > 1) return for_each(pieces, piece);
    for (int64_t q = 0; q < pieces; ++q) piece(q);
  }

  const Level& level_;
  const bool backward_;
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_recurrent(Isa isa, bool backward) {
  if (isa >= Isa::avx512) return std::make_unique<Recurrent>(kAvx512, backward);
  if (isa == Isa::avx2) return std::make_unique<Recurrent>(kAvx2, backward);
  return nullptr;
}

}  // namespace lazy::cpu_backend
