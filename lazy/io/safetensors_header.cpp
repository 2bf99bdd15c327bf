#include "lazy/io/safetensors_header.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace lazy::detail {
namespace {

/// Is told what the JSON parser finds, and throws IoError at the first thing that has no place where it is.
/// The parser keeps its own stack, so depth costs no stack of ours.
class Sax : public nlohmann::json_sax<nlohmann::json> {
 public:
  Sax(const FileBytes& f, uint64_t begin) : file_(f), begin_(begin) {}
  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("true or false"); }
  bool number_integer(number_integer_t) override { return other("a negative number"); }
  bool number_unsigned(number_unsigned_t) override { return other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number"); }
  bool string(string_t&) override { return other("a string"); }
  bool binary(binary_t&) override { return other("binary"); }
  bool start_object(size_t) override { return other("an object"); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(size_t) override { return other("a list"); }
  bool end_array() override { return --depth_, true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    file_.bad(begin_ + position, "expected JSON in UTF-8");
  }

 protected:
  /// Throws IoError: `found` is where something else should be.
  [[noreturn]] void wrong(const std::string& what) const { file_.bad(begin_, what); }
  /// Is called for each value that the reader does not override: throws, or skips it.
  virtual bool other(const char* found) = 0;
  const FileBytes& file_;
  uint64_t begin_;
  int depth_ = 0;
};

/// Reads {"name": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {"key": "text"}}.
class HeaderSax : public Sax {
 public:
  using Sax::Sax;
  SafeHeader header;

  bool start_object(size_t) override {
    if (++depth_ > 2) return other("an object");
    field_ = fields_ = 0;
    return true;
  }
  bool key(string_t& k) override {
    if (depth_ == 1) {
      in_metadata_ = k == "__metadata__";
      if (!names_.insert(k).second) wrong("'" + k + "' is there twice");
      if (!in_metadata_) header.entries.push_back({k, {}, {}, {}});
    } else if (in_metadata_) {
      if (header.metadata.contains(k)) wrong("__metadata__ has '" + k + "' twice");
      text_ = &header.metadata[k];
    } else {
      field_ = k == "dtype" ? kDType : k == "shape" ? kShape : k == "data_offsets" ? kOffsets : 0;
      if (!field_ || (fields_ & field_)) wrong(tensor() + "has an unexpected or second '" + k + "'");
      fields_ |= field_;
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_ && fields_ != (kDType | kShape | kOffsets))
      wrong(tensor() + "needs dtype, shape and data_offsets");
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || !(field_ & (kShape | kOffsets))) return other("a list");
    ++depth_;
    return true;
  }
  bool string(string_t& s) override {
    if (depth_ != 2 || (!in_metadata_ && field_ != kDType)) return other("a string");
    (in_metadata_ ? *text_ : header.entries.back().dtype) = s;
    return true;
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (depth_ != 3) return other("a number");
    SafeEntry& e = header.entries.back();
    if (field_ == kShape && e.shape.size() == kMaxRank)
      file_.fail<ShapeError>(begin_, tensor() + "has more than " + std::to_string(kMaxRank) + " dimensions");
    if (field_ == kOffsets && e.offsets.size() == 2) wrong(tensor() + "has more than two data_offsets");
    (field_ == kShape ? e.shape : e.offsets).push_back(v);
    return true;
  }

 protected:
  bool other(const char* found) override {
    if (depth_ == 0 || header.entries.empty())
      wrong(std::string("found ") + found + " where it has no place");
    wrong(tensor() + "has " + found + " where it has no place");
  }

 private:
  static constexpr int kDType = 1, kShape = 2, kOffsets = 4;
  std::string tensor() const { return "tensor '" + header.entries.back().name + "' "; }
  std::unordered_set<std::string> names_;
  std::string* text_ = nullptr;
  bool in_metadata_ = false;
  int field_ = 0, fields_ = 0;
};

/// Reads {"metadata": anything, "weight_map": {"name": "file"}}.
class IndexSax : public Sax {
 public:
  using Sax::Sax;
  std::map<std::string, std::string> files;
  bool complete = false;

  bool start_object(size_t) override {
    if (depth_ == 1 && in_map_) {
      if (std::exchange(complete, true)) wrong("weight_map is there twice");
    } else if (depth_ > 0) {
      other("an object");
    }
    return enter();
  }
  bool start_array(size_t) override { return other("a list") && enter(); }
  bool key(string_t& k) override {
    if (depth_ == 1) in_map_ = k == "weight_map";
    else if (in_map_ && files.contains(k)) wrong("weight_map has '" + k + "' twice");
    else if (in_map_) file_of_ = &files[k];
    return true;
  }
  bool string(string_t& s) override {
    if (depth_ != 2 || !in_map_) return other("a string");
    *file_of_ = s;
    return true;
  }

 protected:
  bool other(const char* found) override {
    if (in_map_ || depth_ == 0)
      wrong(std::string("expected an object with weight_map, names to files; found ") + found);
    return true;
  }

 private:
  bool enter() {
    constexpr int kMostDepth = 64;
    if (++depth_ > kMostDepth) wrong("nested deeper than " + std::to_string(kMostDepth));
    return true;
  }
  std::string* file_of_ = nullptr;
  bool in_map_ = false;
};

}  // namespace

namespace {

/// Reads JSON. The parser takes a NUL for the end, whatever is behind.
void parse(const FileBytes& f, uint64_t begin, std::string_view text, Sax& sax) {
  if (const size_t nul = text.find('\0'); nul != text.npos)
    f.bad(begin + nul, "expected JSON in UTF-8, found a byte 0");
  (void)nlohmann::json::sax_parse(text.begin(), text.end(), &sax);
}

}  // namespace

SafeHeader read_safe_header(const FileBytes& f) {
  constexpr uint64_t kMostHeader = 100'000'000, kBefore = 8;  // bytes; the format's own limit
  f.need(0, kBefore, "the header's length");
  const auto length = f.little<uint64_t>(0);
  if (length > kMostHeader)
    f.bad(0, "this is no safetensors file: its first 8 bytes would be the length of a header above 100 MB");
  f.need(kBefore, length, "the header");
  const std::string_view text = f.bytes.substr(kBefore, length);
  if (!text.starts_with('{')) f.bad(kBefore, "expected a safetensors header, which begins with '{'");
  HeaderSax sax(f, kBefore);
  parse(f, kBefore, text, sax);
  sax.header.data = kBefore + length;
  return std::move(sax.header);
}

std::map<std::string, std::string> read_safe_index(const FileBytes& f) {
  IndexSax sax(f, 0);
  parse(f, 0, f.bytes, sax);
  if (!sax.complete) f.bad(0, "expected an object with weight_map");
  for (const auto& [name, file] : sax.files)
    if (file.empty() || file == ".." || file == "." || file.find('/') != std::string::npos ||
        file.find('\0') != std::string::npos)
      f.bad(0, "expected the name of a file beside the index for '" + name + "', found '" + file + "'");
  return std::move(sax.files);
}

std::string json_text(const char* op, const std::string& s, const Site& site) {
  try {
    return nlohmann::json(s).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(std::string(op) + ": a name or text of metadata is not UTF-8", site);
  }
}

}  // namespace lazy::detail
