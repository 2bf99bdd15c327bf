// Shares what the families of models have in common. Internal to lazy/pretrained.
#pragma once
#include "lazy/pretrained/families.hpp"

namespace lazy::pretrained {

/// True if the config names that architecture.
bool has_architecture(const ConfigFile&, std::string_view name);
/// Returns the input, or an undefined tensor where it is left out.
Tensor given(const NamedTensors& inputs, std::string_view name);
/// Has names that begin with one of these parts get a prefix.
void add_prefix(const std::string& prefix, std::initializer_list<const char*> parts, std::vector<Rename>&);
/// Returns a config that names what it is of.
nlohmann::ordered_json begun(const char* architecture, const char* kind);

}  // namespace lazy::pretrained
