#include "lazy/training/shards.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "jit/backend/registry.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"
#include "support/hash.hpp"

namespace lazy::training::detail {
namespace {

using lazy::detail::FileBytes;
using nlohmann::json;

constexpr const char* kFormat = "lazy.checkpoint";
constexpr int kVersion = 1;
constexpr const char* kIndexChecksum = "checksum";

/// Returns the text of a document, to which a checksum of the rest is added.
std::string sealed(const char* op, json document, const Site& s) {
  try {
    const std::string text = document.dump();
    document[kIndexChecksum] = checksum64(text.data(), text.size());
    return document.dump(1) + "\n";
  } catch (const json::type_error&) { lazy::detail::fail<Error>(op, "a name or text is not UTF-8", s); }
}

/// Reads such a document.
json unsealed(const FileBytes& f) {
  json all = json::parse(f.bytes.begin(), f.bytes.end(), nullptr, false);
  if (!all.is_object()) f.bad(0, "expected a JSON object");
  const auto sum = all.find(kIndexChecksum);
  if (sum == all.end() || !sum->is_number_unsigned()) f.bad(0, "it has no checksum");
  const auto said = sum->get<uint64_t>();
  all.erase(sum);
  const std::string text = all.dump(-1, ' ', false, json::error_handler_t::replace);
  if (checksum64(text.data(), text.size()) != said) f.bad(0, "damaged: it does not have its checksum");
  return all;
}

const json& member(const FileBytes& f, const json& of, const char* name, json::value_t type) {
  const auto at = of.is_object() ? of.find(name) : of.end();
  if (!of.is_object() || at == of.end() || at->type() != type)
    f.bad(0, std::string("expected '") + name + "' in " + of.dump().substr(0, 60));
  return *at;
}
int64_t count(const FileBytes& f, const json& of, const char* name) {
  const auto v = member(f, of, name, json::value_t::number_unsigned).get<uint64_t>();
  if (v > INT64_MAX) f.bad(0, std::string("'") + name + "' is above 2^63 - 1");
  return static_cast<int64_t>(v);
}
std::string string(const FileBytes& f, const json& of, const char* name) {
  return member(f, of, name, json::value_t::string).get<std::string>();
}

json json_of(const Piece& p) {
  return {{"file", p.file}, {"begin", p.begin}, {"end", p.end}, {"checksum", p.checksum}};
}
Piece piece_of(const FileBytes& f, const json& j) {
  Piece p{string(f, j, "file"), count(f, j, "begin"), count(f, j, "end"),
          member(f, j, "checksum", json::value_t::number_unsigned).get<uint64_t>()};
  if (p.file.empty() || p.file[0] == '.' || p.file.find('/') != p.file.npos ||
      p.file.find('\0') != p.file.npos)
    f.bad(0, "expected the name of a file beside the index, found '" + p.file + "'");
  return p;
}

ShardedValue value_of(const FileBytes& f, const std::string& name, const json& j) {
  ShardedValue v;
  const std::string dtype = string(f, j, "dtype");
  const std::optional<DType> known = lazy::detail::safe_dtype_of(dtype);
  if (!known) f.fail<DtypeError>(0, "'" + name + "' has dtype '" + dtype + "', which no tensor has");
  v.dtype = *known;
  std::vector<int64_t> extents;
  for (const json& extent : member(f, j, "shape", json::value_t::array)) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX)
      f.bad(0, "'" + name + "' has an extent that is none");
    extents.push_back(extent.get<int64_t>());
  }
  (void)lazy::detail::checked_bytes(f, 0, extents, v.dtype);
  v.shape = Shape(std::span<const int64_t>(extents));
  int64_t at = 0;
  for (const json& piece : member(f, j, "pieces", json::value_t::array)) {
    v.pieces.push_back(piece_of(f, piece));
    if (v.pieces.back().begin != at || v.pieces.back().end <= at)
      f.bad(0, "'" + name + "' has a piece from row " + std::to_string(v.pieces.back().begin) + " on, " +
                   std::to_string(at) + " was expected");
    at = v.pieces.back().end;
  }
  if (at != rows_of(v.shape))
    f.bad(0,
          "'" + name + "' has pieces of " + std::to_string(at) + " rows, its shape is " + to_string(v.shape));
  return v;
}

}  // namespace

