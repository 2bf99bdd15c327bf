#include "lazy/training/checkpoint.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "lazy/io/file.hpp"
#include "lazy/io/safetensors_header.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/training/shards.hpp"
#include "lazy/training/step_names.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"

namespace lazy::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStep = "lazy.step";
constexpr const char* kChecksum = "lazy.checksum.all";    // of tensors and metadata
constexpr const char* kTensorChecksum = "lazy.checksum";  // of tensors alone, in older files
constexpr const char* kPart = "lazy.part.";               // begins the key of a part
constexpr std::string_view kText = "text:";
constexpr std::string_view kEnding = ".safetensors";

using Metadata = std::map<std::string, std::string>;

uint64_t checksum_of(std::string_view text) { return checksum64(text.data(), text.size()); }

/// Returns a checksum of names, dtypes, shapes and values, in any order of the tensors.
uint64_t checksum_of(const char* op, const NamedTensors& all, const Site& s) {
  uint64_t sum = 0;
  for (const auto& [name, x] : all) {
    jit::BufferRef keep;
    const std::string_view bytes = lazy::detail::host_bytes(op, x, s, keep);
    const std::string what = name + " " + name_of(x.dtype()) + " " + to_string(x.shape());
    sum += mix(checksum_of(what), checksum_of(bytes));
  }
  return sum;
}

/// Returns a checksum of the tensors and of all metadata but the checksum itself.
std::string checksum_of(const char* op, const NamedTensors& all, const Metadata& metadata, const Site& s) {
  uint64_t sum = checksum_of(op, all, s);
  for (const auto& [key, text] : metadata)
    if (key != kChecksum) sum = mix(mix(sum, checksum_of(key)), checksum_of(text));
  return std::to_string(sum);
}

/// True if the file's contents are those that were written. False, too, if it says no checksum.
bool has_its_checksum(const char* op, const Safetensors& read, const Site& s) {
  if (const auto sum = read.metadata.find(kChecksum); sum != read.metadata.end())
    return sum->second == checksum_of(op, read, read.metadata, s);
  const auto sum = read.metadata.find(kTensorChecksum);
  return sum != read.metadata.end() && sum->second == std::to_string(checksum_of(op, read, s));
}

/// True if the file is one that a program of this host which has ended was writing: of other hosts' programs
/// nobody here knows if they have.
bool left_behind(std::string_view name) {
  const std::string own = lazy::detail::unfinished_suffix();  // ".part-host-123-"
  const std::string_view host = std::string_view(own).substr(0, own.rfind('-', own.size() - 2) + 1);
  const size_t at = name.find(host);
  if (!name.starts_with(detail::kStepPrefix) || at == name.npos) return false;
  const std::string_view rest = name.substr(at + host.size());
  const size_t dash = rest.find('-');
  int64_t pid = 0, count = 0;
  if (dash == rest.npos || !detail::number_of(rest.substr(dash + 1), count)) return false;
  if (!detail::number_of(rest.substr(0, dash), pid) || pid < 1 || pid > INT32_MAX) return false;
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

/// Throws unless these can be rows of a value.
void check_rows(const char* op, const std::string& name, const TensorRows& r, const Site& s) {
  if (!r.rows.defined()) throw Error(std::string(op) + ": '" + name + "' is an empty tensor", s);
  const Shape shape = r.rows.shape(s);
  if (shape.empty()) throw ShapeError(std::string(op) + ": '" + name + "' has no axes, so no rows", s);
  if (r.begin < 0 || r.begin > r.total || shape[0] > r.total - r.begin)
    throw IndexError(std::string(op) + ": '" + name + "' has " + std::to_string(shape[0]) + " rows from " +
                         std::to_string(r.begin) + " on, of " + std::to_string(r.total),
                     s);
}

}  // namespace

void Checkpoint::check_new(const std::string& name, const Site& s) const {
  if (name.empty() || name.find('/') != name.npos)
    throw Error("add: the name of a part is not empty and has no slash: '" + name + "'", s);
  if (contains(name)) throw Error("add: there is a part '" + name + "' already", s);
}

Checkpoint& Checkpoint::add(const std::string& name, const Tensor& x, Site s) {
  check_new(name, s);
  if (!x.defined()) throw Error("add: '" + name + "' is an empty tensor", s);
  all_.set(name, x);
  parts_[name] = "tensor";
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, const NamedTensors& tensors, Site s) {
  check_new(name, s);
  for (const auto& [key, x] : tensors) {
    if (!x.defined()) throw Error("add: '" + key + "' of '" + name + "' is an empty tensor", s);
    all_.set(name + "/" + key, x);
  }
  parts_[name] = "tensors";
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, const Generator& g, Site s) {
  return add(name, from_span(std::vector<uint64_t>{g.seed(), g.position()}), s);
}

