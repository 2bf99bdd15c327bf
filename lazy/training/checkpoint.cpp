#include "lazy/training/checkpoint.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "lazy/io/file.hpp"
#include "lazy/io/safetensors_header.hpp"
#include "lazy/ops/creation.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"

namespace lazy::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStep = "lazy.step";
constexpr const char* kChecksum = "lazy.checksum";
constexpr const char* kPart = "lazy.part.";  // begins the key of a part
constexpr std::string_view kText = "text:";
constexpr std::string_view kPrefix = "checkpoint-", kEnding = ".safetensors";

/// Returns a checksum of names, dtypes, shapes and values, in any order of the tensors.
std::string checksum_of(const char* op, const NamedTensors& all, const Site& s) {
  uint64_t sum = 0;
  for (const auto& [name, x] : all) {
    jit::BufferRef keep;
    const std::string_view bytes = lazy::detail::host_bytes(op, x, s, keep);
    const std::string what = name + " " + name_of(x.dtype()) + " " + to_string(x.shape());
    sum += mix(checksum64(what.data(), what.size()), checksum64(bytes.data(), bytes.size()));
  }
  return std::to_string(sum);
}

/// Reads a number that fills the text. False for anything else.
bool number_of(std::string_view text, int64_t& v) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc{} && end == text.data() + text.size();
}

/// True if the file is one that a program which has ended was writing.
bool left_behind(std::string_view name) {
  constexpr std::string_view kUnfinished = ".part-";
  const size_t at = name.find(kUnfinished);
  if (!name.starts_with(kPrefix) || at == name.npos) return false;
  const std::string_view rest = name.substr(at + kUnfinished.size());
  int64_t pid = 0;
  if (!number_of(rest.substr(0, rest.find('-')), pid) || pid < 1 || pid > INT32_MAX) return false;
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
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

Tensor Checkpoint::tensor(const std::string& name, Site s) const { return all_.at(name, s); }

NamedTensors Checkpoint::tensors(const std::string& name, Site s) const {
  if (!contains(name)) throw IndexError("tensors: the checkpoint has no part '" + name + "'", s);
  NamedTensors part;
  for (const auto& [key, x] : all_)
    if (key.starts_with(name + "/")) part.set(key.substr(name.size() + 1), x);
  return part;
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
  std::vector<Tensor> values;
  for (const auto& [name, x] : all_) values.push_back(x);
  lazy::detail::eval(values, s);
  std::map<std::string, std::string> metadata{{kStep, std::to_string(step_)},
                                              {kChecksum, checksum_of("save", all_, s)}};
  for (const auto& [name, what] : parts_) metadata[kPart + name] = what;
  lazy::detail::write_safetensors("save", path, all_, metadata, true, s);
}

Checkpoint Checkpoint::load(const std::string& path, Site s) {
  const lazy::detail::FileBytes file = lazy::detail::open_file("load", path, s);
  const Safetensors read = lazy::detail::read_safetensors(file, {});
  const auto step = read.metadata.find(kStep), sum = read.metadata.find(kChecksum);
  Checkpoint c;
  if (step == read.metadata.end() || sum == read.metadata.end() || !number_of(step->second, c.step_))
    file.bad(0, "not a checkpoint: its metadata have no step and checksum");
  if (checksum_of("load", read, s) != sum->second)
    file.bad(0, "damaged: the values do not have their checksum");
  std::vector<Tensor> copies;
  for (const auto& [name, x] : read) copies.push_back(x.copy(s));
  lazy::detail::eval(copies, s);
  size_t i = 0;
  for (const auto& [name, x] : read) c.all_.set(name, copies[i++]);
  for (const auto& [key, what] : read.metadata)
    if (key.starts_with(kPart)) c.parts_[key.substr(std::string_view(kPart).size())] = what;
  return c;
}

CheckpointFolder::CheckpointFolder(const std::string& folder, FolderOptions options, Site s)
    : folder_(folder), options_(options) {
  if (options.keep < 1)
    throw Error("CheckpointFolder: it keeps at least one file, not " + std::to_string(options.keep), s);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("CheckpointFolder: cannot make " + folder + ": " + error.message(), s);
  for (auto e = fs::directory_iterator(folder, error); !error && e != fs::directory_iterator();
       e.increment(error))
    if (std::error_code ignored; left_behind(e->path().filename().string())) fs::remove(e->path(), ignored);
}

std::string CheckpointFolder::path(int64_t step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, 12 - std::min<size_t>(digits.size(), 12), '0');
  return folder_ + "/" + std::string(kPrefix) + digits + std::string(kEnding);
}

std::vector<int64_t> CheckpointFolder::steps(Site s) const {
  std::vector<int64_t> all;
  std::error_code error;
  for (auto e = fs::directory_iterator(folder_, error); !error && e != fs::directory_iterator();
       e.increment(error)) {
    const std::string name = e->path().filename().string();
    int64_t step = 0;
    if (name.starts_with(kPrefix) && name.ends_with(kEnding) &&
        number_of(
            std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size()),
            step))
      all.push_back(step);
  }
  if (error) throw IoError("CheckpointFolder: cannot read " + folder_ + ": " + error.message(), s);
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
    try {
      return Checkpoint::load(path(*step), s);
    } catch (const Error& e) { logging::warning(std::string("passes over a checkpoint: ") + e.what()); }
  }
  return {};
}

}  // namespace lazy::training
