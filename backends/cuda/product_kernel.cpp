#include "backends/cuda/product_kernel.hpp"

#include <array>
#include <vector>

#include "backends/cuda/code.hpp"
#include "support/archive.hpp"
#include "support/config.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::LoopKernel;
using jit::loop::Product;

api::BlasType blas_type(DType t) {
  switch (t) {
    case DType::float16: return api::BlasType::f16;
    case DType::bfloat16: return api::BlasType::bf16;
    case DType::float64: return api::BlasType::f64;
    default: return api::BlasType::f32;
  }
}

/// Holds the strides of one matrix, in elements.
struct Strides {
  int64_t row = 0, column = 0;
  std::vector<int64_t> batch;  // of each batch axis that is longer than 1
};

/// True if the library takes a matrix of that size and these strides; strides along an extent of 1 are made
/// up.
bool regular(Strides& s, int64_t rows, int64_t columns) {
  if (rows == 1 && s.column != 1) s.row = 1;
  if (rows == 1 && s.column == 1) s.row = columns;
  if (columns == 1 && s.row != 1) s.column = 1;
  if (columns == 1 && s.row == 1) s.column = rows;
  if (s.column == 1) return s.row >= columns;
  return s.row == 1 && s.column >= rows;
}

class ProductKernel final : public jit::Kernel {
 public:
  ProductKernel(const LoopKernel& k, const Product& p, std::unique_ptr<jit::Kernel> own,
                std::unique_ptr<jit::Kernel> epilogue)
      : loop_(k),
        at_(layout_of(k)),
        product_(p),
        rest_(p.plain_output < 0 ? epilogue_of(k, p) : jit::loop::Epilogue{}),
        own_(std::move(own)),
        epilogue_(std::move(epilogue)) {}

  void launch(uint64_t* args) const override {
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    if (sums_on(gpu) == config::Sums::ordered || !config::get().cuda_blas || !by_library(gpu, args))
      own_->launch(args);
  }
  size_t code_bytes() const override {
    return own_->code_bytes() + (epilogue_ ? epilogue_->code_bytes() : 0);
  }
  std::string schedule() const override {
    return own_->schedule() + (epilogue_ ? "\nafter a product by cuBLASLt: " + epilogue_->schedule()
                                         : "\nor a product by cuBLASLt");
  }
  const char* listing() const override { return own_->listing(); }
  std::string disassembly() const override {
    return own_->disassembly() + (epilogue_ ? "\n" + epilogue_->disassembly() : "");
  }
  std::string stored() const override {
    Saver s;
    s(own_->stored(), epilogue_ ? epilogue_->stored() : std::string());
    return s.take();
  }

 private:
  int64_t extent(const uint64_t* args, int axis) const {
    return axis < 0 ? 1 : static_cast<int64_t>(args[at_.extent(axis)]);
  }
  /// Returns a stride in elements.
  int64_t stride(const uint64_t* args, int operand, int axis) const {
    if (axis < 0) return 0;
    return at_.stride_bytes(args, loop_.operands, operand, axis) /
           static_cast<int64_t>(size_of(loop_.operands[static_cast<size_t>(operand)].dtype));
  }

