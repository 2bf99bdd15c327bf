// Reads JSON of tokenizers: a small document of settings, and, apart from it, what may have a million
// entries.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/io/file.hpp"

namespace lazy::text::files {

using Json = nlohmann::json;

/// Holds the entries of model.vocab and model.merges, whose texts lie in one string.
struct Entries {
  struct Part {
    uint32_t begin = 0, size = 0;  // in `texts`
  };
  struct Token {
    Part text;
    double number = 0;  // id, or score where the vocabulary is a list
  };
  std::string texts;
  std::vector<Token> vocabulary;
  bool vocabulary_is_list = false;
  std::vector<std::pair<Part, Part>> merges;
  std::string_view text(Part p) const { return std::string_view(texts).substr(p.begin, p.size); }
};

/// Reads a document. Vocabulary and merges of "model" go into `entries`, if there is any; with
/// `is_vocabulary` the document is a vocabulary itself. IoError, with the byte, for what is no JSON in UTF-8,
/// and for a document that is nested too deep or has too many values.
Json read_json(const lazy::detail::FileBytes&, Entries* entries, bool is_vocabulary = false);

/// Collects all that a file has and that is not supported, each with its place in the file.
class Problems {
 public:
  void add(const std::string& path, const std::string& what) { lines_ += "\n  " + path + ": " + what; }
  /// Throws Error, with all of them, if there are any.
  void raise(const char* op, const std::string& file, const Site&) const;
  bool any() const { return !lines_.empty(); }

 private:
  std::string lines_;
};

/// Reads an object of settings, key by key: what is wrong, missing or left over becomes a problem.
class Settings {
 public:
  Settings(const Json& value, std::string path, Problems& problems);
  /// Ends the reading: keys that nothing asked for are problems.
  ~Settings();
  Settings(const Settings&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  Problems& problems() const { return problems_; }
  /// Returns the value of a key; null if there is none, or null is there.
  const Json* find(const char* key);
  /// Takes keys that have no say in what is computed.
  void ignore(std::initializer_list<const char*> keys);
  std::string text(const char* key, std::optional<std::string> otherwise = {});
  bool flag(const char* key, std::optional<bool> otherwise = {});
  /// Returns a whole number that is not negative.
  uint64_t number(const char* key, std::optional<uint64_t> otherwise = {});
  void wrong(const char* key, const std::string& what) { problems_.add(path(key), what); }

 private:
  const Json& value_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string_view> asked_;
};

/// Describes a JSON value in a few words, for errors.
std::string described(const Json&);

}  // namespace lazy::text::files
