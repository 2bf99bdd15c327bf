// Parametrizations that are ready: of torch.nn.utils.parametrizations, and of adapted weights; those of
// quantised ones are in lazy/quant.
#pragma once
#include <optional>
#include <string_view>

#include "lazy/nn/modules/parametrize.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::nn::utils::parametrizations {

/// Splits a weight into its lengths, part 0, and its direction, part 1: original0 * original1 / |original1|,
/// with one length for each index of `dim`, or one for all if there is none (Salimans and Kingma, 2016).
struct WeightNorm final : parametrize::Parametrization {
  std::optional<int64_t> dim;
  explicit WeightNorm(std::optional<int64_t> along = 0) : dim(along) {}
  Tensor forward(const std::vector<Tensor>& x, Site s) override;
  std::optional<std::vector<Tensor>> right_inverse(const Tensor& value, Site s) override;
  std::string name() const override { return "_WeightNorm"; }
};

/// Divides a weight by its largest singular value, as a matrix of rows along `dim` (Miyato et al., 2018).
/// Two vectors, buffers `_u` and `_v`, come nearer to that value's with each reading in training, by
/// `n_power_iterations` steps; they don't change in evaluation. A vector is divided by its length.
struct SpectralNorm final : parametrize::Parametrization {
  int64_t n_power_iterations, dim;
  double eps;
  SpectralNorm(const Tensor& weight, int64_t iterations, double least, int64_t rows_along,
               Generator* generator, Site s);
  Tensor forward(const std::vector<Tensor>& x, Site s) override;
  std::optional<std::vector<Tensor>> right_inverse(const Tensor& value, Site s) override;
  std::string name() const override { return "_SpectralNorm"; }

 protected:
  void members(Visitor&) override;

 private:
  void iterate(const Tensor& matrix, int64_t times, const Site& s);
  Tensor u_, v_;  // (rows) and (columns), of length 1; undefined for a vector
};

/// Adds scale * lora_B lora_A to a weight as a matrix of (shape[0], the rest): (out, rank) (rank, in) (Hu et
/// al., 2021).
struct LowRank final : parametrize::Parametrization {
  Parameter lora_A, lora_B;
  double scale;
  LowRank(const Tensor& weight, int64_t rank, double factor, Generator* generator, Site s);
  Tensor forward(const std::vector<Tensor>& x, Site s) override;
  std::string extra_repr() const override;
  LAZY_MODULE(lora_A, lora_B)
};

// Each of these registers one for a parameter of a module. Error for a name that the module has not;
// IndexError for an axis that the parameter has not.

void weight_norm(Module& module, std::string_view name = "weight", std::optional<int64_t> dim = 0,
                 Site s = Site::current());
/// `dim` is where torch has it if it is not given: 1 for transposed convolutions, else 0. The vectors begin
/// with random numbers and 15 steps.
void spectral_norm(Module& module, std::string_view name = "weight", IntegerArg n_power_iterations = 1,
                   double eps = 1e-12, std::optional<int64_t> dim = {}, Generator* generator = nullptr,
                   Site s = Site::current());
/// Freezes the parameter and trains two matrices beside it, of which the first begins as a layer's weights do
/// and the second with zeros; the scale is alpha / rank. remove_parametrizations() adds them for good.
/// ShapeError for a parameter of less than two dimensions, Error for a rank below 1.
void low_rank(Module& module, std::string_view name, IntegerArg rank, double alpha = 1,
              Generator* generator = nullptr, Site s = Site::current());

}  // namespace lazy::nn::utils::parametrizations