  bool by_library(Gpu& gpu, uint64_t* args) const {
    const int64_t m = extent(args, product_.row_axis), n = extent(args, product_.column_axis),
                  k = extent(args, product_.summed_axis);
    double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    std::vector<int64_t> batch;
    for (int a : product_.batch_axes) {
      work *= static_cast<double>(extent(args, a));
      if (extent(args, a) != 1) batch.push_back(a);
    }
    constexpr double kWorthACall = 32 * 32 * 32;  // below, one launch is all that counts
    if (work < kWorthACall) return false;
    const auto strides_of = [&](int operand, int rows, int columns) {
      Strides s{stride(args, operand, rows), stride(args, operand, columns), {}};
      for (int64_t a : batch) s.batch.push_back(stride(args, operand, static_cast<int>(a)));
      return s;
    };
    Strides left = strides_of(product_.left, product_.row_axis, product_.summed_axis);
    Strides right = strides_of(product_.right, product_.summed_axis, product_.column_axis);
    Strides out;
    if (product_.plain_output >= 0) {
      out = strides_of(product_.plain_output, product_.row_axis, product_.column_axis);
    } else {
      out = {n, 1, std::vector<int64_t>(batch.size())};
      int64_t step = m * n;
      for (size_t i = batch.size(); i-- > 0; step *= extent(args, static_cast<int>(batch[i])))
        out.batch[i] = step;
    }
    if (!regular(left, m, k) || !regular(right, k, n) || !regular(out, m, n) || out.column != 1) return false;

    int64_t sums = m * n;
    for (int64_t a : batch) sums *= extent(args, static_cast<int>(a));
    const size_t size = size_of(product_.sum_type);
    const Borrowed memory(gpu, product_.plain_output < 0 ? static_cast<size_t>(sums) * size : 0);
    const auto pointer = [&](int operand) { return reinterpret_cast<char*>(args[at_.pointer(operand)]); };
    char* const to = product_.plain_output < 0 ? memory.get() : pointer(product_.plain_output);
    const DType out_type = product_.plain_output < 0
                               ? product_.sum_type
                               : loop_.operands[static_cast<size_t>(product_.plain_output)].dtype;

    BlasProblem p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.f64 = product_.sum_type == DType::float64;
    p.left = {nullptr, blas_type(product_.left_type), left.row, left.column, 0};
    p.right = {nullptr, blas_type(product_.right_type), right.row, right.column, 0};
    p.out = {nullptr, blas_type(out_type), out.row, out.column, 0};
    if (p.left.type != p.right.type) return false;
    if (product_.bias >= 0) {
      if (stride(args, product_.bias, product_.column_axis) != 1 && n != 1) return false;
      p.bias = pointer(product_.bias);
    }
    // The innermost batch axis is one strided call; the others are walked.
    size_t walked = batch.size();
    if (walked > 0) {
      --walked;
      const int64_t count = extent(args, static_cast<int>(batch[walked]));
      // Rows of several matrices that meet the same right side are rows of one.
      if (right.batch[walked] == 0 && left.batch[walked] == m * left.row &&
          out.batch[walked] == m * out.row && left.column == 1) {
        p.m = m * count;
      } else {
        p.batch = count;
        p.left.batch = left.batch[walked];
        p.right.batch = right.batch[walked];
        p.out.batch = out.batch[walked];
      }
    }
    int64_t calls = 1;
    for (size_t i = 0; i < walked; ++i) calls *= extent(args, static_cast<int>(batch[i]));
    constexpr int64_t kMostCalls = 64;
    if (calls > kMostCalls) return false;
    const auto bytes = [](DType t) { return static_cast<int64_t>(size_of(t)); };
    for (int64_t c = 0; c < calls; ++c) {
      int64_t l = 0, r = 0, o = 0, rest = c;
      for (size_t i = walked; i-- > 0;) {
        const int64_t n_i = extent(args, static_cast<int>(batch[i])), at = rest % n_i;
        rest /= n_i;
        l += at * left.batch[i];
        r += at * right.batch[i];
        o += at * out.batch[i];
      }
      p.left.data = pointer(product_.left) + l * bytes(product_.left_type);
      p.right.data = pointer(product_.right) + r * bytes(product_.right_type);
      p.out.data = to + o * bytes(out_type);
      if (!gpu.blas.multiply(p))
        return false;  // the first says no if any does: then nothing has been written
    }
    if (product_.plain_output < 0) finish(args, to);
    return true;
  }

  /// Runs the epilogue, on sums that lie packed.
  void finish(const uint64_t* args, char* sums) const {
    const ArgLayout to = layout_of(rest_.kernel);
    std::vector<uint64_t> words(static_cast<size_t>(to.words()));
    const auto at = [&](int i) -> uint64_t& { return words[static_cast<size_t>(i)]; };
    at(ArgLayout::kContext) = args[ArgLayout::kContext];
    std::vector<int> axes;
    for (int a = 0; a < loop_.rank; ++a)
      if (a != product_.summed_axis) axes.push_back(a);
    for (int a = 0; a < to.rank; ++a) {
      at(to.extent(a)) = args[at_.extent(axes[static_cast<size_t>(a)])];
      at(to.origin(a)) = args[at_.origin(axes[static_cast<size_t>(a)])];
    }
    for (size_t i = 0; i < rest_.operands.size(); ++i) {
      const int o = static_cast<int>(i);
      at(to.pointer(o)) = args[at_.pointer(rest_.operands[i])];
      for (int a = 0; a < to.rank; ++a)
        at(to.stride(o, a)) = args[at_.stride(rest_.operands[i], axes[static_cast<size_t>(a)])];
    }
    // The sums lie in the order batch axes, rows, columns.
    const auto sum = static_cast<int>(rest_.operands.size());
    at(to.pointer(sum)) = reinterpret_cast<uint64_t>(sums);
    std::vector<int> order = product_.batch_axes;
    if (product_.row_axis >= 0) order.push_back(product_.row_axis);
    order.push_back(product_.column_axis);
    uint64_t step = size_of(product_.sum_type);
    for (size_t i = order.size(); i-- > 0;) {
      const int a = order[i] - (order[i] > product_.summed_axis);
      at(to.stride(sum, a)) = step;
      step *= args[at_.extent(order[i])];
    }
    for (size_t i = 0; i < rest_.scalars.size(); ++i)
      at(to.scalar(static_cast<int>(i))) = args[at_.scalar(rest_.scalars[i])];
    epilogue_->launch(words.data());
  }

  const LoopKernel loop_;
  const ArgLayout at_;
  const Product product_;
  const jit::loop::Epilogue rest_;
  const std::unique_ptr<jit::Kernel> own_, epilogue_;
};

}  // namespace

std::unique_ptr<jit::Kernel> make_product_kernel(const LoopKernel& k, const Product& p,
                                                 std::unique_ptr<jit::Kernel> own,
                                                 std::unique_ptr<jit::Kernel> epilogue) {
  return std::make_unique<ProductKernel>(k, p, std::move(own), std::move(epilogue));
}

}  // namespace lazy::cuda_backend
