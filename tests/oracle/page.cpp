// Prints docs/ops.md, and checks the maps of names.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include "tests/oracle/names.hpp"

namespace oracle {
namespace {

/// Returns the name of an ATen op without its overload: aten.add.Tensor -> add.
std::string base_of(std::string op) {
  if (op.starts_with("aten.")) op.erase(0, 5);
  return op.substr(0, op.find('.'));
}

std::string joined(const std::vector<std::string>& v, const char* between = ", ") {
  std::string s;
  for (const std::string& w : v) s += (s.empty() ? "" : between) + w;
  return s;
}

/// Returns dtypes in few words: all of a kind by the kind's name.
std::string words_of(const std::vector<DType>& v) {
  if (v.size() == kDTypeCount + 2) return "all";
  if (v.size() == kDTypeCount && std::none_of(v.begin(), v.end(), [](DType t) { return is_complex(t); }))
    return "all real";
  std::vector<std::string> s;
  const auto add = [&](auto&& of_kind, std::ptrdiff_t all, const char* name) {
    if (std::count_if(v.begin(), v.end(), of_kind) == all) return s.push_back(name);
    for (const DType t : v)
      if (of_kind(t)) s.push_back(name_of(t));
  };
  add([](DType t) { return is_bool(t); }, 1, "bool");
  add([](DType t) { return is_int(t); }, 8, "integers");
  add([](DType t) { return is_float(t); }, 4, "floats");
  add([](DType t) { return is_complex(t); }, 2, "complex");
  return joined(s);
}

std::string kind_text(const Tried& t) {
  std::string s = t.kind;
  if (t.kind == "primitive" && t.ops.size() == 1) s += " `" + t.ops[0] + '`';
  if (t.kind == "composite") s += " of " + std::to_string(t.ops.size() + t.calls.size());
  std::set<std::string> calls(t.calls.begin(), t.calls.end());
  for (const std::string& c : calls)
    s += (t.kind == "call" || t.kind == "intention" ? " `" : ", call `") + c + '`';
  return s + (t.reads ? "; reads values" : "");
}

/// Tells how many of the ops of a set there are, counted by `key`.
struct Count {
  size_t all = 0, has = 0, expressions = 0, artefacts = 0;
  size_t here() const { return has + expressions; }
  std::vector<std::string> missing;
};
template <class F>
Count count(const std::vector<Mapped>& map, const std::string& set, F key) {
  std::map<std::string, std::string> best;  // by key: the best state of its overloads
  const auto rank = [](const std::string& s) {
    return s == "has" ? 3 : s == "expression" ? 2 : s == "artefact" ? 1 : 0;
  };
  for (const Mapped& m : map) {
    if (m.set != set) continue;
    std::string& s = best.emplace(key(m), m.state).first->second;
    if (rank(m.state) > rank(s)) s = m.state;
  }
  Count c;
  for (const auto& [op, state] : best) {
    ++c.all;
    if (state == "has") ++c.has;
    else if (state == "expression") ++c.expressions;
    else if (state == "artefact") ++c.artefacts;
    else c.missing.push_back(op);
  }
  return c;
}

Count core_aten(const std::vector<Mapped>& aten) {
  return count(aten, "core_aten", [](const Mapped& m) { return base_of(m.op); });
}
Count decomposed(const std::vector<Mapped>& aten) {
  return count(aten, "decomposed", [](const Mapped& m) { return m.op; });
}
Count array_api(const std::vector<Mapped>& api) {
  return count(api, "main", [](const Mapped& m) { return m.op; });
}

/// Returns for each function of ours the names that it stands for.
std::map<std::string, std::string> names_by_function(const std::vector<Mapped>& map) {
  std::map<std::string, std::set<std::string>> found;
  for (const Mapped& m : map)
    if (m.state == "has")
      for (const std::string& n : m.names) found[n].insert(base_of(m.op));
  std::map<std::string, std::string> text;
  for (const auto& [name, ops] : found) text[name] = joined({ops.begin(), ops.end()});
  return text;
}

void print_count(const char* what, const Count& c) {
  std::cout << "| " << what << " | " << c.all << " | " << c.has << " | " << c.expressions << " | "
            << c.artefacts << " | " << c.missing.size() << " |\n";
}

void print_others(const char* title, const std::vector<Mapped>& map) {
  std::cout << "\n## " << title << "\n\n| set | op | here |\n|---|---|---|\n";
  for (const Mapped& m : map) {
    const bool same = m.state == "has" && m.names.size() == 1 && m.names[0] == base_of(m.op);
    if (same && m.note.empty()) continue;
    std::cout << "| " << m.set << " | " << m.op << " | ";
    if (m.state == "has" || m.state == "expression") {
      std::cout << (m.state == "has" && !m.names.empty() ? '`' + joined(m.names, "`, `") + '`' : "");
      if (!m.note.empty()) std::cout << (m.state == "has" && !m.names.empty() ? ": " : "") << m.note;
    } else {
      std::cout << "none: " << m.note;
    }
    std::cout << " |\n";
  }
}

}  // namespace

std::vector<Mapped> read_map(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("no file " + file);
  std::vector<Mapped> map;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto f = split_text(line, '\t');
    if (f.size() < 4) throw std::runtime_error("a line of " + file + " has fewer than 4 fields: " + line);
    Mapped m{
        std::string(f[0]), std::string(f[1]), std::string(f[2]), {}, f.size() > 4 ? std::string(f[4]) : ""};
    if (f[3] != "-")
      for (const std::string_view n : split_text(f[3], ' ')) m.names.emplace_back(n);
    map.push_back(std::move(m));
  }
  return map;
}

