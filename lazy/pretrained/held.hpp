// Holds a model behind an interface. Internal to lazy/pretrained.
#pragma once
#include "lazy/pretrained/families.hpp"

namespace lazy::pretrained {

/// Says what Model says, of a model of any type.
class Held {
 public:
  std::string architecture, config;
  std::vector<Value> inputs, outputs;

  virtual ~Held() = default;
  virtual NamedTensors call(const NamedTensors& inputs, const Site&) = 0;
  virtual nn::Module& module() = 0;
  virtual std::unique_ptr<Held> copy() const = 0;
};

template <class M>
class HeldAs final : public Held {
 public:
  explicit HeldAs(M m) : model(std::move(m)) {
    inputs = Family<M>::inputs(model);
    outputs = Family<M>::outputs(model);
    // What a model computes in has its weights' dtype.
    const auto parameters = model.parameters();
    for (std::vector<Value>* all : {&inputs, &outputs})
      for (Value& v : *all)
        if (is_float(v.dtype) && !parameters.empty()) v.dtype = parameters[0]->dtype();
  }
  NamedTensors call(const NamedTensors& in, const Site& s) override { return Family<M>::call(model, in, s); }
  nn::Module& module() override { return model; }
  std::unique_ptr<Held> copy() const override {
    auto r = std::make_unique<HeldAs>(M(model));
    r->architecture = architecture;
    r->config = config;
    return r;
  }
  M model;
};

template <class M>
std::unique_ptr<Held> held_as(const Source& from) {
  auto r = std::make_unique<HeldAs<M>>(load_as<M>(from));
  r->config = from.config.file().bytes;
  return r;
}

}  // namespace lazy::pretrained
