#include "jit/built_in/fft/fft.hpp"

#include <cmath>
#include <vector>

#include "jit/built_in/fft/run.hpp"
#include "jit/graph/record.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

void need(bool good, const char* what) {
  if (!good) throw ShapeError(std::string("fft: ") + what);
}

bool is_wide(const Meta& m) { return m.dtype == DType::float32 || m.dtype == DType::float64; }

std::vector<CallOutput> infer_fft(const CallSpec&, std::span<const Meta> o) {
  need(o.size() == 2 && is_wide(o[0]) && o[1].dtype == o[0].dtype && o[0].shape == o[1].shape &&
           !o[0].shape.empty(),
       "two planes of one shape are needed");
  return {CallOutput::like(0, o[0], o[0].dtype), CallOutput::like(0, o[0], o[0].dtype)};
}

std::vector<CallOutput> infer_columns(const CallSpec& spec, std::span<const Meta> o) {
  std::vector<CallOutput> planes = infer_fft(spec, o);
  need(o[0].shape.size() >= 2, "columns are of matrices");
  return planes;
}

/// Expands a transform of columns: one of rows, between transpositions.
std::vector<Handle> by_rows(const Expanding& e) {
  Attributes transposed;
  for (int i = 0; i < e[0]->shape.size(); ++i) transposed.axes.push_back(i);
  std::swap(transposed.axes[transposed.axes.size() - 1], transposed.axes[transposed.axes.size() - 2]);
  const auto turned = [&](const Handle& h) {
    Shape shape = h->shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return record(Op::permute, {&h}, h->dtype, shape, e.site, transposed);
  };
  const Handle re = turned(e[0]), im = turned(e[1]);
  const Handle* const planes[] = {&re, &im};
  std::vector<Handle> y = record_call(intern_call(kFft, std::string_view()), planes, e.site);
  for (Handle& plane : y) plane = turned(plane);
  return y;
}

/// Returns an output of another extent of the last axis.
CallOutput with_last(const Meta& of, int64_t extent) {
  CallOutput out = CallOutput::like(0, of, of.dtype);
  const int last = of.shape.size() - 1;
  out.meta.shape[last] = extent;
  out.tied[static_cast<size_t>(last)] = {};
  return out;
}

std::vector<CallOutput> infer_real(const CallSpec&, std::span<const Meta> o) {
  need(o.size() == 1 && is_wide(o[0]) && !o[0].shape.empty() && o[0].shape.back() > 0,
       "a real plane is needed");
  const CallOutput half = with_last(o[0], o[0].shape.back() / 2 + 1);
  return {half, half};
}

std::vector<CallOutput> infer_inverse(const CallSpec&, std::span<const Meta> o) {
  need(o.size() == 3 && is_wide(o[0]) && o[1].dtype == o[0].dtype && o[0].shape == o[1].shape &&
           !o[0].shape.empty() && o[2].shape.size() == 2 && o[2].shape[0] > 0 &&
           o[0].shape.back() == o[2].shape[0] / 2 + 1,
       "half a spectrum and its length are needed");
  return {with_last(o[0], o[2].shape[0])};
}

template <FftKind kind>
void run_plain(const CallRun& r) {
  each_fft_type(r, [&](auto zero) {
    using T = decltype(zero);
    const FftRun<T> run(r, kind);
    std::vector<T> scratch(static_cast<size_t>(fft_scratch<T, 1>(run)));
    fft_rows<T, 1>(run, 0, run.parts(), scratch.data(), fft_alone);
  });
}

}  // namespace

double fft_nanoseconds(int64_t rows, int64_t length) {
  const double n = static_cast<double>(length);
  return static_cast<double>(rows) * n * std::log2(n + 1) / 4;
}

constinit const CallDefinition kFft{
    .name = "fft", .traits = call_trait::kNoThrow, .infer = infer_fft, .run = run_plain<FftKind::complex>};
constinit const CallDefinition kFftColumns{.name = "fft_columns",
                                           .traits = call_trait::kNoThrow,
                                           .infer = infer_columns,
                                           .run = run_plain<FftKind::columns>,
                                           .expand = by_rows};
constinit const CallDefinition kRealFft{
    .name = "rfft", .traits = call_trait::kNoThrow, .infer = infer_real, .run = run_plain<FftKind::real>};
constinit const CallDefinition kInverseRealFft{.name = "inverse_rfft",
                                               .traits = call_trait::kNoThrow,
                                               .infer = infer_inverse,
                                               .run = run_plain<FftKind::inverse>};

}  // namespace lazy::jit::calls
