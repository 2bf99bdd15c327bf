#include "tools/cache/commands.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/build_id.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;

void print(const Json& j, std::FILE* to = stdout) {
  std::fprintf(to, "%s\n", j.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

const char* plural(uint64_t n) { return n == 1 ? "" : "s"; }

Json json_of(const Item& i) {
  Json j{{"key", i.id}, {"kind", name_of(i.kind)}};
  if (i.kind == Kind::program) {
    j["kernels"] = i.kernels();
    j["ops"] = i.program.program.nodes;
    j["variant"] = i.program.program.variant;
    j["guards"] = i.program.program.guards.size();
    j["code_bytes"] = i.code_bytes();
    j["compile_ns"] = i.program.program.compile_ns;
    j["what"] = i.what();
  }
  if (!i.program.target.empty()) j["target"] = i.program.target;
  if (!i.program.build.empty()) j["build"] = i.program.build;
  if (!i.why.empty() && i.kind == Kind::broken) j["why"] = i.why;
  j["bytes"] = i.bytes;
  j["used_ns"] = i.stamp;
  j["pack"] = i.pack;
  return j;
}

/// Returns a target as a column: that of another build's record may be any text.
std::string shown(const std::string& target) { return text::one_line(target, 77); }

/// Returns the reason why the item should not be used, or nothing.
std::string fault_of(const Item& i, bool recompile, bool& checked) {
  checked = true;
  if (i.kind == Kind::broken) return i.why;
  if (i.kind != Kind::program) return {};
  std::string why;
  if (!recompile) return {};
  jit::Backend* const backend = backend_of(i.program.target);
  checked = backend != nullptr;
  if (!backend) return {};
  if (jit::label_of(i.program.program) != i.program.label) return "it is labelled as another program";
  try {
    if (!jit::recompiles_alike(i.program, *backend, why)) return why;
  } catch (const Error& e) { return e.what(); }
  return {};
}

}  // namespace

std::unique_ptr<cache::Store> open_store(const Common& c, bool writable) {
  auto store = std::make_unique<cache::Store>(cache::Store::Options{c.directory, writable, c.limit, false});
  if (const std::string problem = store->problem(); !problem.empty()) throw IoError(problem);
  return store;
}

int list(const Common& c, bool all) {
  const auto store = open_store(c, false);
  cache::Store::Totals totals;
  const Items items = items_of(*store, totals);
  Json j = Json::array();
  size_t hidden = 0, longest = std::strlen("TARGET");
  for (const auto& i : items)
    if (i->kind == Kind::program || all) longest = std::max(longest, i->program.target.size());
  const int width = static_cast<int>(std::min<size_t>(longest, 80));
  if (!c.json)
    std::printf("%-16s  %5s %7s %6s  %-7s %9s  %-*s  %-12s  %s\n", "KEY", "OPS", "KERNELS", "GUARDS",
                "VARIANT", "SIZE", width, "TARGET", "USED", "WHAT");
  for (const auto& i : items) {
    if (i->kind != Kind::program && !all) {
      ++hidden;
      continue;
    }
    if (c.json) {
      j.push_back(json_of(*i));
      continue;
    }
    const jit::Program& p = i->program.program;
    if (i->kind == Kind::program)
      std::printf("%-16s  %5lu %7zu %6zu  %-7s %9s  %-*s  %-12s  %s\n", i->id.c_str(),
                  static_cast<unsigned long>(p.nodes), i->kernels(), p.guards.size(), p.variant.c_str(),
                  size_text(i->bytes).c_str(), width, shown(i->program.target).c_str(), ago(i->stamp).c_str(),
                  text::printable(i->what()).c_str());
    else
      std::printf("%-16s  %5s %7s %6s  %-7s %9s  %-*s  %-12s  (%s)\n", i->id.c_str(), "", "", "", "",
                  size_text(i->bytes).c_str(), width, shown(i->program.target).c_str(), ago(i->stamp).c_str(),
                  name_of(i->kind));
  }
  if (c.json) print(j);
  else if (hidden) std::printf("and %zu more that are no programs of this build (--all)\n", hidden);
  return 0;
}

int stats(const Common& c) {
  const auto store = open_store(c, false);
  cache::Store::Totals totals;
  const Items items = items_of(*store, totals);
  std::map<std::string, uint64_t> by_target;
  std::map<Kind, uint64_t> by_kind;
  uint64_t kernels = 0, code = 0, saved_ns = 0;
  std::set<std::string_view> distinct;
  for (const auto& i : items) {
    ++by_kind[i->kind];
    if (i->kind != Kind::program) continue;
    ++by_target[i->program.target];
    kernels += i->kernels();
    code += i->code_bytes();
    saved_ns += i->program.program.compile_ns;
    for (const auto& k : i->program.kernels) distinct.insert(k.identity);
  }
  if (c.json) {
    Json j{{"directory", c.directory},
           {"build", build_id()},
           {"packs", totals.packs},
           {"records", totals.records},
           {"programs", by_kind[Kind::program]},
           {"other_builds", by_kind[Kind::other]},
           {"broken", by_kind[Kind::broken]},
           {"damaged", totals.damaged},
           {"io_errors", totals.io_errors},
           {"kernels", kernels},
           {"distinct_kernels", distinct.size()},
           {"code_bytes", code},
           {"compile_ns", saved_ns},
           {"bytes", totals.bytes},
           {"limit", c.limit},
           {"by_target", by_target}};
    print(j);
    return 0;
  }
  std::printf("folder            %s\n", c.directory.c_str());
  std::printf("size              %s of %s (LAZY_CACHE_SIZE), %lu record%s in %lu file%s\n",
              size_text(totals.bytes).c_str(), size_text(c.limit).c_str(),
              static_cast<unsigned long>(totals.records), plural(totals.records),
              static_cast<unsigned long>(totals.packs), plural(totals.packs));
  std::printf("programs          %lu of this build (%s), %lu of others\n",
              static_cast<unsigned long>(by_kind[Kind::program]), std::string(build_id()).c_str(),
              static_cast<unsigned long>(by_kind[Kind::other]));
  size_t longest = 15;
  for (const auto& [target, n] : by_target) longest = std::max(longest, std::min<size_t>(target.size(), 80));
  for (const auto& [target, n] : by_target)
    std::printf("  %-*s %lu%s\n", static_cast<int>(longest), shown(target).c_str(),
                static_cast<unsigned long>(n), backend_of(target) ? "" : " (not this machine)");
  std::printf("kernels           %lu, %zu of them different, %s of code\n",
              static_cast<unsigned long>(kernels), distinct.size(), size_text(code).c_str());
  std::printf("compiling took    %.1f ms\n", static_cast<double>(saved_ns) / 1e6);
  if (totals.damaged || totals.io_errors || by_kind[Kind::broken])
    std::printf("unusable          %lu damaged, %lu unreadable, %lu senseless\n",
                static_cast<unsigned long>(totals.damaged), static_cast<unsigned long>(totals.io_errors),
                static_cast<unsigned long>(by_kind[Kind::broken]));
  if (!items.empty())
    std::printf("used              first %s, last %s\n", ago(items.back()->stamp).c_str(),
                ago(items.front()->stamp).c_str());
  return 0;
}

int verify(const Common& c, bool recompile) {
  const auto store = open_store(c, false);
  cache::Store::Totals totals;
  const Items items = items_of(*store, totals);
  uint64_t good = 0, unchecked = 0, programs = 0;
  Json faults = Json::array();
  for (const auto& i : items) {
    programs += i->kind == Kind::program;
    bool checked = true;
    const std::string fault = fault_of(*i, recompile, checked);
    unchecked += !checked;
    if (fault.empty()) {
      good += checked;
      continue;
    }
    faults.push_back({{"key", i->id}, {"pack", i->pack}, {"fault", fault}});
    if (!c.json) std::printf("%s in %s: %s\n", i->id.c_str(), i->pack.c_str(), fault.c_str());
  }
  const uint64_t bad = faults.size() + totals.damaged + totals.io_errors;
  if (c.json)
    print({{"good", good},
           {"programs", programs},
           {"recompiled", recompile},
           {"not_for_this_machine", unchecked},
           {"damaged", totals.damaged},
           {"io_errors", totals.io_errors},
           {"faults", faults}});
  else
    std::printf("%lu record%s good%s, %lu damaged, %lu unreadable, %zu senseless or different%s\n",
                static_cast<unsigned long>(good), plural(good), recompile ? " and recompiled alike" : "",
                static_cast<unsigned long>(totals.damaged), static_cast<unsigned long>(totals.io_errors),
                faults.size(),
                unchecked ? (", " + std::to_string(unchecked) + " not for this machine").c_str() : "");
  return bad ? 1 : 0;
}

namespace {

int change(const Common& c, const char* done, const std::function<bool(cache::Store&, std::string&)>& f) {
  const auto store = open_store(c, true);
  const auto before = store->for_each([](const cache::Store::Listed&) {});
  std::string why;
  if (!f(*store, why)) throw IoError(why);
  const auto after = store->for_each([](const cache::Store::Listed&) {});
  if (c.json)
    print({{"records_before", before.records},
           {"records", after.records},
           {"bytes_before", before.bytes},
           {"bytes", after.bytes}});
  else
    std::printf("%s: %lu of %lu records left, %s\n", done, static_cast<unsigned long>(after.records),
                static_cast<unsigned long>(before.records), size_text(after.bytes).c_str());
  return 0;
}

}  // namespace

int prune(const Common& c, uint64_t bytes) {
  return change(c, "pruned", [&](cache::Store& s, std::string& why) { return s.prune(bytes, why); });
}
int clear(const Common& c) {
  return change(c, "cleared", [](cache::Store& s, std::string& why) { return s.clear(why); });
}

namespace {

/// True if the path is that of standard output: nothing else is then written there.
bool is_standard_output(const std::string& path) {
  struct stat file {
  }, out{};
  return ::stat(path.c_str(), &file) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 && file.st_dev == out.st_dev &&
         file.st_ino == out.st_ino;
}

}  // namespace

int export_to(const Common& c, const std::string& file) {
  const auto store = open_store(c, false);
  std::FILE* const tells = is_standard_output(file) ? stderr : stdout;
  uint64_t n = 0;
  std::string why;
  if (!store->export_to(file, n, why)) throw IoError(why);
  if (c.json) print({{"file", file}, {"records", n}}, tells);
  else
    std::fprintf(tells, "%lu record%s written to %s\n", static_cast<unsigned long>(n), plural(n),
                 file.c_str());
  return 0;
}

int import_from(const Common& c, const std::string& file, bool recompile) {
  const auto store = open_store(c, true);
  uint64_t n = 0, others = 0, unchecked = 0, bad = 0;
  std::string why, fault;
  const auto accept = [&](const cache::Store::Listed& l) {
    const auto item = make_item(l);
    if (item->kind == Kind::machine) return false;  // this one was measured on this machine
    if (item->kind == Kind::other) return ++others, false;
    bool checked = true;
    fault = fault_of(*item, recompile, checked);
    unchecked += !checked;
    if (!fault.empty()) {
      ++bad;
      std::fprintf(stderr, "lazy-cache: %s is left out: %s\n", item->id.c_str(), fault.c_str());
    }
    return fault.empty() && (checked || !recompile);
  };
  if (!store->import_from(file, accept, n, why)) throw IoError(why);
  if (c.json)
    print({{"file", file},
           {"imported", n},
           {"other_builds", others},
           {"not_for_this_machine", recompile ? unchecked : 0},
           {"faults", bad}});
  else
    std::printf("%lu program%s imported%s%s%s\n", static_cast<unsigned long>(n), plural(n),
                recompile ? ", compiled again and found alike" : "",
                others ? (", " + std::to_string(others) + " of other builds left out").c_str() : "",
                recompile && unchecked
                    ? (", " + std::to_string(unchecked) + " not for this machine left out").c_str()
                    : "");
  return bad ? 1 : 0;
}

int warmup(const Common& c, const std::vector<std::string>& command) {
  struct State {
    uint64_t programs = 0, kernels = 0;
  };
  const auto state = [&] {
    const auto store = open_store(c, true);
    cache::Store::Totals totals;
    State s;
    for (const auto& i : items_of(*store, totals)) {
      s.programs += i->kind == Kind::program;
      s.kernels += i->kind == Kind::program ? i->kernels() : 0;
    }
    return s;
  };
  const State before = state();
  const pid_t child = fork();
  if (child < 0) throw IoError(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    setenv("LAZY_CACHE", "on", 1);
    setenv("LAZY_CACHE_DIR", c.directory.c_str(), 1);
    if (c.json) dup2(2, 1);  // standard output is reserved for the JSON
    std::vector<char*> words;
    for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::fprintf(stderr, "lazy-cache: %s: %s\n", words[0], std::strerror(errno));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const State after = state();
  const uint64_t programs = after.programs - std::min(before.programs, after.programs),
                 kernels = after.kernels - std::min(before.kernels, after.kernels);
  const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (c.json)
    print({{"exit_status", exit},
           {"programs_added", programs},
           {"kernels_added", kernels},
           {"programs", after.programs}});
  else
    std::fprintf(stderr, "lazy-cache: %lu program%s with %lu kernel%s added, %lu in all\n",
                 static_cast<unsigned long>(programs), plural(programs), static_cast<unsigned long>(kernels),
                 plural(kernels), static_cast<unsigned long>(after.programs));
  return exit;
}

}  // namespace lazy::tool
