#include "lazy/text/files/load.hpp"

#include "support/error.hpp"

namespace lazy::text::files {
namespace {

namespace fs = std::filesystem;
using lazy::detail::Access;
using lazy::detail::FileBytes;

FileBytes open(const fs::path& path, const Site& s) {
  return lazy::detail::open_file(kOp, path.string(), s, Access::mapped);
}

Config read_config(const fs::path& folder, const Site& s) {
  Config out{Json::object(), (folder / "tokenizer_config.json").string()};
  const auto file = lazy::detail::open_file_if_any(kOp, out.file, s);
  if (!file) return out;
  out.values = read_json(*file, nullptr);
  if (!out.values.is_object()) file->bad(0, "expected an object");
  return out;
}

/// Returns the chat template: that of chat_template.jinja, else of tokenizer_config.json, which may have
/// several by name: then the one called default.
std::string chat_template_of(const Config& config, const Site& s) {
  const fs::path alone = fs::path(config.file).parent_path() / "chat_template.jinja";
  if (const auto file = lazy::detail::open_file_if_any(kOp, alone.string(), s))
    return {reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size()};
  const auto several = config.values.find("chat_template");
  if (several == config.values.end() || !several->is_array()) return config.text("chat_template");
  for (const Json& each : *several)
    if (each.is_object() && each.value("name", Json()) == "default" && each.contains("template") &&
        each["template"].is_string())
      return each["template"].get<std::string>();
  return {};
}

/// Sets what the config says about special tokens.
void apply(const Config& config, Loaded& out, const Site& s) {
  const auto set = [&](const char* key, std::optional<int64_t>& id) {
    if (!config.values.contains(key)) return;
    const std::string token = config.token(key);
    id = token.empty() ? std::nullopt : out.id(token);
  };
  set("bos_token", out.bos);
  set("eos_token", out.eos);
  set("pad_token", out.pad);
  set("unk_token", out.unk);
  out.chat_template = chat_template_of(config, s);
}

std::unique_ptr<Loaded> load_file(const fs::path& path, const Config& config, const Site& s) {
  const std::string name = path.filename().string(), ending = path.extension().string();
  if (name == "vocab.json" || name == "merges.txt") {
    const fs::path folder = path.parent_path();
    return load_byte_pairs(open(folder / "vocab.json", s), open(folder / "merges.txt", s), config);
  }
  if (ending == ".json") return load_json(open(path, s));
  if (ending == ".model" || ending == ".spm") {
    auto out = load_sentencepiece(open(path, s));
    apply(config, *out, s);
    // The model itself does not know.
    add_ends(config.flag("add_bos_token", false), config.flag("add_eos_token", false), *out);
    return out;
  }
  if (ending == ".txt") return load_word_pieces(open(path, s), config);
  throw IoError(std::string(kOp) + ": " + path.string() +
                    ": expected a folder, tokenizer.json, a .model of SentencePiece, vocab.txt, or "
                    "vocab.json beside merges.txt, or a file in the GGUF format",
                s);
}

}  // namespace

void add_ends(bool bos, bool eos, Loaded& out) {
  auto p = std::make_unique<pipeline::TemplateProcessing>();
  bos = bos && out.bos, eos = eos && out.eos;
  if (!bos && !eos) return;
  const auto put = [&](std::vector<pipeline::TemplateProcessing::Part>& to, int sequence, int64_t type) {
    if (bos) to.push_back({-1, {*out.bos}, type});
    to.push_back({sequence, {}, type});
    if (eos) to.push_back({-1, {*out.eos}, type});
  };
  put(p->single, 0, 0);
  put(p->pair, 0, 0);
  put(p->pair, 1, 1);
  out.post_processor = std::move(p);
}

bool Config::flag(const char* key, bool otherwise) const {
  const auto at = values.find(key);
  return at != values.end() && at->is_boolean() ? at->get<bool>() : otherwise;
}

std::string Config::text(const char* key) const {
  const auto at = values.find(key);
  return at != values.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string Config::token(const char* key) const {
  const auto at = values.find(key);
  if (at == values.end() || !at->is_object()) return text(key);
  const auto content = at->find("content");
  return content != at->end() && content->is_string() ? content->get<std::string>() : std::string();
}

std::unique_ptr<const Loaded> load(const fs::path& path, const Site& s) {
  std::error_code error;
  if (path.extension() == ".gguf" && !fs::is_directory(path, error)) return load_gguf(path, s);
  if (!fs::is_directory(path, error)) {
    const Config config = read_config(path.parent_path(), s);
    auto out = load_file(path, config, s);
    apply(config, *out, s);
    return out;
  }
  const Config config = read_config(path, s);
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
                           "vocab.txt", "vocab.json"})
    if (fs::exists(path / name, error)) {
      auto out = load_file(path / name, config, s);
      apply(config, *out, s);
      return out;
    }
  throw IoError(
      std::string(kOp) + ": " + path.string() +
          ": the folder has none of tokenizer.json, tokenizer.model, spiece.model, vocab.txt and vocab.json",
      s);
}

}  // namespace lazy::text::files
