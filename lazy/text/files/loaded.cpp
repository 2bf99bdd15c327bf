#include "lazy/text/files/loaded.hpp"

namespace lazy::text::files {

std::optional<int64_t> Loaded::id(std::string_view token) const {
  if (const auto* a = added.of(token)) return a->id;
  const model::Id id = model->vocabulary.find(token);
  if (id == model::kNone) return {};
  return id;
}

std::optional<std::string_view> Loaded::token(int64_t id) const {
  if (id < 0 || id >= static_cast<int64_t>(model::kMostId)) return {};
  const auto small = static_cast<model::Id>(id);
  if (const auto* a = added.of(small)) return a->content;
  return model->vocabulary.token(small);
}

}  // namespace lazy::text::files
