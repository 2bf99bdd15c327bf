#include "jit/flush/reviews.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "jit/backend/registry.hpp"
#include "jit/core/bytes.hpp"
#include "jit/flush/late_values.hpp"
#include "jit/flush/repeats.hpp"
#include "jit/flush/review_hint.hpp"
#include "jit/graph/attributes.hpp"
#include "jit/key/captured_graph.hpp"
#include "jit/observe/profile.hpp"
#include "jit/run/arguments.hpp"
#include "support/config.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

constexpr uint64_t kHabit = 256;          // runs from which on asking for a value is a habit
constexpr uint64_t kLoop = 16;            // runs from which on a loop is taken for one
constexpr uint64_t kFewOps = 64;          // of a flush that is mostly overhead
constexpr double kMuchOfTheTime = 0.25;   // of the wall time in these flushes
constexpr int64_t kLargeBytes = 1 << 20;  // of a value whose way through memory is worth a word
constexpr int64_t kRoundTripBytes = 64 << 10;
constexpr double kLargeProduct = 1 << 20;  // multiply-adds of a product that is written as ops

using Clock = std::chrono::steady_clock;

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

int64_t size_in_bytes(const Node& n) { return static_cast<int64_t>(bytes_of(n.shape, n.dtype)); }
std::string size_text(int64_t bytes) { return text::human_size(static_cast<uint64_t>(bytes)); }

/// Says how much of the wall time since the review before went into the program's flushes, taking this one
/// and the one reviewed then for typical; below 0: not known.
double share_of_time(const Reviewed& r) {
  ReviewTimes& times = r.program.reviews;
  const uint64_t now = now_ns();
  const profile::Ticks ticks = profile::now();
  const uint64_t before = times.at_ns.exchange(now), before_ticks = times.at_ticks.exchange(ticks);
  const uint64_t took_before = times.took.exchange(r.took);
  if (!before || now <= before || ticks <= before_ticks || !took_before) return -1;
  const double typical = static_cast<double>(std::min<uint64_t>(took_before, r.took));
  return std::min(1.0, typical * static_cast<double>(r.runs / 2) / static_cast<double>(ticks - before_ticks));
}

/// Returns the bytes of inputs that one of the lines of this graph made before: what a loop carries on.
int64_t carried_bytes(const CapturedGraph& f) {
  int64_t bytes = 0;
  for (size_t v = 0; v < f.values.size(); ++v) {
    const Node& input = *f.values[v];
    if (f.pending[v] || !input.ready() || input.op == Op::input || is_source(input.op)) continue;
    for (size_t w = 0; w < f.values.size(); ++w)
      if (f.pending[w] && f.values[w]->site.line() == input.site.line() && f.values[w]->op == input.op &&
          f.values[w]->shape == input.shape) {
        bytes += size_in_bytes(input);
        break;
      }
  }
  return bytes;
}

/// Returns an input that came from the host with as many elements as `asked`, and that nobody has any more:
/// it is made anew each time. Null if there is none.
const Node* back_from_host(const CapturedGraph& f, const Node& asked) {
  for (size_t v = 0; v < f.values.size(); ++v) {
    const Node& input = *f.values[v];
    if (!f.pending[v] && input.op == Op::input && input.ready() && input.handles() == 0 &&
        numel(input.shape) == numel(asked.shape) && input.site.line() != 0)
      return &input;
  }
  return nullptr;
}

void tell_of_round_trips(const Reviewed& r) {
  if (r.runs < kLoop || (r.cause != Cause::to_vector && r.cause != Cause::data) ||
      size_in_bytes(r.wanted) < kRoundTripBytes)
    return;
  const Node* const back = back_from_host(r.captured, r.wanted);
  if (!back) return;
  give_hint("round trip", r.site,
            std::string(name_of(r.cause)) + "() at " + lazy::to_string(r.site) + " takes " +
                size_text(size_in_bytes(r.wanted)) + " to the host for the " + std::to_string(r.runs) +
                "th time, and as many elements come back at " + line_of(*back) +
                ": what is computed in between would be fused and run on all threads if it were written "
                "with the library's functions");
}

