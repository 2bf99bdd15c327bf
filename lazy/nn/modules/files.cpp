// Implements files of a module's state.
#include "lazy/io/safetensors.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::nn {

void Module::save(const std::string& path, Site s) const { save_safetensors(path, state_dict(s), {}, s); }

IncompatibleKeys Module::load(const std::string& path, bool strict, Site s) {
  return load_state_dict(load_safetensors(path, {}, s), strict, s);
}

}  // namespace lazy::nn
