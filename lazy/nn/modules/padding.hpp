// Layers that pad the last D axes, as pad() does.
#pragma once
#include <string>

#include "lazy/nn/functional/padding.hpp"
#include "lazy/nn/modules/module.hpp"
#include "support/shadowing.hpp"

namespace lazy::nn {
LAZY_SHADOWING_BEGIN

namespace detail {

struct PadBase : Module {
  Pads padding;  // before and after the last axis, then the one before it, ...
  double value;  // of PadMode::constant

 protected:
  /// Takes one number for all sides, or 2 D; ShapeError for another count.
  PadBase(const char* layer, int axes, const Pads&, double value, const Site&);
  Tensor pad_axes(Arg x, int axes, PadMode) const;
  std::string sides() const;
  std::string sides_and_value() const;
};

}  // namespace detail

#define LAZY_PAD(Name, mode)                                                                               \
  template <int D>                                                                                         \
  struct Name##Nd : detail::PadBase {                                                                      \
    explicit Name##Nd(const Pads& padding, Site s = Site::current()) : PadBase(#Name, D, padding, 0, s) {} \
    Tensor operator()(Arg x) const { return pad_axes(std::move(x), D, PadMode::mode); }                    \
    Tensor forward(Arg x) const { return (*this)(std::move(x)); }                                          \
    std::string name() const override { return #Name + std::to_string(D) + "d"; }                          \
    std::string extra_repr() const override { return sides(); }                                            \
  };                                                                                                       \
  using Name##1d = Name##Nd<1>;                                                                            \
  using Name##2d = Name##Nd<2>;                                                                            \
  using Name##3d = Name##Nd<3>;
LAZY_PAD(ZeroPad, constant)
LAZY_PAD(ReflectionPad, reflect)
LAZY_PAD(ReplicationPad, replicate)
LAZY_PAD(CircularPad, circular)
#undef LAZY_PAD

template <int D>
struct ConstantPadNd : detail::PadBase {
  ConstantPadNd(const Pads& padding, double value, Site s = Site::current())
      : PadBase("ConstantPad", D, padding, value, s) {}
  Tensor operator()(Arg x) const { return pad_axes(std::move(x), D, PadMode::constant); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  std::string name() const override { return "ConstantPad" + std::to_string(D) + "d"; }
  std::string extra_repr() const override { return sides_and_value(); }
};
using ConstantPad1d = ConstantPadNd<1>;
using ConstantPad2d = ConstantPadNd<2>;
using ConstantPad3d = ConstantPadNd<3>;

LAZY_SHADOWING_END
}  // namespace lazy::nn