int print_map_faults(const std::string& folder) {
  int faults = 0;
  const auto fault = [&](const std::string& what) { std::cerr << "lazy_oracle: " << what << '\n', ++faults; };
  std::set<std::string, std::less<>> known;
  for (const Row* r : table()) known.emplace(function_of(*r));
  for (const auto& [name, reason] : excluded()) known.emplace(name);
  const auto aten = read_map(folder + "/aten.tsv"), api = read_map(folder + "/array_api.tsv");
  for (const auto& map : {aten, api})
    for (const Mapped& m : map) {
      for (const std::string& n : m.names)
        if (!n.starts_with("Tensor::") && !known.contains(n))
          fault(m.op + " is said to be " + n + ", which does not exist");
      if (m.state == "has" && m.names.empty()) fault(m.op + " has no name");
      if (m.state != "has" && m.note.empty()) fault(m.op + " needs an expression or a reason");
    }
  for (const std::string& op : core_aten(aten).missing) fault("core ATen lacks " + op);
  if (const Count d = decomposed(aten); d.here() < 150)
    fault("of the decomposed ops there are " + std::to_string(d.here()) + ", not 150");
  for (const std::string& op : array_api(api).missing) fault("the array API lacks " + op);
  return faults;
}

void print_page(const std::string& folder) {
  const auto aten = read_map(folder + "/aten.tsv"), api = read_map(folder + "/array_api.tsv");
  auto of_aten = names_by_function(aten), of_api = names_by_function(api);
  std::cout
      << "# Ops\n\n"
         "Generated (target `docs`) from the table in `tests/oracle/`, whose rows call each public "
         "function; what a function records is observed, not "
         "written down.\n\n"
         "* **Kind**: a *primitive* records one op of the compiler's, a *composite* several (their number; "
         "casts, views and constants don't count), a *view* only views, a *call* an op that\n"
         "  is no loop nest ([calls](architecture/calls.md)), an *intention* a call that becomes ops when it "
         "is "
         "flushed, a *source* constants and indices, an *operand* "
         "nothing. *Reads values*: it computes what is pending, for the size of its result depends on it.\n"
         "* **Dtypes**: those of the 15 that the sample arguments of the table may have, where they "
         "may vary.\n"
         "* **Backends**: *all* are the reference backend, the CPU's and CUDA's.\n"
         "* **ATen**, **array API**: the names that the function stands for; other ways to have them "
         "follow below.\n\n"
         "| function | kind | dtypes | backends | ATen | array API |\n|---|---|---|---|---|---|\n";
  size_t rows = 0;
  std::map<std::string, size_t> kinds;
  for (const Row* r : table()) {
    if (std::string_view(r->name).find('/') != std::string_view::npos) continue;
    const Tried t = try_sample(*r);
    std::cout << "| `" << r->name << "` | " << kind_text(t) << " | " << words_of(t.dtypes) << " | "
              << t.backends << " | " << of_aten[r->name] << " | " << of_api[r->name] << " |\n";
    ++rows, ++kinds[t.kind];
  }
  print_others("ATen by other names", aten);
  print_others("The array API by other names", api);
  std::cout
      << "\n## Counts\n\n| set | all | functions | expressions | artefacts of strides or storage | missing "
         "|\n|---|---|---|---|---|---|\n";
  print_count("core ATen (base names)", core_aten(aten));
  print_count("ATen's decomposed ops", decomposed(aten));
  print_count("array API 2023.12, main namespace", array_api(api));
  std::cout << "\nFunctions in the first table: " << rows;
  for (const auto& [kind, n] : kinds) std::cout << "; " << kind << ": " << n;
  std::cout << ".\n";
}

}  // namespace oracle