Checkpoint& Checkpoint::add_text(const std::string& name, const std::string& text, Site s) {
  check_new(name, s);
  parts_[name] = std::string(kText) + text;
  return *this;
}

bool Checkpoint::contains(const std::string& name) const { return parts_.contains(name); }

Checkpoint& Checkpoint::add_rows(const std::string& name, const NamedRows& rows, Site s) {
  check_new(name, s);
  for (const auto& [key, part] : rows) check_rows("add_rows", name + "/" + key, part, s);
  for (const auto& [key, part] : rows) set_rows(name + "/" + key, part);
  parts_[name] = "tensors";
  return *this;
}

Checkpoint& Checkpoint::add_rows(const std::string& name, const TensorRows& rows, Site s) {
  check_new(name, s);
  check_rows("add_rows", name, rows, s);
  set_rows(name, rows);
  parts_[name] = "tensor";
  return *this;
}

void Checkpoint::set_rows(const std::string& name, const TensorRows& rows) {
  all_.set(name, rows.rows);
  rows_[name] = {rows.begin, rows.total};
}

Tensor Checkpoint::rows(const std::string& name, int64_t begin, int64_t end, Site s) const {
  if (shards_ && shards_->contains(name)) return shards_->read("rows", name, begin, end, s);
  const Tensor x = tensor(name, s);
  const Shape shape = x.shape(s);
  if (shape.empty() || begin < 0 || begin > end || end > shape[0])
    throw IndexError("rows: " + std::to_string(begin) + " to " + std::to_string(end) + " of '" + name +
                         "', which is " + to_string(shape),
                     s);
  return x(slice(begin, end));
}

Shape Checkpoint::shape(const std::string& name, Site s) const {
  if (shards_ && shards_->contains(name)) return shards_->shape(name);
  if (const auto part = rows_.find(name); part != rows_.end()) {
    Shape whole = all_.at(name, s).shape(s);
    whole[0] = part->second.total;
    return whole;
  }
  return all_.at(name, s).shape(s);
}

Tensor Checkpoint::tensor(const std::string& name, Site s) const {
  if (shards_ && shards_->contains(name)) return shards_->read("tensor", name, s);
  if (const auto part = rows_.find(name);
      part != rows_.end() && all_.at(name, s).shape(s)[0] != part->second.total)
    throw Error("tensor: of '" + name + "' this has some rows: it has to be saved by all ranks before", s);
  return all_.at(name, s);
}

NamedTensors Checkpoint::whole_values(const Site& s) const {
  if (!shards_) return all_;
  NamedTensors all;
  for (const std::string& name : shards_->names()) all.set(name, shards_->read("load", name, s));
  return all;
}

NamedTensors Checkpoint::tensors(const std::string& name, Site s) const {
  if (!contains(name)) throw IndexError("tensors: the checkpoint has no part '" + name + "'", s);
  NamedTensors part;
  const std::string prefix = name + "/";
  if (shards_)
    for (const std::string& key : shards_->names())
      if (key.starts_with(prefix)) part.set(key.substr(prefix.size()), tensor(key, s));
  for (const auto& [key, x] : all_)
    if (key.starts_with(prefix)) part.set(key.substr(prefix.size()), tensor(key, s));
  return part;
}

std::vector<std::string> Checkpoint::names(const std::string& name, Site s) const {
  if (!contains(name)) throw IndexError("names: the checkpoint has no part '" + name + "'", s);
  const std::string prefix = name + "/";
  std::vector<std::string> all;
  const auto take = [&](const std::string& key) {
    if (key.starts_with(prefix)) all.push_back(key.substr(prefix.size()));
  };
  if (shards_)
    for (const std::string& key : shards_->names()) take(key);
  for (const auto& [key, x] : all_) take(key);
  return all;
}

std::string Checkpoint::text(const std::string& name, Site s) const {
  const auto part = parts_.find(name);
  if (part == parts_.end() || !part->second.starts_with(kText))
    throw IndexError("text: the checkpoint has no text '" + name + "'", s);
  return part->second.substr(kText.size());
}

const Checkpoint& Checkpoint::restore(const std::string& name, Generator& g, Site s) const {
  const Tensor x = tensor(name, s);
  if (x.dtype() != uint64 || x.shape() != Shape{2})
    throw Error("restore: '" + name + "' is no generator's state, but " + to_string(x.shape()) + " " +
                    name_of(x.dtype()),
                s);
  const auto v = x.to_vector<uint64_t>(s);
  g.manual_seed(v[0]);
  g.set_position(v[1]);
  return *this;
}

