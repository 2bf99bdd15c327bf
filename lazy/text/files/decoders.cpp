#include "lazy/text/files/components.hpp"

namespace lazy::text::files {

using namespace pipeline;

namespace {

DecoderPtr make_metaspace_decoder(Settings& settings) {
  auto d = std::make_unique<MetaspaceDecoder>();
  settings.ignore({"str_rep", "split"});
  d->replacement = read_character(settings, "replacement");
  const bool adds = settings.flag("add_prefix_space", true);
  const std::string scheme = settings.text("prepend_scheme", adds ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    settings.wrong("prepend_scheme", "'" + scheme + "' is not supported");
  d->drops_first = scheme != "never";
  return d;
}

DecoderPtr make_strip(Settings& settings) {
  auto d = std::make_unique<StripDecoder>();
  d->content = read_character(settings, "content");
  d->start = settings.number("start");
  d->stop = settings.number("stop");
  return d;
}

DecoderPtr make_ctc(Settings& settings) {
  auto d = std::make_unique<CtcDecoder>();
  d->pad_token = settings.text("pad_token");
  d->word_delimiter_token = settings.text("word_delimiter_token");
  d->cleanup = settings.flag("cleanup");
  return d;
}

}  // namespace

DecoderPtr make_decoder(const Json& v, const std::string& path, const Making& making) {
  Settings settings(v, path, making.problems);
  const std::string type = settings.text("type");
  if (type == "Metaspace") return make_metaspace_decoder(settings);
  if (type == "Strip") return make_strip(settings);
  if (type == "CTC") return make_ctc(settings);
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "ByteLevel") {
    settings.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "WordPiece") {
    auto d = std::make_unique<WordPieceDecoder>();
    d->prefix = settings.text("prefix", "##");
    d->cleanup = settings.flag("cleanup", true);
    return d;
  }
  if (type == "BPEDecoder") {
    auto d = std::make_unique<BpeDecoder>();
    d->suffix = settings.text("suffix", "</w>");
    return d;
  }
  if (type == "Replace") {
    auto d = std::make_unique<ReplaceDecoder>();
    d->pattern = read_pattern(settings, "pattern", making);
    d->content = settings.text("content");
    return d;
  }
  if (type == "Sequence") {
    auto all = std::make_unique<DecoderSequence>();
    for (const auto& [at, one] : read_list(settings, "decoders"))
      if (auto d = make_decoder(*one, at, making)) all->all.push_back(std::move(d));
    return all;
  }
  if (!type.empty()) settings.wrong("type", "the decoder '" + type + "' is not supported");
  return nullptr;
}

}  // namespace lazy::text::files
