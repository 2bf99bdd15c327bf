#include "lazy/pretrained/weights.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "lazy/core/build.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/io/safetensors_header.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "support/text.hpp"

namespace lazy::pretrained {
namespace {

constexpr size_t kMostListed = 12;  // names in an error

/// Collects what has a name in a model.
struct Members final : nn::Visitor {
  struct Item {
    std::string name;
    Parameter* parameter;  // null for a buffer
    Tensor* tensor;        // the parameter, or the buffer
  };
  std::vector<Item> items;
  explicit Members(nn::Module& m) { visit(m); }

 protected:
  void parameter(const std::string& path, Parameter& p) override { items.push_back({path, &p, &p}); }
  void buffer(const std::string& path, Tensor& b) override { items.push_back({path, nullptr, &b}); }
};

/// Returns how many characters of `name`, from the start of a segment on, the pattern takes; npos if it does
/// not fit. Numbers that stand for # are appended.
size_t fits(std::string_view name, std::string_view pattern, std::vector<std::string>& numbers) {
  size_t at = 0;
  for (const char c : pattern) {
    if (c == '#') {
      const size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
      if (end == at) return std::string_view::npos;
      numbers.emplace_back(name.substr(at, end - at));
      at = end;
    } else if (at < name.size() && name[at] == c) {
      ++at;
    } else {
      return std::string_view::npos;
    }
  }
  const bool whole = at == name.size() || name[at] == '.' || pattern.ends_with('.') || pattern.empty();
  return whole ? at : std::string_view::npos;
}

std::string filled(std::string_view to, const std::vector<std::string>& numbers) {
  std::string r;
  size_t i = 0;
  for (const char c : to) r += c == '#' && i < numbers.size() ? numbers[i++] : std::string(1, c);
  return r;
}

std::string renamed_once(const std::string& name, const Rename& rule) {
  const bool anchored = rule.from.starts_with('^');
  const std::string_view from = std::string_view(rule.from).substr(anchored);
  for (size_t at = 0; at <= name.size();) {
    std::vector<std::string> numbers;
    const size_t taken = fits(std::string_view(name).substr(at), from, numbers);
    if (taken != std::string_view::npos)
      return name.substr(0, at) + filled(rule.to, numbers) + name.substr(at + taken);
    const size_t dot = name.find('.', at);
    if (anchored || dot == name.npos) break;
    at = dot + 1;
  }
  return name;
}

bool is_ignored(std::string_view name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view p) {
    if (p.starts_with('*')) return name.ends_with(p.substr(1));
    if (p.ends_with('*')) return name.starts_with(p.substr(0, p.size() - 1));
    return name == p;
  });
}

/// Lists problems for one message, of each kind no more than a dozen.
class Problems {
 public:
  void add(std::string what) {
    if (++count_ <= kMostListed) text_ += "\n  " + std::move(what);
  }
  std::string text() const {
    return count_ > kMostListed ? text_ + "\n  and " + std::to_string(count_ - kMostListed) + " more" : text_;
  }
  bool room() const { return count_ < kMostListed; }
  bool empty() const { return count_ == 0; }

 private:
  std::string text_;
  size_t count_ = 0;
};

/// Holds a tensor of a file, or rows of it.
struct Piece {
  Tensor tensor;
  int64_t first = 0;
  Shape shape;  // of these rows
};

/// Finds for each name of a model what the file has for it.
class Match {
 public:
  Match(const Weights& w, const Layout& l, const Members& m, const Site& s)
      : weights_(w), layout_(l), site_(s) {
    for (const Members::Item& item : m.items) rows_.emplace(item.name, first_extent(item.tensor->shape(s)));
    for (const auto& [name, t] : w.tensors) {
      if (is_ignored(name, l.ignored)) continue;
      std::string here = renamed(name, l.renames);
      if (!by_name_.emplace(here, &t).second) twice_.push_back(here);
      origin_.emplace(std::move(here), name);
    }
  }

  /// Returns the tensors that make up the value: none if the file lacks one.
  std::vector<Piece> parts(const std::string& name) {
    if (const Tensor* t = take(name)) return {{*t, 0, t->shape(site_)}};
    for (const Join& j : layout_.joins) {
      if (!name.ends_with(j.whole)) continue;
      const std::string before = name.substr(0, name.size() - j.whole.size());
      std::vector<Piece> all;
      for (const std::string& part : j.parts)
        if (const Tensor* t = take(before + part)) all.push_back({*t, 0, t->shape(site_)});
      if (all.size() == j.parts.size()) return all;
    }
    for (const Join& j : layout_.splits)
      if (auto piece = part_of(j, name)) return {std::move(*piece)};
    return {};
  }

  /// Returns what the file calls that name, and the name that is nearest to it among those that nothing took.
  std::string hint(const std::string& name) const {
    constexpr size_t kMostCompared = 1000;
    std::string nearest;
    int least = 1 + static_cast<int>(name.size()) / 4;
    size_t compared = 0;
    for (const auto& [here, there] : origin_) {
      if (taken_.contains(here)) continue;
      if (++compared > kMostCompared) break;
      if (here.size() > 2 * name.size() + 8) continue;
      if (const int d = text::edit_distance(here, name); d < least) nearest = there, least = d;
    }
    return nearest.empty() ? "" : " (the nearest there is: " + text::quoted(nearest) + ")";
  }