Shape shape_of_rows(const Shape& whole, int64_t rows) {
  Shape s = whole;
  if (!s.empty()) s[0] = rows;
  return s;
}

std::string to_json(const char* op, const ShardIndex& index, const Site& s) {
  json values = json::object();
  for (const auto& [name, v] : index.values) {
    json shape = json::array(), pieces = json::array();
    for (const int64_t n : v.shape) shape.push_back(n);
    for (const Piece& p : v.pieces) pieces.push_back(json_of(p));
    values[name] = {{"dtype", lazy::detail::safe_name_of(v.dtype)}, {"shape", shape}, {"pieces", pieces}};
  }
  return sealed(op,
                {{"format", kFormat},
                 {"version", kVersion},
                 {"step", index.step},
                 {"save", index.save},
                 {"ranks", index.ranks},
                 {"parts", index.parts},
                 {"values", values}},
                s);
}

ShardIndex read_index(const FileBytes& f) {
  const json all = unsealed(f);
  if (string(f, all, "format") != kFormat) f.bad(0, "not the index of a checkpoint");
  if (count(f, all, "version") != kVersion)
    f.bad(0, "version " + std::to_string(count(f, all, "version")) + " of the format, which is newer");
  ShardIndex index;
  index.step = count(f, all, "step");
  index.save = member(f, all, "save", json::value_t::number_unsigned).get<uint64_t>();
  index.ranks = static_cast<int>(std::min<int64_t>(count(f, all, "ranks"), INT32_MAX));
  for (const auto& [name, what] : member(f, all, "parts", json::value_t::object).items()) {
    if (!what.is_string()) f.bad(0, "part '" + name + "' is no text");
    index.parts[name] = what.get<std::string>();
  }
  for (const auto& [name, value] : member(f, all, "values", json::value_t::object).items())
    index.values[name] = value_of(f, name, value);
  return index;
}

std::string to_json(const char* op, const RankReport& report, const Site& s) {
  json pieces = json::object();
  for (const auto& [name, p] : report.pieces) pieces[name] = json_of(p);
  return sealed(op, {{"save", report.save}, {"error", report.error}, {"pieces", pieces}}, s);
}

RankReport read_report(const FileBytes& f) {
  const json all = unsealed(f);
  RankReport r;
  r.save = member(f, all, "save", json::value_t::number_unsigned).get<uint64_t>();
  r.error = string(f, all, "error");
  for (const auto& [name, piece] : member(f, all, "pieces", json::value_t::object).items())
    r.pieces[name] = piece_of(f, piece);
  return r;
}

namespace {

/// Opens a file of a checkpoint. ReadError where the system does not let it be read, for then nobody knows
/// what is in it; IoError where it is not there.
FileBytes opened(const char* op, const std::string& path, lazy::detail::Access access, const Site& s) {
  std::optional<FileBytes> f;
  try {
    f = lazy::detail::open_file_if_any(op, path, s, access);
  } catch (const IoError& e) { throw lazy::detail::ReadError(e.what()); }
  if (!f) throw IoError(std::string(op) + ": " + path + " is missing", s);
  return *std::move(f);
}

}  // namespace

Shards::Shards(const char* op, const std::string& folder, const Site& s)
    : folder_(folder),
      index_(read_index(opened(op, folder + "/" + kIndexFile, lazy::detail::Access::whole, s))) {
  for (const std::string& name : files()) (void)file(op, name, s);
}

std::vector<std::string> Shards::names() const {
  std::vector<std::string> all;
  for (const auto& [name, v] : index_.values) all.push_back(name);
  return all;
}

std::vector<std::string> Shards::files() const {
  std::set<std::string> all;
  for (const auto& [name, v] : index_.values)
    for (const Piece& p : v.pieces) all.insert(p.file);
  return {all.begin(), all.end()};
}

