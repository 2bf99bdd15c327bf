#include "lazy/onnx/quantize.hpp"

#include "lazy/onnx/import/weights.hpp"
#include "lazy/onnx/program.hpp"

namespace lazy::onnx {

std::vector<quant::Change> quantize_(Model& model, const quant::Config& config, Site s) {
  if (!model.program_) throw Error("quantize_: the model is default-constructed", s);
  std::vector<quant::Change> done;
  std::vector<Parameter> quantised(model.quantised_);
  quantised.resize(model.weights_.size());
  for (const auto& [i, products] : weights_of_products(*model.program_->graph)) {
    const Tensor& w = model.weights_[i];
    if (quantised[i].defined() || !w.defined() || !is_float(w.dtype(s)) || w.size(s) == 0) continue;
    const bool inputs_first = products == Products::inputs_first;
    if (w.ndim(s) < 2 || (inputs_first && w.ndim(s) != 2)) continue;
    quantised[i] = Parameter(w, false, s);
    done.push_back(quant::detail::quantize_parameter(quantised[i], model.program_->weight_names[i], config,
                                                     inputs_first, s));
  }
  // Nothing has changed if a weight's could not be: now the others' memory goes.
  for (size_t i = 0; i < quantised.size(); ++i)
    if (quantised[i].defined()) model.weights_[i] = Tensor();
  model.quantised_ = std::move(quantised);
  return done;
}

}  // namespace lazy::onnx
