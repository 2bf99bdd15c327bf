#include "jit/built_in/nn/recurrent.hpp"

#include "jit/built_in/nn/recurrent_steps.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

[[noreturn]] void misfit(const CallSpec& spec) {
  throw ShapeError(std::string(spec.name()) + ": shapes that don't fit each other");
}

/// Throws unless the first operands are a recurrent layer's. Returns its attributes.
RecurrentAttributes check(const CallSpec& spec, std::span<const Meta> o) {
  const auto a = spec.as<RecurrentAttributes>();
  const auto own = static_cast<size_t>(recurrent_operands(a));
  if (a.kind > RecurrentKind::gru || o.size() < own || o[0].shape.size() != 3 || o[1].shape.size() != 2)
    misfit(spec);
  for (const Meta& m : o)
    if (m.dtype != o[0].dtype || (m.dtype != float32 && m.dtype != float64))
      throw DtypeError(std::string(spec.name()) + ": operands of one dtype are needed, float32 or float64");
  const int64_t n = o[0].shape[1], wide = o[0].shape[2], p = o[1].shape[1], units = wide / gates_of(a.kind);
  bool fits = units * gates_of(a.kind) == wide && o[1].shape == Shape{n, p} && o[2].shape == Shape{wide, p};
  if (a.kind == RecurrentKind::lstm) fits = fits && o[3].shape == Shape{n, units};
  if (a.kind == RecurrentKind::gru) fits = fits && o[3].shape == Shape{units};
  fits = fits && (a.projected ? o[4].shape == Shape{p, units} : p == units);
  if (!fits) misfit(spec);
  return a;
}

std::vector<CallOutput> infer_recurrent(const CallSpec& spec, std::span<const Meta> o) {
  const RecurrentAttributes a = check(spec, o);
  if (o.size() != static_cast<size_t>(recurrent_operands(a))) misfit(spec);
  const DType t = o[0].dtype;
  const int64_t steps = o[0].shape[0], n = o[0].shape[1], units = o[0].shape[2] / gates_of(a.kind);
  std::vector<CallOutput> out;
  out.push_back({{t, {steps, n, o[1].shape[1]}}, {}});
  out.push_back({{t, {steps, n, saved_of(a.kind) * units}}, {}});
  if (a.kind == RecurrentKind::lstm) out.push_back(CallOutput::like(3, o[3], t));
  return out;
}

std::vector<CallOutput> infer_backward(const CallSpec& spec, std::span<const Meta> o) {
  const RecurrentAttributes a = check(spec, o);
  const bool lstm = a.kind == RecurrentKind::lstm;
  const auto own = static_cast<size_t>(recurrent_operands(a));
  if (o.size() != own + 3 + lstm) misfit(spec);
  const DType t = o[0].dtype;
  const int64_t steps = o[0].shape[0], n = o[0].shape[1], units = o[0].shape[2] / gates_of(a.kind);
  const Shape y{steps, n, o[1].shape[1]};
  if (o[own].shape != y || o[own + 2].shape != y ||
      o[own + 1].shape != Shape{steps, n, saved_of(a.kind) * units} ||
      (lstm && o[own + 3].shape != o[3].shape))
    misfit(spec);
  std::vector<CallOutput> out{CallOutput::like(0, o[0], t), CallOutput::like(1, o[1], t)};
  if (lstm) out.push_back(CallOutput::like(3, o[3], t));
  if (a.projected) out.push_back({{t, y}, {}});
  if (a.kind == RecurrentKind::gru) out.push_back({{t, {steps, n, units}}, {}});
  return out;
}

template <class T>
void add_product(T* c, const T* a, const T* b, int64_t rows, int64_t depth, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j) c[i * columns + j] += a[i * depth + k] * b[k * columns + j];
}

template <class T>
void run_as(const CallRun& r, bool backward) {
  Recurrence<T> s = recurrence_of<T>(r, backward);
  if (backward) return recurrent_backward(s, 0, s.batch, add_product<T>);
  const std::vector<T> w_t = transposed(s.w, s.row(), s.outputs),
                       w_r_t = s.w_r ? transposed(s.w_r, s.outputs, s.units) : std::vector<T>{};
  s.w_t = w_t.data();
  s.w_r_t = s.w_r ? w_r_t.data() : nullptr;
  recurrent_forward(s, 0, s.batch, add_product<T>);
}
void run_recurrent(const CallRun& r) {
  r.operands[0].dtype == float32 ? run_as<float>(r, false) : run_as<double>(r, false);
}
void run_backward(const CallRun& r) {
  r.operands[0].dtype == float32 ? run_as<float>(r, true) : run_as<double>(r, true);
}

std::string describe_recurrent(std::string_view attributes) {
  if (attributes.size() != sizeof(RecurrentAttributes)) return "";
  static constexpr const char* kNames[] = {"tanh", "relu", "lstm", "gru"};
  const auto kind = static_cast<uint8_t>(attributes[0]);
  return std::string(kind < 4 ? kNames[kind] : "?") + (attributes[1] ? ", reverse" : "") +
         (attributes[2] ? ", projected" : "");
}

}  // namespace

constinit const CallDefinition kRecurrent{.name = "recurrent",
                                          .traits = call_trait::kNoThrow,
                                          .infer = infer_recurrent,
                                          .run = run_recurrent,
                                          .describe = describe_recurrent};
constinit const CallDefinition kRecurrentBackward{.name = "recurrent_backward",
                                                  .traits = call_trait::kNoThrow,
                                                  .infer = infer_backward,
                                                  .run = run_backward,
                                                  .describe = describe_recurrent};

}  // namespace lazy::jit::calls