std::shared_ptr<const Shards::File> Shards::file(const char* op, const std::string& name,
                                                 const Site& s) const {
  const Hold lock(mutex_);
  if (const auto open = open_.find(name); open != open_.end()) return open->second;
  auto own = std::make_shared<File>();
  own->bytes = opened(op, folder_ + "/" + name, lazy::detail::Access::parts, s);
  const lazy::detail::SafeHeader header = lazy::detail::read_safe_header(own->bytes);
  std::map<std::string, const lazy::detail::SafeEntry*> entries;
  for (const lazy::detail::SafeEntry& e : header.entries) entries[e.name] = &e;
  for (const auto& [key, v] : index_.values)
    for (const Piece& p : v.pieces) {
      if (p.file != name) continue;
      const auto found = entries.find(key);
      if (found == entries.end()) own->bytes.bad(0, "expected '" + key + "', as the index says");
      const lazy::detail::SafeEntry& e = *found->second;
      const Shape shape = shape_of_rows(v.shape, p.end - p.begin);
      const uint64_t bytes = static_cast<uint64_t>(numel(shape)) * size_of(v.dtype);
      const bool same = std::equal(e.shape.begin(), e.shape.end(), shape.begin(), shape.end(),
                                   [](uint64_t a, int64_t b) { return a == static_cast<uint64_t>(b); });
      if (e.dtype != lazy::detail::safe_name_of(v.dtype) || !same || e.offsets.size() != 2 ||
          e.offsets[0] > e.offsets[1] || e.offsets[1] - e.offsets[0] != bytes)
        own->bytes.bad(0, "'" + key + "' is not the piece that the index says");
      own->bytes.check_within(header.data, e.offsets[1], "values");
      own->offsets[key] = header.data + e.offsets[0];
    }
  open_[name] = own;
  return own;
}

Tensor Shards::assemble(const char* op, const std::string& name, int64_t begin, const Shape& shape,
                        const Site& s) const {
  const ShardedValue& v = index_.values.at(name);
  const auto row = static_cast<uint64_t>(numel(shape_of_rows(v.shape, 1))) * size_of(v.dtype);  // bytes
  if (numel(shape) == 0)
    return Tensor(
        jit::from_pieces([](char*, uint64_t, uint64_t) {}, v.dtype, shape, jit::default_device(s), s));
  // Reads bytes [at, at + n) of the rows asked for: from each piece what it has of them.
  const auto read = [&](char* to, uint64_t at, uint64_t n) {
    const uint64_t first = static_cast<uint64_t>(begin) * row + at, last = first + n;
    for (const Piece& p : v.pieces) {
      const uint64_t from = static_cast<uint64_t>(p.begin) * row, until = static_cast<uint64_t>(p.end) * row;
      const uint64_t b = std::max(first, from), e = std::min(last, until);
      if (b >= e) continue;
      const auto part = file(op, p.file, s);
      part->bytes.copy_to(to + (b - first), part->offsets.at(name) + (b - from), e - b);
    }
    if (is_bool(v.dtype)) std::transform(to, to + n, to, [](char c) { return static_cast<char>(c != 0); });
  };
  return Tensor(jit::from_pieces(read, v.dtype, shape, jit::default_device(s), s));
}

Tensor Shards::read(const char* op, const std::string& name, int64_t begin, int64_t end,
                    const Site& s) const {
  const Shape& whole = shape(name);
  if (whole.empty() || begin < 0 || begin > end || end > whole[0])
    throw IndexError(std::string(op) + ": " + std::to_string(begin) + " to " + std::to_string(end) + " of '" +
                         name + "', which is " + to_string(whole),
                     s);
  return assemble(op, name, begin, shape_of_rows(whole, end - begin), s);
}
Tensor Shards::read(const char* op, const std::string& name, const Site& s) const {
  return assemble(op, name, 0, shape(name), s);
}

void Shards::verify(const char* op, const std::string& file_name, const Site& s) const {
  const auto own = file(op, file_name, s);
  std::string bytes;
  for (const auto& [name, v] : index_.values)
    for (const Piece& p : v.pieces) {
      if (p.file != file_name) continue;
      bytes.resize(static_cast<size_t>(numel(shape_of_rows(v.shape, p.end - p.begin))) * size_of(v.dtype));
      own->bytes.copy_to(bytes.data(), own->offsets.at(name), bytes.size());
      if (checksum64(bytes.data(), bytes.size()) != p.checksum)
        own->bytes.bad(own->offsets.at(name), "damaged: '" + name + "' does not have its checksum");
    }
}

}  // namespace lazy::training::detail
