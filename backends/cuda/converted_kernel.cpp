#include "backends/cuda/converted_kernel.hpp"

#include <algorithm>

#include "backends/cuda/code.hpp"
#include "support/archive.hpp"

namespace lazy::cuda_backend {
namespace {
using jit::loop::ArgLayout;
using jit::loop::Conversion;
using jit::loop::ConvertedProduct;
using jit::loop::LoopKernel;

/// A side is converted for so many rows, or columns, of the other one, and more: for fewer it is read just as
/// often on the way.
constexpr uint64_t kFew = 8;
/// Smaller products are one launch.
constexpr double kWorthConversions = 64 * 64 * 64;

class ConvertedKernel final : public jit::Kernel {
 public:
  ConvertedKernel(const LoopKernel& k, ConvertedProduct c, std::unique_ptr<jit::Kernel> own,
                  std::unique_ptr<jit::Kernel> product, std::vector<std::unique_ptr<jit::Kernel>> conversions)
      : at_(layout_of(k)),
        converted_(std::move(c)),
        own_(std::move(own)),
        product_(std::move(product)),
        conversions_(std::move(conversions)) {}

  void launch(uint64_t* args) const override {
    if (!is_worth_it(args)) return own_->launch(args);
    auto& gpu = *reinterpret_cast<Gpu*>(args[ArgLayout::kContext]);
    std::vector<uint64_t> words(args, args + at_.words());
    std::vector<std::unique_ptr<Borrowed>> made;
    for (size_t i = 0; i < conversions_.size(); ++i) {
      const Conversion& c = converted_.conversions[i];
      uint64_t bytes = size_of(converted_.product.operands[c.operand].dtype);
      for (size_t a = c.axes.size(); a-- > 0;) {
        words[static_cast<size_t>(at_.stride(c.operand, c.axes[a]))] = bytes;
        bytes *= args[at_.extent(c.axes[a])];
      }
      made.push_back(std::make_unique<Borrowed>(gpu, bytes));
      words[static_cast<size_t>(at_.pointer(c.operand))] = reinterpret_cast<uint64_t>(made.back()->get());
      convert(c, *conversions_[i], args, words);
    }
    product_->launch(words.data());
  }

  size_t code_bytes() const override {
    size_t n = own_->code_bytes() + product_->code_bytes();
    for (const auto& c : conversions_) n += c->code_bytes();
    return n;
  }
  std::string schedule() const override {
    return own_->schedule() + "\nor, its sides converted first: " + product_->schedule();
  }
  const char* listing() const override { return own_->listing(); }
  std::string disassembly() const override {
    std::string text = own_->disassembly() + "\n" + product_->disassembly();
    for (const auto& c : conversions_) text += "\n" + c->disassembly();
    return text;
  }
  std::string stored() const override {
    std::vector<std::string> conversions;
    for (const auto& c : conversions_) conversions.push_back(c->stored());
    Saver s;
    s(own_->stored(), product_->stored(), conversions);
    return s.take();
  }

 private:
  bool is_worth_it(const uint64_t* args) const {
    double work = 1;
    for (int a = 0; a < at_.rank; ++a) work *= static_cast<double>(args[at_.extent(a)]);
    if (work < kWorthConversions) return false;
    return std::all_of(converted_.conversions.begin(), converted_.conversions.end(),
                       [&](const Conversion& c) {
                         uint64_t others = 1;
                         for (int a = 0; a < at_.rank; ++a)
                           if (std::find(c.axes.begin(), c.axes.end(), a) == c.axes.end())
                             others *= args[at_.extent(a)];
                         return others > kFew;
                       });
  }

  void convert(const Conversion& c, const jit::Kernel& kernel, const uint64_t* args,
               const std::vector<uint64_t>& product) const {
    const ArgLayout to = layout_of(c.kernel);
    std::vector<uint64_t> words(static_cast<size_t>(to.words()));
    const auto at = [&](int i) -> uint64_t& { return words[static_cast<size_t>(i)]; };
    at(ArgLayout::kContext) = args[ArgLayout::kContext];
    at(to.pointer(0)) = args[at_.pointer(c.operand)];
    at(to.pointer(1)) = product[static_cast<size_t>(at_.pointer(c.operand))];
    for (int a = 0; a < to.rank; ++a) {
      const int axis = c.axes[static_cast<size_t>(a)];
      at(to.extent(a)) = args[at_.extent(axis)];
      at(to.stride(0, a)) = args[at_.stride(c.operand, axis)];
      at(to.stride(1, a)) = product[static_cast<size_t>(at_.stride(c.operand, axis))];
    }
    kernel.launch(words.data());
  }

  const ArgLayout at_;
  const ConvertedProduct converted_;
  const std::unique_ptr<jit::Kernel> own_, product_;
  const std::vector<std::unique_ptr<jit::Kernel>> conversions_;
};

}  // namespace

std::unique_ptr<jit::Kernel> make_converted_kernel(const LoopKernel& k, ConvertedProduct c,
                                                   std::unique_ptr<jit::Kernel> own,
                                                   std::unique_ptr<jit::Kernel> product,
                                                   std::vector<std::unique_ptr<jit::Kernel>> conversions) {
  return std::make_unique<ConvertedKernel>(k, std::move(c), std::move(own), std::move(product),
                                           std::move(conversions));
}

}  // namespace lazy::cuda_backend
