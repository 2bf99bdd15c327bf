#include "lazy/text/files/json.hpp"

#include <algorithm>
#include <array>

#include "lazy/text/model/vocabulary.hpp"

namespace lazy::text::files {
namespace {

constexpr size_t kMostValues = 1 << 18, kMostDepth = 64;  // of a document without vocabulary and merges

/// Is told what the parser finds: builds the document, and puts entries where they belong.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(const lazy::detail::FileBytes& file, Entries* entries, bool is_vocabulary)
      : file_(file), entries_(entries), whole_is_vocabulary_(is_vocabulary) {}
  Json document;

  bool null() override { return put(nullptr, "null"); }
  bool boolean(bool v) override { return put(v, "true or false"); }
  bool number_integer(number_integer_t v) override { return number(static_cast<double>(v), v); }
  bool number_unsigned(number_unsigned_t v) override { return number(static_cast<double>(v), v); }
  bool number_float(number_float_t v, const string_t&) override { return number(v, v); }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& v) override;
  bool start_object(size_t) override { return open(Json::object(), "an object"); }
  bool start_array(size_t) override { return open(Json::array(), "a list"); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override;
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    file_.bad(at, "expected JSON in UTF-8");
  }

 private:
  enum class Bulk : uint8_t { none, vocabulary, merges };
  template <class T>
  bool put(T&& v, const char* what) {
    if (bulk_ != Bulk::none) return refuse(what);
    place(Json(std::forward<T>(v)));
    return true;
  }
  template <class T>
  bool number(double as_double, T v) {
    if (bulk_ != Bulk::vocabulary) return put(v, "a number");
    if (filled_ != 1) return refuse("a number");
    entries_->vocabulary.back().number = as_double;
    filled_ = 2;
    return true;
  }
  [[noreturn]] bool refuse(const std::string& found) const {
    const std::string where = bulk_ == Bulk::merges ? "model.merges" : "model.vocab";
    const size_t n = bulk_ == Bulk::merges ? entries_->merges.size() : entries_->vocabulary.size();
    file_.bad(0, where + ": found " + found + " at or behind entry " + std::to_string(n) + ", expected " +
                     (bulk_ == Bulk::merges ? "pairs of tokens" : "tokens, each with a number"));
  }
  Json* place(Json&& v);
  bool open(Json&& v, const char* what);
  bool close();
  void begin_token(const std::string& text);
  Entries::Part store(std::string_view text);

  const lazy::detail::FileBytes& file_;
  Entries* entries_;
  bool whole_is_vocabulary_;
  std::vector<Json*> stack_;
  std::string key_;
  std::vector<std::string> keys_;  // of the objects and lists that are open
  Bulk bulk_ = Bulk::none;
  size_t bulk_depth_ = 0;  // objects and lists that are open in it
  int filled_ = 0;         // how much of the entry is there: 1 its (first) text, 2 all
  size_t values_ = 0;
};

Entries::Part Reader::store(std::string_view text) {
  const Entries::Part part{static_cast<uint32_t>(entries_->texts.size()), static_cast<uint32_t>(text.size())};
  if (entries_->texts.size() + text.size() >= UINT32_MAX)
    file_.bad(0, "the vocabulary has more than 4 GiB of text");
  entries_->texts += text;
  return part;
}

void Reader::begin_token(const std::string& text) {
  if (entries_->vocabulary.size() == model::kMostTokens)
    file_.bad(0, "model.vocab: more than " + std::to_string(model::kMostTokens) + " tokens");
  entries_->vocabulary.push_back({store(text), 0});
  filled_ = 1;
}

bool Reader::key(string_t& k) {
  if (bulk_ == Bulk::none) {
    key_ = k;
    return true;
  }
  if (bulk_ == Bulk::merges || bulk_depth_ != 1 || entries_->vocabulary_is_list || filled_ == 1)
    return refuse("a key");
  begin_token(k);
  return true;
}

bool Reader::string(string_t& v) {
  if (bulk_ == Bulk::none) return put(v, "a string");
  if (bulk_ == Bulk::vocabulary) {
    if (!entries_->vocabulary_is_list || bulk_depth_ != 2 || filled_ != 0) return refuse("a string");
    begin_token(v);
    return true;
  }
  if (bulk_depth_ == 1) {  // "a b"
    const size_t space = v.find(' ');
    if (space == v.npos || v.find(' ', space + 1) != v.npos) return refuse("'" + v.substr(0, 64) + "'");
    if (entries_->merges.size() == model::kMostMerges) return refuse("too many entries");
    const std::string_view all = v;
    const auto left = store(all.substr(0, space));
    entries_->merges.emplace_back(left, store(all.substr(space + 1)));
    return true;
  }
  if (filled_ == 0) {
    if (entries_->merges.size() == model::kMostMerges) return refuse("too many entries");
    entries_->merges.push_back({store(v), {}});
  } else if (filled_ == 1) {
    entries_->merges.back().second = store(v);
  } else {
    return refuse("a third string");
  }
  ++filled_;
  return true;
}

