// Sums up a model for one input, module by module: shapes, parameters, arithmetic and bytes.
//
//   std::cout << lazy::summary(model, zeros({1, 3, 224, 224}));
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy {

/// Describes one module, with all that is in it.
struct ModuleRow {
  std::string path;          // "layer1.0.conv1"; of the model itself ""
  std::string type;          // "Conv2d"
  int depth = 0;             // of modules around it
  bool called = false;       // something was recorded for it: else it has no output, flops and bytes
  Shape output;              // of the last value that it gives
  int64_t parameters = 0;    // elements of them
  int64_t trained = 0;       // of these, of those that are trained
  double multiply_adds = 0;  // in products of matrices and convolutions
  double flops = 0;          // of these two each, and one for each other op of arithmetic on an element
  double bytes = 0;          // that it has to read and write at least: inputs, parameters, outputs, each once
};

struct ModuleSummary {
  std::vector<ModuleRow> rows;  // the model, then each module before those in it
  /// Returns the row of the whole model.
  const ModuleRow& total() const { return rows.front(); }
};
/// Prints a table.
std::ostream& operator<<(std::ostream&, const ModuleSummary&);
std::string to_string(const ModuleSummary&);

namespace detail {
ModuleSummary summary_of(nn::Module&, const std::function<void()>& call, const Site&);
}  // namespace detail

/// Records a call of the model with `input`, as in evaluation (eval()), and sums it up by module. Computes
/// nothing, unless the model reads a value, and changes nothing: each module trains afterwards if it did
/// before. An op belongs to the module whose parameters it reads; one that reads none, to the module that
/// both the parameters read before it and after it are in. A module that shares its parameters with one
/// before it counts there. Throws what the call throws.
template <std::derived_from<nn::Module> M>
ModuleSummary summary(M& model, const Tensor& input, Site s = Site::current()) {
  return detail::summary_of(
      model, [&] { (void)model(input); }, s);
}
/// Sums up likewise what `call` records, for a model of several inputs:
///   lazy::summary(model, [&] { (void)model(ids, mask); })
template <std::derived_from<nn::Module> M, std::invocable F>
ModuleSummary summary(M& model, F&& call, Site s = Site::current()) {
  return detail::summary_of(
      model, [&] { (void)call(); }, s);
}

}  // namespace lazy
