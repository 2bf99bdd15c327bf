// Holds the rules of Fourier transforms. A transform is a symmetric matrix F, so the gradient g of its result
// gives conj(F) g: the transform back, which is F with real and imaginary parts exchanged.
#include "jit/built_in/fft/fft.hpp"
#include "lazy/autograd/call_rules.hpp"
#include "lazy/core/operands.hpp"

namespace lazy::detail {
namespace {

using D = const Differentiation&;
namespace calls = jit::calls;

std::vector<Term> call(D d, const jit::CallDefinition& c, std::initializer_list<const Handle*> operands) {
  std::vector<Term> results;
  const auto& spec = jit::intern_call(c, std::string_view());
  for (const Handle& h : detail::record_call(spec, std::span(operands.begin(), operands.size()), d.site))
    results.push_back(d.term(h));
  return results;
}

/// Returns `inner` for the bins that stand for two of n, 1 for the first and, of an even n, the last.
Term weights(D d, const Term& half, int64_t n, double inner) {
  const int axis = half.rank() - 1;
  Shape along(half.rank(), 1);
  along[axis] = half.extent(-1);
  const Term at = d.index(axis, along, half);
  return where((at == 0) | (at * 2 == static_cast<double>(n)), half.number(1), half.number(inner));
}

void complex(D d) {
  if (!d.wants(0) && !d.wants(1)) return;
  const Term re = d.g(0), im = d.g(1);
  const Handle* const exchanged[] = {&im.handle(), &re.handle()};
  const std::vector<Handle> back = detail::record_call(*std::get<const jit::CallSpec*>(d.op.what), exchanged,
                                                       d.site);  // along the same axis
  d.to(0, [&] { return d.term(back[1]); });
  d.to(1, [&] { return d.term(back[0]); });
}

/// Halves the gradients of bins that stand for two, of which only one has a gradient.
void to_half(D d) {
  d.to(0, [&] {
    const Term re = d.g(0), im = d.g(1);
    const int64_t n = d.x(0).extent(-1);
    const Term w = weights(d, re, n, 0.5);
    const Term a = re * w, b = im * w;
    const Handle length = d.filled(false, bool_, {n, 0}, re.handle());
    return call(d, calls::kInverseRealFft, {&a.handle(), &b.handle(), &length})[0];
  });
}

void to_whole(D d) {
  if (!d.wants(0) && !d.wants(1)) return;
  const Term g = d.g(0);
  const std::vector<Term> half = call(d, calls::kRealFft, {&g.handle()});
  const Term w = weights(d, half[0], g.extent(-1), 2);
  d.to(0, [&] { return half[0] * w; });
  d.to(1, [&] { return half[1] * w; });
}

constexpr CallRow kFourierRules[] = {{&calls::kFft, complex},
                                     {&calls::kFftColumns, complex},
                                     {&calls::kRealFft, to_half},
                                     {&calls::kInverseRealFft, to_whole}};

}  // namespace

std::span<const CallRow> fourier_call_rules() { return kFourierRules; }

}  // namespace lazy::detail