  /// Returns the file's names of what nothing took, in its order.
  std::vector<std::string> left() const {
    std::vector<std::string> all;
    for (const auto& [name, t] : weights_.tensors)
      if (!is_ignored(name, layout_.ignored) && !taken_.contains(renamed(name, layout_.renames)))
        all.push_back(name);
    return all;
  }
  const std::vector<std::string>& twice() const { return twice_; }

 private:
  static int64_t first_extent(const Shape& s) { return s.empty() ? 0 : s[0]; }
  /// Returns the rows that the name is of a whole of the file. Of a whole with other rows than the model's
  /// parts have together, the last part gets what is left, so that its shape is told as another one.
  std::optional<Piece> part_of(const Join& j, const std::string& name) {
    const auto part =
        std::find_if(j.parts.begin(), j.parts.end(), [&](const std::string& p) { return name.ends_with(p); });
    if (part == j.parts.end()) return {};
    const std::string before = name.substr(0, name.size() - part->size());
    const Tensor* const whole = take(before + j.whole);
    if (!whole) return {};
    Piece piece{*whole, 0, whole->shape(site_)};
    const int64_t all = first_extent(piece.shape);
    for (auto p = j.parts.begin(); p != part; ++p) piece.first += rows(before + *p);
    piece.first = std::min(piece.first, all);
    const bool last = part + 1 == j.parts.end();
    if (all > 0) piece.shape[0] = last ? all - piece.first : std::min(rows(name), all - piece.first);
    return piece;
  }
  int64_t rows(const std::string& name) const {
    const auto at = rows_.find(name);
    return at == rows_.end() ? 0 : at->second;
  }
  const Tensor* take(const std::string& name) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return nullptr;
    taken_.insert(name);
    return at->second;
  }
  const Weights& weights_;
  const Layout& layout_;
  const Site& site_;
  std::unordered_map<std::string, int64_t> rows_;  // of the model's values
  std::unordered_map<std::string, const Tensor*> by_name_;
  std::unordered_map<std::string, std::string> origin_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> twice_;
};

Shape joined_shape(const std::vector<Piece>& parts) {
  Shape all = parts[0].shape;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Shape& shape = parts[i].shape;
    if (shape.size() != all.size() || shape.empty()) return {};
    for (int a = 1; a < shape.size(); ++a)
      if (shape[a] != all[a]) return {};
    all[0] += shape[0];
  }
  return all;
}

/// Says where in a mapped file a tensor lies; a null file if it lies in none.
struct PlaceInFile {
  const lazy::detail::FileBytes* file = nullptr;
  uint64_t offset = 0, bytes = 0;
};
PlaceInFile place_in_file(const Weights& w, const Tensor& t, const Site& s) {
  jit::BufferRef keep;
  const std::string_view bytes = lazy::detail::host_bytes("from_pretrained", t, s, keep);
  for (const lazy::detail::FileBytes& f : w.files)
    if (bytes.data() >= f.bytes.data() && bytes.data() + bytes.size() <= f.bytes.data() + f.bytes.size())
      return {&f, static_cast<uint64_t>(bytes.data() - f.bytes.data()), bytes.size()};
  return {};
}

/// Gives back the pages of a mapped file that a tensor lies in.
void forget(const Weights& w, const Tensor& t, const Site& s) {
  if (const PlaceInFile p = place_in_file(w, t, s); p.file)
    lazy::detail::forget_pages(*p.file, p.offset, p.bytes);
}

/// Returns the rows of a piece: the file's own bytes, where it is mapped.
Tensor rows_of(const Weights& w, const Piece& p, const Site& s) {
  const Shape& whole = p.tensor.shape(s);
  if (p.shape == whole) return p.tensor;
  const PlaceInFile at = p.tensor.device(s) == Device{} ? place_in_file(w, p.tensor, s) : PlaceInFile{};
  if (!at.file) return narrow(p.tensor, 0, p.first, p.shape[0]);
  const uint64_t skipped = at.bytes / static_cast<uint64_t>(whole[0]) * static_cast<uint64_t>(p.first);
  Tensor t = lazy::detail::shared_value(*at.file, at.offset + skipped, p.tensor.dtype(s), p.shape, {});
  lazy::detail::mark_unchanging(t, s);
  return t;
}

/// Returns the value of pieces: what a file has, where nothing is to be changed.
Tensor value_of(const Weights& w, const std::vector<Piece>& pieces, const MaybeDType& dtype, const Site& s) {
  std::vector<Tensor> parts;
  for (const Piece& p : pieces) parts.push_back(rows_of(w, p, s));
  Tensor t = parts.size() == 1 ? parts[0] : concat(parts, 0, s);
  const bool converted = dtype.given && is_float(t.dtype(s)) && t.dtype(s) != dtype.value;
  if (converted) t = t.to(dtype.value, s);
  if ((!converted && parts.size() == 1) || t.device(s) != Device{}) return t;
  // Computed now, so that no more than one value's pages of the file are in memory beside it, and kept as the
  // others are.
  lazy::detail::mark_unchanging(t, s);
  for (const Tensor& part : parts) forget(w, part, s);
  return t;
}

