#include "backends/cuda/blas.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cuda/gpu.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace lazy::cuda_backend {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;  // what NVIDIA advises for Hopper

/// Describes a matrix as cuBLASLt stores it, column-major. Ours are, or are seen as, row-major; so it
/// computes the transpose of the product, right(n, k) * left(k, m), and `first` is right.
struct Stored {
  uint64_t rows, columns;
  int64_t ld;
  api::BlasOperation operation;
};
/// Returns a matrix of `rows` x `columns`, elements (i, j) at i * row + j * column.
Stored stored(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  const auto as = [](int64_t n) { return static_cast<uint64_t>(n); };
  if (row == 1) return {as(rows), as(columns), std::max(column, rows), api::BlasOperation::none};
  return {as(columns), as(rows), std::max(row, columns), api::BlasOperation::transpose};
}

uint32_t alignment(const void* p) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(256, uint64_t{1} << std::countr_zero(reinterpret_cast<uint64_t>(p) | 256)));
}

std::string key_of(const BlasProblem& p) {
  std::string key;
  const auto put = [&](auto v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  for (int64_t v :
       {p.m, p.n, p.k, p.batch, static_cast<int64_t>(p.f64), static_cast<int64_t>(p.bias != nullptr)})
    put(v);
  for (const auto* x : {&p.left, &p.right, &p.out}) {
    for (int64_t v : {x->row, x->column, x->batch}) put(v);
    put(x->type);
    put(alignment(x->data));
  }
  return key;
}

}  // namespace

bool Blas::start() {
  if (std::exchange(tried_, true)) return handle_ != nullptr;
  try {
    lt_ = &api::cublaslt();
    gpu_.enter();
    if (lt_->create(&handle_) != api::kSuccess) throw DeviceError("cublasLtCreate failed");
  } catch (const DeviceError& e) {
    handle_ = nullptr;
    if (logging::enabled(logging::Channel::device))
      logging::print(logging::Channel::device, "matrix products by our own kernels: %s", e.what());
  }
  return handle_ != nullptr;
}

const Blas::Plan& Blas::plan_of(const BlasProblem& p) {
  const std::string key = key_of(p);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  constexpr size_t kMost = 4096;
  if (plans_.size() >= kMost) {  // sizes that never recur: start again
    for (auto& [ignored, old] : plans_) {
      (void)lt_->matmul_destroy(old.matmul);
      for (api::BlasLayout l : {old.a, old.b, old.d}) (void)lt_->layout_destroy(l);
    }
    plans_.clear();
  }
  return plans_.emplace(key, make(p)).first->second;
}

