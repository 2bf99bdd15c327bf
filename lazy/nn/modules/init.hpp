// Fills tensors and parameters with first values, by torch.nn.init's names.
//
//   nn::init::kaiming_uniform_(layer.weight, {.nonlinearity = nn::init::Nonlinearity::relu});
//   model.apply([](nn::Linear& l) { nn::init::zeros_(l.bias); });
//
// Each replaces the variable's value by one of its shape, dtype and device; what is drawn is recorded, and
// computed when it is needed. Draws come from default_generator() unless a Generator is given. A fan is how
// many inputs, or outputs, one element has, of a weight (out, in, window...); ShapeError for fewer than two
// dimensions. DtypeError for what is not of floating point where numbers are drawn.
#pragma once
#include <cstdint>

#include "lazy/autograd/parameter.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::nn::init {

/// Says that the values of what this thread makes while it lives don't matter, for they are loaded: layers
/// begin with zeros, the functions below do nothing, and nothing is drawn, so that generators stay as they
/// are.
class Skip {
 public:
  Skip() noexcept;
  Skip(const Skip&) = delete;
  Skip& operator=(const Skip&) = delete;
  ~Skip();
  /// True while there is one in this thread.
  static bool active() noexcept;
};

/// Takes the variable that is filled, and the line where it is.
class Variable {
 public:
  Variable(Tensor& t, Site s = Site::current()) : tensor_(&t), site(s) {}
  Variable(Parameter& p, Site s = Site::current()) : tensor_(&p), parameter_(&p), site(s) {}
  const Tensor& value() const { return *tensor_; }
  void set(Tensor value) const;

 private:
  Tensor* tensor_;
  Parameter* parameter_ = nullptr;  // if it is one

 public:
  Site site;
};

/// Says which fan keeps its variance: that of what goes in, or of gradients that come back.
enum class Fan : uint8_t { in, out };
/// Says what function follows the layer.
enum class Nonlinearity : uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };
/// Returns the factor by which a standard deviation is increased for it: 1, 1, 5/3, sqrt(2), sqrt(2 / (1 +
/// slope^2)), 3/4.
double calculate_gain(Nonlinearity, double slope = 0.01);

void uniform_(Variable, double low = 0, double high = 1, Generator* = nullptr);
void normal_(Variable, double mean = 0, double std = 1, Generator* = nullptr);
/// Draws from the normal distribution what lies between two limits.
void trunc_normal_(Variable, double mean = 0, double std = 1, double low = -2, double high = 2,
                   Generator* = nullptr);
void constant_(Variable, double value);
void ones_(Variable);
void zeros_(Variable);
/// Puts the identity into a matrix. ShapeError for other than two dimensions.
void eye_(Variable);
/// Puts into weights of convolutions what makes of each channel itself, in each group. ShapeError for other
/// than 3 to 5 dimensions, and if the groups don't divide the channels.
void dirac_(Variable, IntegerArg groups = 1);
/// Draws with standard deviation gain sqrt(2 / (fan in + fan out)) (Glorot and Bengio 2010).
void xavier_uniform_(Variable, double gain = 1, Generator* = nullptr);
void xavier_normal_(Variable, double gain = 1, Generator* = nullptr);
struct KaimingOptions {
  double a = 0;  // the slope of Nonlinearity::leaky_relu where its argument is negative
  Fan mode = Fan::in;
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
  Generator* generator = nullptr;
};
/// Draws with standard deviation gain / sqrt(fan) (He et al. 2015).
void kaiming_uniform_(Variable, const KaimingOptions& = {});
void kaiming_normal_(Variable, const KaimingOptions& = {});
/// Makes rows, or columns if there are fewer, orthogonal and of length `gain`, all axes but the first being
/// one (Saxe et al. 2013). ShapeError for fewer than two dimensions.
void orthogonal_(Variable, double gain = 1, Generator* = nullptr);
/// Draws normal numbers and replaces a share of each column's, rounded up, by 0 (Martens 2010). ShapeError
/// for other than two dimensions; Error unless 0 <= sparsity <= 1.
void sparse_(Variable, double sparsity, double std = 0.01, Generator* = nullptr);

}  // namespace lazy::nn::init