void tell_of_asking(const Reviewed& r, double share) {
  if (r.runs < kHabit || r.program.nodes > kFewOps || share < kMuchOfTheTime) return;
  const std::string percent = std::to_string(std::lround(share * 100)) + "% of the time",
                    often = std::to_string(r.runs) + " times, of " + std::to_string(r.program.nodes) +
                            " ops each";
  if (r.cause == Cause::other_thread)
    return give_hint("other thread", r.site,
                     "what one thread recorded at " + line_of(r.wanted) + " was needed by another at " +
                         lazy::to_string(r.site) + " " + often + "; these flushes take " + percent +
                         ": let one thread do a chain of steps, or eval() before values are handed over");
  if (!is_asking(r.cause)) return;
  // What a loop carries on is computed with what comes next, if nobody asks in between. Where nothing is
  // carried, as in a loop over batches, asking later only makes larger graphs.
  const int64_t carried = carried_bytes(r.captured);
  if (carried == 0 && config::get().hints != config::Hints::all) return;
  give_hint("asking", r.site,
            std::string(name_of(r.cause)) + "() at " + lazy::to_string(r.site) + " asked for a value " +
                often + "; these flushes take " + percent +
                (carried >= kLargeBytes ? ", and each sends " + size_text(carried) +
                                              " of values through memory that would else be fused with "
                                              "the next steps"
                                        : std::string()) +
                ": keep the value as a tensor, and ask for it after the loop or every so many iterations");
}

void tell_of_eager(const Reviewed& r) {
  if (r.cause != Cause::eager || r.runs < kHabit || !config::get().eager.get()) return;
  const Site set = config::set_at("LAZY_EAGER");
  // Who sets it in the environment knows.
  if (set.line() == 0 && config::get().hints != config::Hints::all) return;
  give_hint("eager", set.line() ? set : r.site,
            std::string("LAZY_EAGER is on, set ") +
                (set.line() ? "at " + lazy::to_string(set) : std::string("in the environment")) +
                ": every op runs by itself, without fusing");
}

/// Finds one thread where there is work for more.
void tell_of_threads(const Reviewed& r, double share) {
  if (r.runs < kLoop || share < kMuchOfTheTime || config::get().num_threads.get() != 1) return;
  const Workers workers = backend_of(r.wanted.device, r.site).workers();
  if (workers.threads != 1 || workers.processors < 2) return;
  const Site set = config::set_at("LAZY_NUM_THREADS");
  if (set.line() == 0 && config::get().hints != config::Hints::all) return;
  int64_t largest = 0;
  for (size_t v = 0; v < r.captured.values.size(); ++v)
    if (r.captured.pending[v]) largest = std::max(largest, size_in_bytes(*r.captured.values[v]));
  if (largest < kLargeBytes) return;
  give_hint("one thread", set.line() ? set : r.site,
            std::string("LAZY_NUM_THREADS is 1, set ") +
                (set.line() ? "at " + lazy::to_string(set) : std::string("in the environment")) +
                ", where the process may use " + std::to_string(workers.processors) +
                " processors; flushes at " + lazy::to_string(r.site) + ", of values of " +
                size_text(largest) + ", take " + std::to_string(std::lround(share * 100)) + "% of the time");
}

/// Returns the node behind casts that are pending: a value's operands are no longer its own.
const Node& behind_casts(const Node& n) {
  const Node* at = &n;
  while (at->op == Op::cast && !at->ready()) at = at->operand[0];
  return *at;
}

/// Returns a bit for each of the axes of `whole` along which `part`, aligned at the right, is broadcast.
uint32_t broadcast_axes(const Node& part, const Shape& whole) {
  const Node& from = part.op == Op::broadcast && !part.ready() ? *part.operand[0] : part;
  const int more = whole.size() - from.shape.size();
  uint32_t axes = 0;
  for (int i = 0; i < whole.size(); ++i)
    if (whole[i] > 1 && (i < more || from.shape[i - more] == 1)) axes |= 1u << i;
  return axes;
}

/// Finds products that are written as broadcast, multiply and sum.
void tell_of_products(const Reviewed& r) {
  for (size_t v = 0; v < r.captured.values.size(); ++v) {
    if (!r.captured.pending[v]) continue;
    const Node& sum = *r.captured.values[v];
    if (sum.op != Op::sum) continue;
    const Node& product = behind_casts(*sum.operand[0]);
    if (product.op != Op::multiply || product.ready()) continue;
    const Node &a = behind_casts(*product.operand[0]), &b = behind_casts(*product.operand[1]);
    const uint32_t of_a = broadcast_axes(a, product.shape), of_b = broadcast_axes(b, product.shape);
    const auto size = static_cast<double>(numel(product.shape));
    if (!of_a || !of_b || (of_a & of_b) || ((of_a | of_b) >> axis_of(sum) & 1) ||
        size * static_cast<double>(r.runs) < kLargeProduct * kLoop || size < kLargeProduct)
      continue;
    give_hint("product", sum.site,
              "the sum at " + line_of(sum) + " over axis " + std::to_string(axis_of(sum)) + " of " +
                  to_string(product.shape) + " adds up what is multiplied at " + line_of(product) +
                  " of values that are broadcast along different axes: that is a product of matrices, which "
                  "matmul or "
                  "einsum computes many times as fast");
  }
}