void Checkpoint::save(const std::string& path, Site s) const {
  for (const auto& [name, place] : rows_)
    if (all_.at(name, s).shape(s)[0] != place.total)
      throw Error("save: of '" + name + "' this has some rows: ShardedFolder writes all ranks'", s);
  const NamedTensors all = whole_values(s);
  std::vector<Tensor> values;
  for (const auto& [name, x] : all) values.push_back(x);
  lazy::detail::eval(values, s);
  Metadata metadata{{kStep, std::to_string(step_)}};
  for (const auto& [name, what] : parts_) metadata[kPart + name] = what;
  metadata[kChecksum] = checksum_of("save", all, metadata, s);
  lazy::detail::write_safetensors("save", path, all, metadata, true, s);
}

Checkpoint Checkpoint::load(const std::string& path, Site s) {
  if (std::error_code ignored; fs::is_directory(path, ignored)) {
    auto shards = std::make_shared<const detail::Shards>("load", path, s);
    for (const std::string& file : shards->files()) shards->verify("load", file, s);
    return of(std::move(shards));
  }
  return read(lazy::detail::open_file("load", path, s, lazy::detail::Access::parts), s);
}

Checkpoint Checkpoint::read(const lazy::detail::FileBytes& file, const Site& s) {
  const Safetensors read = lazy::detail::read_safetensors(file, {});
  const auto step = read.metadata.find(kStep);
  Checkpoint c;
  if (step == read.metadata.end() || !detail::number_of(step->second, c.step_) ||
      !(read.metadata.contains(kChecksum) || read.metadata.contains(kTensorChecksum)))
    file.bad(0, "not a checkpoint: its metadata have no step and checksum");
  if (!has_its_checksum("load", read, s)) file.bad(0, "damaged: its contents do not have their checksum");
  c.all_ = read;
  for (const auto& [key, what] : read.metadata)
    if (key.starts_with(kPart)) c.parts_[key.substr(std::string_view(kPart).size())] = what;
  return c;
}

Checkpoint Checkpoint::of(std::shared_ptr<const detail::Shards> shards) {
  Checkpoint c(shards->index().step);
  c.parts_ = shards->index().parts;
  c.shards_ = std::move(shards);
  return c;
}

CheckpointFolder::CheckpointFolder(const std::string& folder, FolderOptions options, Site s)
    : folder_(folder), options_(options) {
  if (options.keep < 1)
    throw Error("CheckpointFolder: it keeps at least one file, not " + std::to_string(options.keep), s);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("CheckpointFolder: cannot make " + folder + ": " + error.message(), s);
  for (const std::string& name : detail::names_in("CheckpointFolder", folder, s))
    if (std::error_code ignored; left_behind(name)) fs::remove(fs::path(folder) / name, ignored);
}

std::string CheckpointFolder::path(int64_t step) const {
  return folder_ + "/" + detail::name_of_step(step) + std::string(kEnding);
}

std::vector<int64_t> CheckpointFolder::steps(Site s) const {
  std::vector<int64_t> all;
  for (const std::string& file : detail::names_in("CheckpointFolder", folder_, s)) {
    std::string_view name = file;
    if (!name.ends_with(kEnding)) continue;
    name.remove_suffix(kEnding.size());
    if (const auto step = detail::step_of_name(name)) all.push_back(*step);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string CheckpointFolder::save(const Checkpoint& c, Site s) const {
  if (c.step() < 0) throw Error("save: a step can't be negative: " + std::to_string(c.step()), s);
  const std::string file = path(c.step());
  c.save(file, s);
  const std::vector<int64_t> all = steps(s);
  for (size_t i = 0; i + static_cast<size_t>(options_.keep) < all.size(); ++i)
    if (std::error_code ignored; all[i] != c.step()) fs::remove(path(all[i]), ignored);
  return file;
}

std::optional<Checkpoint> CheckpointFolder::newest(Site s) const {
  const std::vector<int64_t> all = steps(s);
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    // What keeps the file from being read says nothing about its contents, and is thrown: an older checkpoint
    // in its place would lose work in silence.
    const auto file = lazy::detail::open_file_if_any("newest", path(*step), s, lazy::detail::Access::parts);
    if (!file) continue;  // removed since it was listed
    const auto passed_over = [](const Error& e) {
      logging::warning(std::string("passes over a checkpoint: ") + e.what());
    };
    try {
      return Checkpoint::read(*file, s);
    } catch (const lazy::detail::ReadError&) { throw; } catch (const IoError& e) {
      passed_over(e);
    } catch (const DtypeError& e) { passed_over(e); } catch (const ShapeError& e) {
      passed_over(e);
    }
  }
  return {};
}

}  // namespace lazy::training
