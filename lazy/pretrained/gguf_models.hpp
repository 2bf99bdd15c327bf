// Makes models of files in the GGUF format. Internal to lazy/pretrained.
#pragma once
#include <filesystem>
#include <memory>

#include "lazy/pretrained/held.hpp"

namespace lazy::pretrained {

/// Loads a file as the model that its general.architecture says it is. Throws what load() throws.
std::unique_ptr<Held> load_gguf_model(const char* op, const std::filesystem::path&, const Options&,
                                      const Site&);

}  // namespace lazy::pretrained
