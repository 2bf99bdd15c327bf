#include <map>

#include "lazy/text/files/components.hpp"

namespace lazy::text::files {

using namespace pipeline;

namespace {

/// Reads a token and its id: ["[CLS]", 101].
int64_t read_pair(Settings& settings, const char* key) {
  const Json* v = settings.find(key);
  if (v && v->is_array() && v->size() == 2 && (*v)[0].is_string() && (*v)[1].is_number_unsigned() &&
      (*v)[1].get<uint64_t>() < model::kMostId)
    return (*v)[1].get<int64_t>();
  settings.wrong(key, "expected a token and its id, found " + (v ? described(*v) : "nothing"));
  return 0;
}

using SpecialIds = std::map<std::string, std::vector<int64_t>>;

SpecialIds read_special(Settings& settings) {
  SpecialIds out;
  const Json* v = settings.find("special_tokens");
  if (!v) return out;
  if (!v->is_object()) {
    settings.wrong("special_tokens", "expected an object, found " + described(*v));
    return out;
  }
  for (const auto& [name, token] : v->items()) {
    Settings one(token, settings.path("special_tokens") + "." + name, settings.problems());
    one.ignore({"id", "tokens"});
    for (const auto& [path, id] : read_list(one, "ids"))
      if (id->is_number_unsigned() && id->get<uint64_t>() < model::kMostId)
        out[name].push_back(id->get<int64_t>());
      else settings.problems().add(path, "expected an id, found " + described(*id));
  }
  return out;
}

std::vector<TemplateProcessing::Part> read_template(Settings& settings, const char* key,
                                                    const SpecialIds& special, bool is_pair) {
  std::vector<TemplateProcessing::Part> out;
  for (const auto& [path, v] : read_list(settings, key)) {
    Settings part(*v, path, settings.problems());
    TemplateProcessing::Part made;
    const Json* const sequence = part.find("Sequence");
    const Json* const token = part.find("SpecialToken");
    if (!sequence == !token) {
      settings.problems().add(path, "expected Sequence or SpecialToken");
      continue;
    }
    Settings inner(sequence ? *sequence : *token, path + (sequence ? ".Sequence" : ".SpecialToken"),
                   settings.problems());
    const std::string id = inner.text("id");
    made.type_id = static_cast<int64_t>(std::min<uint64_t>(inner.number("type_id"), INT32_MAX));
    if (sequence) {
      made.sequence = id == "B";
      if (id != "A" && !(id == "B" && is_pair)) inner.wrong("id", "there is no sequence '" + id + "'");
    } else if (const auto at = special.find(id); at != special.end()) {
      made.ids = at->second;
    } else {
      inner.wrong("id", "'" + id + "' is not in special_tokens");
    }
    out.push_back(std::move(made));
  }
  return out;
}

PostProcessorPtr make_template(Settings& settings) {
  auto p = std::make_unique<TemplateProcessing>();
  const SpecialIds special = read_special(settings);
  p->single = read_template(settings, "single", special, false);
  p->pair = read_template(settings, "pair", special, true);
  return p;
}

PostProcessorPtr make_roberta(Settings& settings) {
  auto p = std::make_unique<RobertaProcessing>();
  p->sep = read_pair(settings, "sep");
  p->cls = read_pair(settings, "cls");
  p->trim_offsets = settings.flag("trim_offsets", true);
  p->add_prefix_space = settings.flag("add_prefix_space", true);
  return p;
}

}  // namespace

PostProcessorPtr make_post_processor(const Json& v, const std::string& path, const Making& making) {
  Settings settings(v, path, making.problems);
  const std::string type = settings.text("type");
  if (type == "TemplateProcessing") return make_template(settings);
  if (type == "RobertaProcessing") return make_roberta(settings);
  if (type == "BertProcessing") {
    auto p = std::make_unique<BertProcessing>();
    p->sep = read_pair(settings, "sep");
    p->cls = read_pair(settings, "cls");
    return p;
  }
  if (type == "ByteLevel") {
    auto p = std::make_unique<ByteLevelProcessing>();
    settings.ignore({"use_regex"});
    p->trim_offsets = settings.flag("trim_offsets", true);
    p->add_prefix_space = settings.flag("add_prefix_space", true);
    return p;
  }
  if (type == "Sequence") {
    auto all = std::make_unique<PostProcessorSequence>();
    for (const auto& [at, one] : read_list(settings, "processors"))
      if (auto p = make_post_processor(*one, at, making)) all->all.push_back(std::move(p));
    return all;
  }
  if (!type.empty()) settings.wrong("type", "the post-processor '" + type + "' is not supported");
  return nullptr;
}

}  // namespace lazy::text::files