/// Returns the axis of a launch along which the operand's elements lie side by side, if that is another than
/// the last, which neighbours in a vector go along; -1: none.
int unit_axis(const Step& s, const uint64_t* words, size_t operand) {
  const loop::ArgLayout& at = s.args;
  const auto size = static_cast<int64_t>(size_of(s.operands[operand].dtype));
  const auto stride = [&](int axis) {
    return static_cast<int64_t>(words[at.stride(static_cast<int>(operand), axis)]);
  };
  if (at.rank < 2 || stride(at.rank - 1) == 0 || stride(at.rank - 1) == size) return -1;
  for (int axis = 0; axis + 1 < at.rank; ++axis)
    if (stride(axis) == size && words[at.extent(axis)] >= 64 && words[at.extent(at.rank - 1)] >= 64)
      return axis;
  return -1;
}

/// Finds an input that each run reads across its memory, while all else lies as the kernel goes.
void tell_of_strides(const Reviewed& r) {
  if (r.runs < kLoop) return;
  for (size_t i = 0; i < r.program.steps.size(); ++i) {
    const Step& s = r.program.steps[i];
    if (s.call.spec || !s.kernel || s.folded_into != kNone || s.args.rank < 2) continue;
    const uint64_t* const words = r.arguments.words(i);
    for (size_t o = 0; o < s.operands.size(); ++o) {
      const Binding& b = s.operands[o];
      if (b.output || b.slot >= 0 || b.path != 0 || unit_axis(s, words, o) < 0) continue;
      const Node& input = *r.captured.values[b.node];
      if (size_in_bytes(input) < 4 * kLargeBytes) continue;
      const bool others_lie_along =
          std::none_of(s.operands.begin(), s.operands.end(), [&](const Binding& other) {
            const auto at = static_cast<size_t>(&other - s.operands.data());
            return at != o && unit_axis(s, words, at) >= 0;
          });
      const auto data = reinterpret_cast<uint64_t>(input.data());
      if (!others_lie_along || r.program.reviews.strided_input.exchange(data) != data) continue;
      give_hint(
          "strides", input.site,
          std::string(event::name_of(r.program, s)) + " reads " + to_string(input.shape) + ", made at " +
              line_of(input) + " (" + size_text(size_in_bytes(input)) +
              "), across its memory at each run: contiguous() and eval() there, once, lets it be read in "
              "order, which pays from the second run on");
    }
  }
}

/// Finds large values in float64 that one small operand makes so.
void tell_of_widening(const Reviewed& r) {
  if (r.runs < kLoop) return;
  for (size_t v = 0; v < r.captured.values.size(); ++v) {
    const Node& n = *r.captured.values[v];
    if (!r.captured.pending[v] || n.dtype != DType::float64 || n.arity != 2 ||
        size_in_bytes(n) < 4 * kLargeBytes)
      continue;
    for (int i = 0; i < 2; ++i) {
      const Node &narrow = *n.operand[i], &wide = *n.operand[1 - i];
      // A cast that a promotion made has the site of the op.
      const bool widened = narrow.op == Op::cast && !narrow.ready() &&
                           narrow.operand[0]->dtype == DType::float32 &&
                           std::memcmp(&narrow.site, &n.site, sizeof(Site)) == 0;
      if (!widened || !wide.ready() || wide.dtype != DType::float64 || numel(wide.shape) > 64) continue;
      give_hint("widening", n.site,
                std::string(name_of(n.op)) + " at " + line_of(n) + " computes " + to_string(n.shape) +
                    " in float64, for the operand made at " + line_of(wide) +
                    " is float64, while the large one is "
                    "float32: astype(float32) of it halves memory and time");
    }
  }
}

}  // namespace

void review(const Reviewed& r) noexcept {
  try {
    if (config::get().hints == config::Hints::off) return;
    const bool second = !is_power_of_two(r.runs);  // the run after one of the others
    const double share = second ? -1 : share_of_time(r);
    tell_of_two_flushes(r, share);
    tell_of_repeats(r, share);
    if (second) return;
    note_makers(r);
    tell_of_eager(r);
    tell_of_threads(r, share);
    tell_of_asking(r, share);
    tell_of_round_trips(r);
    tell_of_products(r);
    tell_of_strides(r);
    tell_of_widening(r);
  } catch (...) {}  // no memory for advice
}

}  // namespace lazy::jit
