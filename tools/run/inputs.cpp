#include "tools/run/inputs.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "lazy/lazy.hpp"
#include "support/text.hpp"
#include "tools/run/names.hpp"
#include "tools/run/samples.hpp"

namespace lazy::tool {

std::string describe(const Value& v) {
  std::string text = name_of(v.dtype);
  if (!v.shape) return text + ", of any shape";
  text += " [";
  for (size_t i = 0; i < v.shape->size(); ++i) {
    const Extent& e = (*v.shape)[i];
    const auto* const n = std::get_if<int64_t>(&e);
    if (i) text += ", ";
    if (n) text += *n > 0 ? std::to_string(*n) : "?";
    else text += std::get<std::string>(e).empty() ? "?" : std::get<std::string>(e);
  }
  return text + "]";
}

std::string list_names(std::span<const Value> all) {
  std::string text;
  for (const Value& v : all) text += (text.empty() ? "'" : ", '") + v.name + "'";
  return text;
}

const Value& find(std::span<const Value> all, const std::string& name, const char* what) {
  const Value* nearest = nullptr;
  int least = std::numeric_limits<int>::max();
  for (const Value& v : all) {
    if (v.name == name) return v;
    if (const int d = text::edit_distance(v.name, name); d < least) nearest = &v, least = d;
  }
  std::string text = std::string("the model has no ") + what + " " + text::quoted(name);
  if (!nearest) throw UsageError(text + ": it has none");
  if (least <= 1 + static_cast<int>(name.size()) / 3) text += " (did you mean '" + nearest->name + "'?)";
  throw UsageError(text + "; its " + what + "s are " + list_names(all));
}

bool names_one(const std::string& text) { return text.find('=') != std::string::npos; }

std::pair<std::string, std::string> split(std::span<const Value> all, const std::string& text,
                                          const char* what) {
  const size_t at = text.find('=');
  if (at != std::string::npos) {
    std::string name = text.substr(0, at);
    find(all, name, what);
    return {std::move(name), text.substr(at + 1)};
  }
  if (all.size() == 1) return {all[0].name, text};
  throw UsageError("say which " + std::string(what) + " " + text::quoted(text) + " is for (NAME=" + text +
                   "): the model has " + std::to_string(all.size()) + " " + what + "s" +
                   (all.empty() ? "" : ", " + list_names(all)));
}

bool has_ending(const std::string& path, const char* ending) {
  return text::lower_case(path).ends_with(ending);
}

namespace {

using Extents = std::vector<int64_t>;

std::optional<double> number_of(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return v;
}

Extents extents_of(const std::string& text) {
  Extents all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    int64_t n = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, n);
    if (error != std::errc() || stop != text.data() + end || n < 0)
      throw UsageError("expected extents such as 1,3,224,224, found " + text::quoted(text));
    all.push_back(n);
    at = end + 1;
  }
  return all;
}

/// Makes the inputs of one model.
class Maker {
 public:
  Maker(const Model& model, const InputOptions& o) : model_(model), options_(o), generator_(o.seed) {
    for (const std::string& text : o.shapes) {
      auto [name, extents] = split(model.inputs(), text, "input");
      const Value& info = find(model.inputs(), name, "input");
      shapes_[name] = extents_of(extents);
      check_shape(info, shapes_[name], "--shape " + extents);
    }
    for (const std::string& text : o.given) add_source(text);
  }

  NamedTensors all() {
    NamedTensors made;
    std::string missing;
    for (const Value& info : model_.inputs()) {
      const auto at = sources_.find(info.name);
      if (at == sources_.end() && info.optional) continue;
      if (at == sources_.end() && !options_.fill) missing += "\n  '" + info.name + "': " + describe(info);
      else made.set(info.name, of(info, at == sources_.end() ? "random" : at->second));
    }
    if (!missing.empty()) throw UsageError("these inputs are not given:" + missing);
    for (const auto& [name, t] : made) Tensor(t).eval();
    return made;
  }

 private:
  /// Takes each entry of an archive that is given without a name, and one source otherwise.
  void add_source(const std::string& text) {
    const auto add = [&](const std::string& name, const std::string& source) {
      if (!sources_.emplace(name, source).second) throw UsageError("input '" + name + "' is given twice");
    };
    if (!names_one(text) && has_ending(text, ".npz")) {
      for (const auto& [name, t] : archive(text)) add(find(model_.inputs(), name, "input").name, text);
      return;
    }
    const auto [name, source] = split(model_.inputs(), text, "input");
    add(name, source);
  }