/// Maps a file, and adds those of its tensors that `wanted` has for it; all, if that is null.
void add_file(const char* op, const std::filesystem::path& path,
              const std::map<std::string, std::string>* wanted, const MaybeDevice& device, const Site& s,
              Weights& to) {
  to.files.push_back(lazy::detail::open_file(op, path.string(), s, lazy::detail::Access::mapped));
  const Safetensors all = lazy::detail::read_safetensors(to.files.back(), device);
  const std::string file = path.filename().string();
  for (const auto& [name, t] : all) {
    const auto at = wanted ? wanted->find(name) : std::map<std::string, std::string>::const_iterator();
    if (!wanted || (at != wanted->end() && at->second == file)) to.tensors.set(name, t);
  }
}

}  // namespace

bool Weights::any_begins(std::string_view prefix) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

Weights read_weights(const char* op, const std::filesystem::path& folder, MaybeDevice device, const Site& s) {
  const std::filesystem::path whole = folder / "model.safetensors",
                              index = folder / "model.safetensors.index.json";
  std::error_code ignored;
  if (std::filesystem::exists(whole, ignored)) {
    Weights w{{}, whole.string()};
    add_file(op, whole, nullptr, device, s, w);
    return w;
  }
  if (std::filesystem::exists(index, ignored)) {
    const auto wanted = lazy::detail::read_safe_index(lazy::detail::open_file(op, index.string(), s));
    Weights w{{}, index.string()};
    std::set<std::string> files;
    for (const auto& [name, file] : wanted) files.insert(file);
    for (const std::string& file : files) add_file(op, folder / file, &wanted, device, s, w);
    for (const auto& [name, file] : wanted)
      if (!w.has(name))
        throw IoError(std::string(op) + ": " + (folder / file).string() + ": expected " + text::quoted(name) +
                          ", as " + index.string() + " says",
                      s);
    return w;
  }
  std::string others;
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5"})
    if (std::filesystem::exists(folder / name, ignored))
      others = std::string("; ") + name + " has to be converted";
  throw IoError(std::string(op) + ": " + folder.string() +
                    ": expected model.safetensors or model.safetensors.index.json" + others,
                s);
}

std::string renamed(std::string name, const std::vector<Rename>& rules) {
  for (const Rename& rule : rules) name = renamed_once(name, rule);
  return name;
}

std::vector<Rename> reversed(const std::vector<Rename>& rules) {
  std::vector<Rename> r;
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
    if (!rule->to.empty())
      r.push_back({(rule->from.starts_with('^') ? "^" : "") + rule->to,
                   rule->from.substr(rule->from.starts_with('^'))});
  return r;
}

void adopt(const char* op, nn::Module& model, const Weights& weights, const Layout& layout, MaybeDType dtype,
           const Site& s) {
  const Members members(model);
  Match match(weights, layout, members, s);
  Problems missing, different, unknown;
  std::vector<std::pair<const Members::Item*, std::vector<Piece>>> found;
  std::vector<const std::string*> absent;
  for (const Members::Item& item : members.items) {
    std::vector<Piece> parts = match.parts(item.name);
    if (parts.empty()) {
      // Counts of batches say nothing to a model that is not trained.
      if (!item.name.ends_with("num_batches_tracked")) absent.push_back(&item.name);
      continue;
    }
    const Shape &here = item.tensor->shape(s), there = joined_shape(parts);
    if (here != there || is_float(item.tensor->dtype(s)) != is_float(parts[0].tensor.dtype(s)))
      different.add(text::quoted(item.name) + " is " + to_string(here) + " by the config, and " +
                    to_string(there) + " " + name_of(parts[0].tensor.dtype(s)) + " in the file");
    found.emplace_back(&item, std::move(parts));
  }
  for (const std::string* name : absent)
    missing.add(text::quoted(*name) + (missing.room() ? match.hint(*name) : ""));
  for (const std::string& name : match.left()) unknown.add(text::quoted(name));
  for (const std::string& name : match.twice()) unknown.add(text::quoted(name) + ", twice");
  std::string what;
  if (!missing.empty()) what += "\nthe model has, and the file lacks:" + missing.text();
  if (!unknown.empty()) what += "\nthe file has, and the model lacks:" + unknown.text();
  if (!different.empty()) what += "\nshapes differ:" + different.text();
  if (!what.empty())
    throw Error(std::string(op) + ": " + weights.path + ": the weights are not those of a " + model.name() +
                    " of this config" + what,
                s);
  const no_grad scope;
  for (const auto& [item, parts] : found) {
    const Tensor value = value_of(weights, parts, dtype, s);
    if (item->parameter) item->parameter->reset(value, s);
    else *item->tensor = value.detach(s);
  }
}

}  // namespace lazy::pretrained
