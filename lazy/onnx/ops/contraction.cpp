#include <algorithm>

#include "lazy/linalg/linalg.hpp"
#include "lazy/nn/functional/functional.hpp"
#include "lazy/onnx/ops/integers.hpp"
#include "lazy/onnx/ops/known.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/diagonals.hpp"
#include "lazy/ops/einsum.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

void matmul_op(Call& c) {
  if (const auto y = product_of_integers(c, false)) return c.give(*y);
  c.give(matmul(c[0], c[1]));
}

void gemm_op(Call& c) {
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const bool left = c.integer("transA", 0) != 0, right = c.integer("transB", 0) != 0;
  if (c.rank(0) != 2 || c.rank(1) != 2) c.fail<ShapeError>("expected two matrices");
  const Tensor a = left ? matrix_transpose(c[0]) : c.tensor(0);
  const DType dtype = c.dtype(0);
  const bool bias = c.has(2) && beta != 0;
  const auto scaled = [&](const Tensor& t, double factor) {
    if (factor == 1) return t;
    if (is_float(dtype)) return multiply(c.arg(t), factor);
    return multiply(c.arg(t), Arg(static_cast<int64_t>(factor), c.site()));
  };
  const auto finish = [&](const Tensor& product) {
    const Tensor r = scaled(product, alpha);
    c.give(bias ? add(c.arg(r), c.arg(scaled(c.tensor(2), beta))) : r);
  };
  if (const auto y = left ? std::nullopt : product_of_integers(c, right)) return finish(*y);
  // A layer as exporters write it: the weights are the right operand, transposed.
  if (right && alpha == 1 && bias && beta == 1 && c.rank(2) == 1 && c.shape(2)[0] == c.shape(1)[0])
    return c.give(linear(c.arg(a), c[1], c.tensor(2)));
  // Weights that are integers know products by them as they lie (quantize.hpp).
  finish(!right                   ? matmul(c.arg(a), c[1])
         : c.value(1).quantised() ? linear(c.arg(a), c[1])
                                  : matmul(c.arg(a), c.arg(matrix_transpose(c[1]))));
}

/// Returns subscripts in which "..." stands for letters, which lazy's einsum() asks for.
std::string without_ellipsis(Call& c, std::string_view subscripts) {
  std::string text;
  for (const char ch : subscripts)
    if (ch != ' ') text += ch;
  std::string letters;  // that are free
  for (char ch = 'z'; ch >= 'a'; --ch)
    if (text.find(ch) == text.npos) letters += ch;
  for (char ch = 'Z'; ch >= 'A'; --ch)
    if (text.find(ch) == text.npos) letters += ch;
  const size_t arrow = text.find("->");
  const std::string operands = text.substr(0, arrow);
  std::string all;
  size_t most = 0, input = 0;
  for (size_t at = 0; at <= operands.size(); ++input) {
    const size_t end = std::min(operands.find(',', at), operands.size());
    std::string term = operands.substr(at, end - at);
    if (const size_t dots = term.find("..."); dots != term.npos) {
      const size_t count = static_cast<size_t>(c.rank(input)) - (term.size() - 3);
      if (count > letters.size() || count > static_cast<size_t>(kMaxRank))
        c.fail<ShapeError>("equation '" + text + "' does not fit an input of " +
                           std::to_string(c.rank(input)) + " dimensions");
      most = std::max(most, count);
      term.replace(dots, 3, std::string(letters.rend() - static_cast<std::ptrdiff_t>(count), letters.rend()));
    }
    all += (input ? "," : "") + term;
    at = end + 1;
  }
  const std::string leading(letters.rend() - static_cast<std::ptrdiff_t>(most), letters.rend());
  if (arrow != text.npos) {
    std::string result = text.substr(arrow + 2);
    if (const size_t dots = result.find("..."); dots != result.npos) result.replace(dots, 3, leading);
    return all + "->" + result;
  }
  std::string once;
  for (const char ch : all)
    if (ch != ',' && leading.find(ch) == leading.npos && std::count(all.begin(), all.end(), ch) == 1)
      once += ch;
  std::sort(once.begin(), once.end());
  return all + "->" + leading + once;
}

void einsum_op(Call& c) {
  const std::string subscripts = without_ellipsis(c, c.text("equation", ""));
  switch (c.inputs()) {
    case 1: return c.give(einsum(subscripts, c[0]));
    case 2: return c.give(einsum(subscripts, c[0], c[1]));
    case 3: return c.give(einsum(subscripts, c[0], c[1], c[2]));
    case 4: return c.give(einsum(subscripts, {c[0], c[1], c[2], c[3]}, c.site()));
    default: c.fail("an equation of " + std::to_string(c.inputs()) + " operands is not supported");
  }
}

void det_op(Call& c) { c.give(det(c[0])); }

const Operator kContractions[] = {
    {"MatMul", 1, 21, "", matmul_op},
    {"Gemm", 1, 21, "alpha beta transA transB broadcast", gemm_op},
    {"Einsum", 12, 21, "equation", einsum_op},
    {"Det", 11, 21, "", det_op},
};

}  // namespace

std::span<const Operator> contraction_operators() { return kContractions; }

}  // namespace lazy::onnx