Json* Reader::place(Json&& v) {
  if (++values_ > kMostValues)
    file_.bad(0,
              "more than " + std::to_string(kMostValues) + " values outside of model.vocab and model.merges");
  if (stack_.empty()) return &(document = std::move(v));
  Json& in = *stack_.back();
  if (in.is_array()) {
    in.push_back(std::move(v));
    return &in.back();
  }
  return &(in[key_] = std::move(v));
}

bool Reader::open(Json&& v, const char* what) {
  const bool is_list = v.is_array();
  if (bulk_ != Bulk::none) {
    if (bulk_depth_ != 1 || !is_list || (bulk_ == Bulk::vocabulary && !entries_->vocabulary_is_list))
      return refuse(what);
    ++bulk_depth_;
    filled_ = 0;
    return true;
  }
  const bool of_model = stack_.size() == 2 && keys_[1] == "model" && stack_.back()->is_object();
  const bool vocabulary =
      entries_ && (whole_is_vocabulary_ ? stack_.empty() && !is_list : of_model && key_ == "vocab");
  const bool merges = entries_ && !whole_is_vocabulary_ && of_model && key_ == "merges" && is_list;
  if (vocabulary || merges) {
    place(Json::array());
    bulk_ = vocabulary ? Bulk::vocabulary : Bulk::merges;
    if (vocabulary) {
      entries_->vocabulary.clear();
      entries_->vocabulary_is_list = is_list;
    } else {
      entries_->merges.clear();
    }
    bulk_depth_ = 1;
    filled_ = vocabulary && is_list ? 0 : 2;
    return true;
  }
  if (stack_.size() == kMostDepth)
    file_.bad(0, "lists and objects lie in each other more than " + std::to_string(kMostDepth) + " deep");
  Json* const placed = place(std::move(v));
  keys_.push_back(stack_.empty() ? std::string() : key_);
  stack_.push_back(placed);
  return true;
}

bool Reader::close() {
  if (bulk_ == Bulk::none) {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }
  if (bulk_depth_ == 2 ? filled_ != 2 : filled_ == 1) return refuse("the end of an entry");
  filled_ = 2;
  if (--bulk_depth_ == 0) bulk_ = Bulk::none;
  return true;
}

}  // namespace

Json read_json(const lazy::detail::FileBytes& file, Entries* entries, bool is_vocabulary) {
  Reader reader(file, entries, is_vocabulary);
  Json::sax_parse(file.bytes, &reader);
  return std::move(reader.document);
}

void Problems::raise(const char* op, const std::string& file, const Site& s) const {
  if (any()) throw Error(std::string(op) + ": " + file + " can't be used:" + lines_, s);
}

std::string described(const Json& v) {
  std::string text = v.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return text;
  return (v.is_object() ? "an object" : v.is_array() ? "a list" : text.substr(0, kLongest) + "...");
}

Settings::Settings(const Json& value, std::string path, Problems& problems)
    : value_(value), path_(std::move(path)), problems_(problems) {
  if (!value_.is_object()) problems_.add(path_, "expected an object, found " + described(value_));
}

Settings::~Settings() {
  if (!value_.is_object()) return;
  for (const auto& [key, v] : value_.items())
    if (!v.is_null() && std::find(asked_.begin(), asked_.end(), key) == asked_.end())
      problems_.add(path(key), "the key is not supported (its value is " + described(v) + ")");
}

const Json* Settings::find(const char* key) {
  asked_.push_back(key);
  if (!value_.is_object()) return nullptr;
  const auto at = value_.find(key);
  return at == value_.end() || at->is_null() ? nullptr : &*at;
}

void Settings::ignore(std::initializer_list<const char*> keys) {
  for (const char* key : keys) asked_.push_back(key);
}

std::string Settings::text(const char* key, std::optional<std::string> otherwise) {
  const Json* v = find(key);
  if (v && v->is_string()) return v->get<std::string>();
  if (v) wrong(key, "expected a string, found " + described(*v));
  else if (!otherwise && value_.is_object()) wrong(key, "is missing: expected a string");
  return otherwise.value_or("");
}

bool Settings::flag(const char* key, std::optional<bool> otherwise) {
  const Json* v = find(key);
  if (v && v->is_boolean()) return v->get<bool>();
  if (v) wrong(key, "expected true or false, found " + described(*v));
  else if (!otherwise && value_.is_object()) wrong(key, "is missing: expected true or false");
  return otherwise.value_or(false);
}

uint64_t Settings::number(const char* key, std::optional<uint64_t> otherwise) {
  const Json* v = find(key);
  if (v && v->is_number_unsigned()) return v->get<uint64_t>();
  if (v) wrong(key, "expected a whole number, found " + described(*v));
  else if (!otherwise && value_.is_object()) wrong(key, "is missing: expected a whole number");
  return otherwise.value_or(0);
}

}  // namespace lazy::text::files
