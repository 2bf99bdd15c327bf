#include "lazy/amp/autocast.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"

namespace lazy {
using namespace detail;

namespace {

enum class Rule : uint8_t {
  none,     // dtypes promote as ever
  lower,    // operands of float32 are taken in the scope's dtype
  float32,  // operands of 16 bits are taken in float32
};

struct Row {
  std::string_view function;
  Rule cpu, cuda;
};

// In order of names. Where torch's function is made of others, what these do. On GPUs torch has no
// decompositions of 16-bit matrices: here they are of float32 everywhere.
constexpr Rule kNone = Rule::none, kLower = Rule::lower, kWide = Rule::float32;
constexpr Row kRows[] = {
    {"GRU", kLower, kLower},
    {"GRUCell", kLower, kLower},
    {"LSTM", kLower, kLower},
    {"LSTMCell", kLower, kLower},
    {"RNN", kLower, kLower},
    {"RNNCell", kLower, kLower},
    {"acos", kNone, kWide},
    {"addbmm", kLower, kLower},
    {"addmm", kLower, kLower},
    {"addmv", kNone, kLower},
    {"addr", kNone, kLower},
    {"asin", kNone, kWide},
    {"baddbmm", kLower, kLower},
    {"binary_cross_entropy", kWide, kWide},
    {"binary_cross_entropy_with_logits", kWide, kWide},
    {"bmm", kLower, kLower},
    {"cdist", kWide, kWide},
    {"cholesky", kWide, kWide},
    {"cholesky_inverse", kWide, kWide},
    {"cholesky_solve", kWide, kWide},
    {"cond", kWide, kWide},
    {"conv", kLower, kLower},
    {"conv1d", kLower, kLower},
    {"conv2d", kLower, kLower},
    {"conv3d", kLower, kLower},
    {"conv_transpose", kLower, kLower},
    {"cosh", kNone, kWide},
    {"cosine_embedding_loss", kWide, kWide},
    {"cosine_similarity", kNone, kWide},
    {"cross_entropy", kWide, kWide},
    {"ctc_loss", kWide, kWide},
    {"cumprod", kNone, kWide},
    {"cumsum", kNone, kWide},
    {"det", kWide, kWide},
    {"dist", kNone, kWide},
    {"eig", kWide, kWide},
    {"eigh", kWide, kWide},
    {"eigvals", kWide, kWide},
    {"eigvalsh", kWide, kWide},
    {"einsum", kLower, kLower},
    {"erfinv", kNone, kWide},
    {"exp", kNone, kWide},
    {"expm1", kNone, kWide},
    {"gaussian_nll_loss", kWide, kWide},
    {"grid_sample", kWide, kWide},
    {"group_norm", kNone, kWide},
    {"hinge_embedding_loss", kWide, kWide},
    {"huber_loss", kWide, kWide},
    {"interpolate", kNone, kWide},
    {"inv", kWide, kWide},
    {"kl_div", kWide, kWide},
    {"l1_loss", kWide, kWide},
    {"layer_norm", kNone, kWide},
    {"linear", kLower, kLower},
    {"log", kNone, kWide},
    {"log10", kNone, kWide},
    {"log1p", kNone, kWide},
    {"log2", kNone, kWide},
    {"log_softmax", kNone, kWide},
    {"logsumexp", kNone, kWide},
    {"lstsq", kWide, kWide},
    {"lu", kWide, kWide},
    {"lu_factor", kWide, kWide},
    {"lu_solve", kWide, kWide},
    {"margin_ranking_loss", kWide, kWide},
    {"matmul", kLower, kLower},
    {"matrix_exp", kWide, kWide},
    {"matrix_norm", kNone, kWide},
    {"matrix_rank", kWide, kWide},
    {"mm", kLower, kLower},
    {"mse_loss", kWide, kWide},
    {"multi_dot", kLower, kLower},
    {"multi_margin_loss", kWide, kWide},
    {"multilabel_margin_loss", kWide, kWide},
    {"multilabel_soft_margin_loss", kWide, kWide},
    {"mv", kNone, kLower},
    {"nanquantile", kWide, kWide},
    {"nll_loss", kWide, kWide},
    {"norm", kNone, kWide},
    {"pdist", kNone, kWide},
    {"percentile", kWide, kWide},
    {"pinv", kWide, kWide},
    {"poisson_nll_loss", kWide, kWide},
    {"pow", kNone, kWide},
    {"prelu", kLower, kLower},
    {"prod", kWide, kWide},
    {"qr", kWide, kWide},
    {"quantile", kWide, kWide},
    {"reciprocal", kNone, kWide},
    {"renorm", kNone, kWide},
    {"rsqrt", kNone, kWide},
    {"scaled_dot_product_attention", kLower, kLower},
    {"sinh", kNone, kWide},
    {"slogdet", kWide, kWide},
    {"smooth_l1_loss", kWide, kWide},
    {"soft_margin_loss", kWide, kWide},
    {"softmax", kNone, kWide},
    {"softmin", kNone, kWide},
    {"softplus", kNone, kWide},
    {"solve", kWide, kWide},
    {"solve_triangular", kWide, kWide},
    {"sum", kNone, kWide},
    {"svd", kWide, kWide},
    {"svdvals", kWide, kWide},
    {"tan", kNone, kWide},
    {"tensordot", kLower, kNone},
    {"tensorinv", kWide, kWide},
    {"tensorsolve", kWide, kWide},
    {"trace", kWide, kWide},
    {"triplet_margin_loss", kWide, kWide},
    {"triplet_margin_with_distance_loss", kWide, kWide},
    {"vecdot", kLower, kLower},
    {"vector_norm", kNone, kWide},
};

constexpr bool in_order() {
  for (size_t i = 1; i < std::size(kRows); ++i)
    if (kRows[i - 1].function >= kRows[i].function) return false;
  return true;
}
static_assert(in_order());

Rule rule_of(std::string_view function, DeviceKind kind) {
  const auto row = std::lower_bound(std::begin(kRows), std::end(kRows), function,
                                    [](const Row& r, std::string_view name) { return r.function < name; });
  if (row == std::end(kRows) || row->function != function) return Rule::none;
  return kind == DeviceKind::cpu ? row->cpu : row->cuda;
}

}  // namespace

autocast::autocast(DType t, Site s) : dtype_(t), scope_(this) {
  if (!is_half(t))
    fail<DtypeError>("autocast", std::string("casts to bfloat16 or float16, not to ") + name_of(t), s);
}

autocast::autocast(bool enabled, Site) : dtype_(bfloat16), scope_(enabled ? this : nullptr) {}

std::optional<DType> autocast::operand_type(const char* function, std::span<const Arg* const> arguments,
                                            std::span<const Tensor* const> optional) {
  bool lowered = false, found = false;
  Device device{};
  const auto look = [&](const Handle& h) {
    if (!h || !is_float(h->dtype)) return true;
    if (!std::exchange(found, true)) device = h->device;
    lowered |= h->dtype == float32;
    return h->dtype != float64;
  };
  for (const Arg* a : arguments)
    if (!look(a->handle())) return {};
  for (const Tensor* t : optional)
    if (t->defined() && !look(t->handle())) return {};
  if (!found || rule_of(function, device.kind) != Rule::lower) return {};
  return lowered ? std::optional(dtype_) : std::nullopt;
}

DType autocast::argument_type(const char* function, DType t, Device device) {
  return rule_of(function, device.kind) == Rule::float32 ? float32 : t;
}

bool is_autocast_enabled() noexcept { return PolicyScope::current() != nullptr; }

std::vector<AutocastRule> autocast_table(DeviceKind kind) {
  std::vector<AutocastRule> all;
  for (const Row& r : kRows)
    if (const Rule rule = kind == DeviceKind::cpu ? r.cpu : r.cuda; rule != Rule::none)
      all.push_back({std::string(r.function), rule == Rule::lower ? bfloat16 : float32});
  return all;
}

}  // namespace lazy
