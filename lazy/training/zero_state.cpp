#include "lazy/training/zero_state.hpp"

#include <algorithm>

#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::training {
namespace {

using Shards = std::vector<distributed::ZeroOptimizer::Shard>;

constexpr const char* kMaster = "master.";  // begins the names of master weights

/// Is where a parameter's elements lie in its bucket, and which of them this rank has.
struct Flat {
  std::string name;
  int64_t size = 0;
  int64_t begin = 0, end = 0;  // this rank's, of the parameter
  int64_t in_shard = 0;        // the place of the first one in the shard
};

std::map<std::string, ParameterRef> parameters_by_name(nn::Module& model, const Site& s) {
  std::map<std::string, ParameterRef> all;
  for (const auto& [name, p] : model.named_parameters(s)) all.emplace(name, p);
  return all;
}

std::vector<Flat> parameters_of(const distributed::ZeroOptimizer::Shard& shard,
                                const std::map<std::string, ParameterRef>& by_name, const Site& s) {
  std::vector<Flat> all;
  int64_t at = 0;
  for (const std::string& name : shard.parameters) {
    Flat f{name, by_name.at(name)->size(s)};
    f.begin = std::clamp<int64_t>(shard.begin - at, 0, f.size);
    f.end = std::clamp<int64_t>(shard.end - at, 0, f.size);
    f.in_shard = std::max<int64_t>(at - shard.begin, 0);
    at += f.size;
    all.push_back(f);
  }
  return all;
}

/// Returns the shards by their number, as the inner optimizer has them.
std::vector<ParameterRef> inner_parameters(distributed::ZeroOptimizer& z) {
  std::vector<ParameterRef> all;
  for (const optim::ParameterItem& item : z.inner().parameters()) all.push_back(item.parameter);
  return all;
}

TensorRows rows_in(const Tensor& shard, const Flat& f) {
  const int64_t n = f.end - f.begin;
  return {shard(slice(n ? f.in_shard : 0, n ? f.in_shard + n : 0)), f.begin, f.size};
}

/// Returns the rank's rows of all parameters of a bucket, filled up with zeros.
Tensor shard_of(const std::vector<Flat>& all, int64_t length, DType dtype, const Site& s,
                const std::function<Tensor(const Flat&)>& rows) {
  std::vector<Tensor> parts;
  int64_t n = 0;
  for (const Flat& f : all) {
    if (f.begin == f.end) continue;
    parts.push_back(astype(Arg(rows(f), s), dtype));
    n += f.end - f.begin;
  }
  if (n < length) parts.push_back(zeros({length - n}, dtype, {}, s));
  return parts.size() == 1 ? parts[0] : concat(parts, 0, s);
}

/// Returns the names in a part of those of `prefix`, without it.
std::vector<std::string> keys_of(const std::vector<std::string>& names, const std::string& prefix) {
  std::vector<std::string> keys;
  for (const std::string& n : names)
    if (n.starts_with(prefix)) keys.push_back(n.substr(prefix.size()));
  return keys;
}

}  // namespace

void add_zero(Checkpoint& c, const std::string& name, distributed::ZeroOptimizer& z, nn::Module& model,
              Site s) {
  const no_grad scope;
  const auto by_name = parameters_by_name(model, s);
  const NamedTensors state = z.state_dict();
  const Shards shards = z.shards();
  NamedTensors whole;
  NamedRows rows;
  std::map<std::string, const distributed::ZeroOptimizer::Shard*> shard_by_name;
  for (const auto& shard : shards) shard_by_name[shard.name] = &shard;
  for (const auto& [key, value] : state) {
    // "state.NAME.KEY", of a shard or on one rank of a parameter; NAME may have dots, KEY has none.
    const size_t dot = key.rfind('.');
    const std::string owner = key.starts_with("state.") ? key.substr(6, dot - 6) : "", what = key.substr(dot);
    if (const auto shard = shard_by_name.find(owner); shard != shard_by_name.end()) {
      const bool flat = value.ndim(s) == 1;
      for (const Flat& f : parameters_of(*shard->second, by_name, s))
        if (flat) rows.emplace_back("state." + f.name + what, rows_in(value, f));
        else whole.set("state." + f.name + what, value);
    } else if (const auto p = by_name.find(owner);
               p != by_name.end() && value.ndim(s) > 0 && value.shape(s) == p->second->shape(s)) {
      rows.emplace_back(key, TensorRows{value.flatten(s), 0, value.size(s)});
    } else {
      whole.set(key, value);
    }
  }
  const std::vector<ParameterRef> inner = inner_parameters(z);
  for (size_t b = 0; b < shards.size(); ++b)
    for (const Flat& f : parameters_of(shards[b], by_name, s))
      if (inner[b]->dtype(s) != by_name.at(f.name)->dtype(s))
        rows.emplace_back(kMaster + f.name, rows_in(inner[b]->detach(s), f));
  c.add(name, whole, s).add_rows(name + ".rows", rows, s);
}

void restore_zero(const Checkpoint& c, const std::string& name, distributed::ZeroOptimizer& z,
                  nn::Module& model, Site s) {
  const no_grad scope;
  const auto by_name = parameters_by_name(model, s);
  const std::string part = name + ".rows";
  const NamedTensors whole = c.tensors(name, s);
  const std::vector<std::string> names = c.names(part, s);
  NamedTensors state;
  for (const auto& [key, value] : whole)
    if (!key.starts_with("state.")) state.set(key, value);
  const Shards shards = z.shards();
  if (shards.empty()) {
    for (const auto& [key, value] : whole) state.set(key, value);
    for (const std::string& key : names) {
      const size_t dot = key.rfind('.');
      const auto p = key.starts_with("state.") ? by_name.find(key.substr(6, dot - 6)) : by_name.end();
      if (p != by_name.end()) {
        const Tensor flat = c.rows(part + "/" + key, 0, p->second->size(s), s);
        state.set(key, reshape(Arg(flat, s), ShapeArg(p->second->shape(s))));
      }
    }
    return z.load_state_dict(state, s);
  }
  const std::vector<ParameterRef> inner = inner_parameters(z);
  for (size_t b = 0; b < shards.size(); ++b) {
    const std::vector<Flat> all = parameters_of(shards[b], by_name, s);
    const std::string first = "state." + all[0].name + ".", own = "state." + shards[b].name + ".";
    const int64_t length = inner[b]->size(s);
    for (const auto& [key, value] : whole)
      if (key.starts_with(first) && key.find('.', first.size()) == key.npos)
        state.set(own + key.substr(first.size()), value);
    for (const std::string& key : keys_of(names, first)) {
      if (key.find('.') != key.npos) continue;  // of another parameter, whose name begins likewise
      const DType dtype = c.rows(part + "/" + first + key, 0, 0, s).dtype(s);
      state.set(own + key, shard_of(all, length, dtype, s, [&](const Flat& f) {
                  return c.rows(part + "/state." + f.name + "." + key, f.begin, f.end, s);
                }));
    }
    const bool masters = std::find(names.begin(), names.end(), kMaster + all[0].name) != names.end();
    *inner[b] = shard_of(all, length, inner[b]->dtype(s), s, [&](const Flat& f) {
      if (masters) return c.rows(part + "/" + kMaster + f.name, f.begin, f.end, s);
      return by_name.at(f.name)->detach(s).flatten(s)(slice(f.begin, f.end));
    });
  }
  z.load_state_dict(state, s);
}

}  // namespace lazy::training
