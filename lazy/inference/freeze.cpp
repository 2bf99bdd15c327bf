#include "lazy/inference/freeze.hpp"

#include <vector>

#include "jit/graph/node.hpp"
#include "lazy/io/safetensors.hpp"

namespace lazy::inference {
namespace {

/// Lists the members of a model that have values.
struct Values final : nn::Visitor {
  std::vector<Parameter*> parameters;
  std::vector<Tensor*> buffers;
  explicit Values(nn::Module& m) { visit(m); }

 protected:
  void parameter(const std::string&, Parameter& p) override { parameters.push_back(&p); }
  void buffer(const std::string&, Tensor& b) override { buffers.push_back(&b); }
};

bool is_frozen(const Tensor& t) { return t.defined() && t.handle()->frozen; }

}  // namespace

nn::Module& freeze(nn::Module& model, Site s) {
  model.eval(s);
  Values all(model);
  std::vector<Tensor> values;
  for (const Parameter* p : all.parameters) values.push_back(p->detach(s));
  for (const Tensor* b : all.buffers) values.push_back(b->detach(s));
  eval(values, s);
  values.clear();
  bool any = false;
  for (Parameter* p : all.parameters)
    if (!p->frozen()) p->freeze(s), any = true;
  for (Tensor* b : all.buffers)
    if (!is_frozen(*b)) *b = Tensor(lazy::detail::separate_frozen(*b, true, s)), any = true;
  if (any) nn::Module::note_mode_change();
  return model;
}

nn::Module& freeze(nn::Module& model, const std::string& path, Site s) {
  freeze(model, s);
  save_safetensors(path, model.state_dict(s), {}, s);
  return model;
}

nn::Module& load_frozen(nn::Module& model, const std::string& path, Site s) {
  const Safetensors file = load_safetensors(path, {}, s);
  const bool was_frozen = is_frozen(model);
  thaw(model, s);
  try {
    model.load_state_dict(file, true, s);
  } catch (...) {
    if (was_frozen) freeze(model, s);
    throw;
  }
  return freeze(model, s);
}

nn::Module& thaw(nn::Module& model, Site s) {
  Values all(model);
  bool any = false;
  for (Parameter* p : all.parameters)
    if (p->frozen()) p->thaw(s), any = true;
  for (Tensor* b : all.buffers)
    if (is_frozen(*b)) *b = Tensor(lazy::detail::separate_frozen(*b, false, s)), any = true;
  if (any) nn::Module::note_mode_change();
  return model;
}

bool is_frozen(const nn::Module& model) {
  const Values all(const_cast<nn::Module&>(model));  // which only reads
  for (const Parameter* p : all.parameters)
    if (!p->frozen()) return false;
  for (const Tensor* b : all.buffers)
    if (!is_frozen(*b)) return false;
  return !all.parameters.empty() || !all.buffers.empty();
}

}  // namespace lazy::inference