Blas::Plan Blas::make(const BlasProblem& p) const {
  Plan plan;
  const auto ok = [](api::Result r) { return r == api::kSuccess; };
  const Stored a = stored(p.n, p.k, p.right.column, p.right.row),
               b = stored(p.k, p.m, p.left.column, p.left.row);
  const int32_t batch = static_cast<int32_t>(p.batch);
  const auto layout = [&](api::BlasLayout& l, const BlasProblem::Matrix& x, uint64_t rows, uint64_t columns,
                          int64_t ld) {
    return ok(lt_->layout_create(&l, x.type, rows, columns, ld)) &&
           (batch == 1 ||
            (ok(lt_->layout_set(l, api::BlasLayoutAttribute::batch_count, &batch, sizeof batch)) &&
             ok(lt_->layout_set(l, api::BlasLayoutAttribute::batch_stride, &x.batch, sizeof x.batch))));
  };
  const auto compute = p.f64 ? api::BlasCompute::f64 : api::BlasCompute::f32;
  if (!ok(lt_->matmul_create(&plan.matmul, compute, p.f64 ? api::BlasType::f64 : api::BlasType::f32)) ||
      !ok(lt_->matmul_set(plan.matmul, api::BlasMatmulAttribute::transpose_a, &a.operation,
                          sizeof a.operation)) ||
      !ok(lt_->matmul_set(plan.matmul, api::BlasMatmulAttribute::transpose_b, &b.operation,
                          sizeof b.operation)) ||
      !layout(plan.a, p.right, a.rows, a.columns, a.ld) || !layout(plan.b, p.left, b.rows, b.columns, b.ld) ||
      !layout(plan.d, p.out, static_cast<uint64_t>(p.n), static_cast<uint64_t>(p.m),
              std::max(p.out.row, p.n)))
    return plan;
  if (p.bias) {  // the pointer is set at each call
    const auto epilogue = api::BlasEpilogue::bias;
    if (!ok(lt_->matmul_set(plan.matmul, api::BlasMatmulAttribute::epilogue, &epilogue, sizeof epilogue)) ||
        !ok(lt_->matmul_set(plan.matmul, api::BlasMatmulAttribute::bias_type, &p.out.type,
                            sizeof p.out.type)) ||
        !ok(lt_->matmul_set(plan.matmul, api::BlasMatmulAttribute::bias_pointer, &p.bias, sizeof p.bias)))
      return plan;
  }
  api::BlasPreference preference = nullptr;
  if (!ok(lt_->preference_create(&preference))) return plan;
  const uint32_t at_a = alignment(p.right.data), at_b = alignment(p.left.data), at_d = alignment(p.out.data);
  using Attribute = api::BlasPreferenceAttribute;
  api::BlasHeuristic best{};
  int found = 0;
  plan.usable =
      ok(lt_->preference_set(preference, Attribute::workspace_bytes, &kWorkspace, sizeof kWorkspace)) &&
      ok(lt_->preference_set(preference, Attribute::alignment_a, &at_a, sizeof at_a)) &&
      ok(lt_->preference_set(preference, Attribute::alignment_b, &at_b, sizeof at_b)) &&
      ok(lt_->preference_set(preference, Attribute::alignment_c, &at_d, sizeof at_d)) &&
      ok(lt_->preference_set(preference, Attribute::alignment_d, &at_d, sizeof at_d)) &&
      ok(lt_->heuristic(handle_, plan.matmul, plan.a, plan.b, plan.d, plan.d, preference, 1, &best,
                        &found)) &&
      found == 1 && ok(best.state);
  (void)lt_->preference_destroy(preference);
  plan.algorithm = best.algorithm;
  plan.workspace_bytes = best.workspace_bytes;
  return plan;
}

bool Blas::multiply(const BlasProblem& p) {
  const std::lock_guard hold(lock_);
  if (!start()) return false;
  gpu_.before_other_work();
  gpu_.enter();
  const Plan& plan = plan_of(p);
  if (!plan.usable) return false;
  if (p.bias && lt_->matmul_set(plan.matmul, api::BlasMatmulAttribute::bias_pointer, &p.bias,
                                sizeof p.bias) != api::kSuccess)
    return false;
  void* const workspace = plan.workspace_bytes ? gpu_.allocator.allocate(plan.workspace_bytes) : nullptr;
  const float one32 = 1, zero32 = 0;
  const double one64 = 1, zero64 = 0;
  const void* const one = p.f64 ? static_cast<const void*>(&one64) : &one32;
  const void* const zero = p.f64 ? static_cast<const void*>(&zero64) : &zero32;
  void* const out = const_cast<void*>(p.out.data);
  const api::Result r =
      lt_->matmul(handle_, plan.matmul, one, p.right.data, plan.a, p.left.data, plan.b, zero, out, plan.d,
                  out, plan.d, &plan.algorithm, workspace, plan.workspace_bytes, gpu_.stream);
  if (workspace) gpu_.allocator.deallocate(workspace, plan.workspace_bytes);
  if (r == api::kSuccess) return true;
  if (r == api::kBlasNotSupported) return false;
  throw DeviceError("cuda:" + std::to_string(gpu_.ordinal) + ": cublasLtMatmul failed with status " +
                    std::to_string(r));
}

}  // namespace lazy::cuda_backend
