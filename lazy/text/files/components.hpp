// Makes the parts of a pipeline of the objects that tokenizer.json has for them.
#pragma once
#include "lazy/text/files/json.hpp"
#include "lazy/text/files/loaded.hpp"

namespace lazy::text::files {

/// Holds what parts are made with.
struct Making {
  Problems& problems;
  Site site;
};

// Return the part that a value describes. What is not supported becomes a problem, and null is returned.

pipeline::NormalizerPtr make_normalizer(const Json&, const std::string& path, const Making&);
pipeline::PreTokenizerPtr make_pre_tokenizer(const Json&, const std::string& path, bool is_last,
                                             const Making&);
pipeline::PostProcessorPtr make_post_processor(const Json&, const std::string& path, const Making&);
pipeline::DecoderPtr make_decoder(const Json&, const std::string& path, const Making&);
std::unique_ptr<model::Model> make_model(const Json&, const Entries&, const std::string& path, const Making&);

/// Reads a pattern: {"String": ...} or {"Regex": ...}.
pipeline::Pattern read_pattern(Settings&, const char* key, const Making&);
/// Returns the paths and values of a list; a problem for what is none.
std::vector<std::pair<std::string, const Json*>> read_list(Settings&, const char* key);
/// Reads a string of one character.
std::string read_character(Settings&, const char* key, std::optional<std::string> otherwise = {});

/// Fills a vocabulary of entries: ids as they are said, or by the entries' order. What is wrong becomes a
/// problem.
void fill(model::Vocabulary&, const Entries&, const std::string& path, Problems&);
/// Returns whether no token has a U+2581 behind another character, and this is a token itself.
bool spaces_begin_tokens(const model::Vocabulary&);
/// Fills the merges of a model, whose vocabulary is there.
void fill_merges(model::Model&, const Entries&, const std::string& path, Problems&);

}  // namespace lazy::text::files
