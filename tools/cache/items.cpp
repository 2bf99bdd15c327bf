#include "tools/cache/items.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

#include "backends/cpu/backend.hpp"
#include "backends/cuda/backend.hpp"
#include "support/hash.hpp"

namespace lazy::tool {

const char* name_of(Kind k) {
  constexpr const char* names[] = {"program", "other build", "machine", "broken"};
  return names[static_cast<int>(k)];
}

size_t Item::code_bytes() const {
  size_t n = 0;
  for (const jit::StoredKernel& k : program.kernels) n += k.stored.size();
  return n;
}

std::string Item::what() const {
  std::vector<std::pair<std::string, int>> names;
  for (size_t step = 0; step < program.kernel_of.size(); ++step) {
    const uint32_t k = program.kernel_of[step];
    std::string name(k == jit::StoredProgram::kCall ? program.program.steps[step].call.spec->name()
                                                    : program.kernels[k].name);
    if (name.empty()) name = "kernel";
    const auto at = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == name; });
    if (at == names.end()) names.emplace_back(name, 1);
    else ++at->second;
  }
  std::string s;
  for (const auto& [name, n] : names)
    s += (s.empty() ? "" : ", ") + (n > 1 ? std::to_string(n) + " x " : std::string()) + name;
  return s;
}

std::unique_ptr<Item> make_item(const cache::Store::Listed& l) {
  auto item = std::make_unique<Item>();
  item->key = l.key;
  item->value = l.value;
  item->stamp = l.stamp;
  item->bytes = l.bytes;
  item->pack = l.pack;
  char id[17];
  const std::string whole = item->key + std::to_string(l.label);
  std::snprintf(id, sizeof id, "%016lx", static_cast<unsigned long>(checksum64(whole.data(), whole.size())));
  item->id = id;
  if (l.key.substr(0, l.key.find('\0')) == "machine") {
    item->kind = Kind::machine;
  } else if (jit::take_apart(item->key, item->value, item->program, item->why)) {
    item->kind = Kind::program;
    item->program.label = l.label;
  } else {
    item->kind = item->program.key.empty() && !item->program.build.empty() ? Kind::other : Kind::broken;
  }
  return item;
}

Items items_of(cache::Store& store, cache::Store::Totals& totals) {
  Items items;
  totals = store.for_each([&](const cache::Store::Listed& l) { items.push_back(make_item(l)); });
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a->stamp > b->stamp; });
  return items;
}

jit::Backend* backend_of(const std::string& target) {
  static std::map<std::string, std::unique_ptr<jit::Backend>> all = [] {
    std::map<std::string, std::unique_ptr<jit::Backend>> m;
    for (const cpu_backend::Isa isa : {cpu_backend::Isa::avx2, cpu_backend::Isa::avx512,
                                       cpu_backend::Isa::avx512_bf16, cpu_backend::Isa::amx})
      if (isa <= cpu_backend::best_isa()) {
        auto b = cpu_backend::make_backend(isa);
        m[b->target()] = std::move(b);
      }
    return m;
  }();
  const auto at = all.find(target);
  if (at != all.end()) return at->second.get();
  // Compiling for a GPU, and disassembling its code, needs no GPU.
  constexpr std::string_view cuda = "cuda-sm_";
  int architecture = 0;
  const char* const end = target.data() + target.size();
  if (!target.starts_with(cuda) ||
      std::from_chars(target.data() + cuda.size(), end, architecture).ptr != end || architecture <= 0)
    return nullptr;
  return (all[target] = cuda_backend::make_cross_compiler(architecture)).get();
}

std::string ago(uint64_t stamp) {
  const uint64_t now = cache::now();
  if (stamp > now) return "in time to come";
  const uint64_t s = (now - stamp) / 1'000'000'000;
  if (s < 60) return std::to_string(s) + " s ago";
  if (s < 3600) return std::to_string(s / 60) + " min ago";
  if (s < 48 * 3600) return std::to_string(s / 3600) + " h ago";
  return std::to_string(s / 86400) + " days ago";
}

std::string size_text(uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto n = static_cast<double>(bytes);
  int u = 0;
  for (; n >= 1024 && u < 4; ++u) n /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.1f %s", n, units[u]);
  return text;
}

}  // namespace lazy::tool