  const NamedTensors& archive(const std::string& path) {
    const auto at = archives_.find(path);
    return at != archives_.end() ? at->second : archives_.emplace(path, load_npz(path)).first->second;
  }

  /// Returns the extents of an input, -1 for dynamic ones.
  Extents extents(const Value& info) const {
    if (const auto at = shapes_.find(info.name); at != shapes_.end()) return at->second;
    Extents all;
    if (info.shape)
      for (const Extent& e : *info.shape) {
        const auto* const n = std::get_if<int64_t>(&e);
        all.push_back(n && *n > 0 ? *n : -1);
      }
    return all;
  }

  Shape full_shape(const Value& info) const {
    const Extents all = extents(info);
    const bool said = shapes_.contains(info.name);
    if ((!info.shape && !said) || std::count(all.begin(), all.end(), -1))
      throw UsageError("input '" + info.name + "' is " + describe(info) + ": say its shape (--shape " +
                       info.name + "=...)");
    return ShapeArg(all);
  }

  static void check_shape(const Value& info, const Extents& found, const std::string& who) {
    if (!info.shape) return;
    bool fits = info.shape->size() == found.size();
    for (size_t i = 0; fits && i < found.size(); ++i) {
      const auto* const n = std::get_if<int64_t>(&(*info.shape)[i]);
      fits = !n || *n <= 0 || *n == found[i];
    }
    if (!fits)
      throw UsageError("input '" + info.name + "' is " + describe(info) + ", and not as " + who + " says");
  }

  Tensor of(const Value& info, const std::string& source) {
    if (source == "random") return random(info);
    if (source == "zeros" || source == "ones") return filled(info, source == "ones");
    if (const std::optional<double> v = number_of(source)) return filled(info, *v);
    return from_file(info, source);
  }

  Tensor random(const Value& info) {
    const Shape shape = full_shape(info);
    if (is_float(info.dtype)) return rand(generator_, shape, float32).to(info.dtype);
    return randint(generator_, 0, is_bool(info.dtype) ? 2 : 10, shape, int64).to(info.dtype);
  }

  Tensor filled(const Value& info, double v) const {
    return full(full_shape(info), v, float64).to(info.dtype);
  }

  Tensor from_file(const Value& info, const std::string& path) {
    Tensor t;
    if (has_ending(path, ".npy")) t = load(path);
    else if (has_ending(path, ".npz")) t = entry(info, path);
    else if (is_picture(path)) t = read_picture(path, info, extents(info), options_.mean, options_.std);
    else if (has_ending(path, ".wav")) t = read_sound(path, info, extents(info));
    else
      throw UsageError(
          "input '" + info.name + "': " + text::quoted(path) +
          " is no number, not one of random, zeros, ones, and no file .npy, .npz, .png, .jpg, .wav");
    const Shape shape = t.shape();
    const std::string found = std::string(name_of(t.dtype())) + " " + to_string(shape);
    Extents found_extents;
    for (int i = 0; i < shape.size(); ++i) found_extents.push_back(shape[i]);
    if (t.dtype() != info.dtype && options_.cast) t = t.to(info.dtype);
    if (t.dtype() != info.dtype)
      throw UsageError("input '" + info.name + "' is " + describe(info) + ", and " + path + " has " + found +
                       " (--cast converts)");
    check_shape(info, found_extents, path + ", which has " + found + ",");
    return t;
  }

  Tensor entry(const Value& info, const std::string& path) {
    const NamedTensors& all = archive(path);
    if (all.contains(info.name)) return all.at(info.name);
    if (all.size() == 1) return all.begin()->second;
    throw UsageError(path + " has no entry '" + info.name + "'");
  }

  const Model& model_;
  const InputOptions& options_;
  Generator generator_;
  std::map<std::string, Extents> shapes_;
  std::map<std::string, std::string> sources_;
  std::map<std::string, NamedTensors> archives_;
};

}  // namespace

NamedTensors make_inputs(const Model& model, const InputOptions& options) {
  return Maker(model, options).all();
}

}  // namespace lazy::tool
