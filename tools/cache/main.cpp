// Runs lazy-cache: looks into the cache on disk, checks it, bounds it, and takes it from one machine to
// another.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cache/private_directory.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "tools/cache/commands.hpp"

using namespace lazy;

namespace {

/// Parses sizes that are spelled as in the environment.
uint64_t size_of_text(const std::string& text) {
  const config::Override size("LAZY_CACHE_SIZE", text);
  return config::get().cache_size;
}

/// Returns the first word that stands where a command is expected and is none, or nothing.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--dir") ++i;
    else if (argv[i][0] != '-')
      return app.get_subcommands([&](const CLI::App* c) { return c->get_name() == argv[i]; }).empty()
                 ? argv[i]
                 : "";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The cache of compiled programs on disk: what is in it, is it good, bound it, ship it.",
               "lazy-cache");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "The folder is LAZY_CACHE_DIR, else lazy in $XDG_CACHE_HOME or $HOME/.cache. Exit status: 0 good, 1 "
      "not,\n"
      "2 a wrong command line.");
  tool::Common common;
  app.add_option("--dir", common.directory, "another folder")->type_name("DIR");
  app.add_flag("--json", common.json, "print JSON");

  bool all = false, recompile = false, trust = false;
  std::string key, file, size;
  std::vector<std::string> command;
  auto* const ls = app.add_subcommand("ls", "list the programs, those used last first");
  ls->add_flag("--all", all, "also records of other builds of the library");
  auto* const stats = app.add_subcommand("stats", "sums: programs, kernels, bytes");
  auto* const show = app.add_subcommand("show", "one program: trace, guards, loop IR, machine code");
  show->add_option("KEY", key, "as ls prints it, or its beginning")->required();
  auto* const verify = app.add_subcommand("verify", "check every record; status 1 if one is bad");
  verify->add_flag("--recompile", recompile,
                   "build every program again from its key and compare it byte by byte");
  auto* const prune = app.add_subcommand("prune", "drop the least recently used programs");
  prune->add_option("--size", size, "bytes to keep, such as 64MiB (default: LAZY_CACHE_SIZE)");
  auto* const clear = app.add_subcommand("clear", "drop everything");
  auto* const exports =
      app.add_subcommand("export", "write everything to one file, to ship with an application");
  exports->add_option("FILE", file)->required();
  auto* const import = app.add_subcommand(
      "import",
      "add such a file's programs; each is built again from its key and must come out byte by byte the same");
  import->add_option("FILE", file)->required();
  import->add_flag("--trust", trust, "check its form only: its code will be run as it is");
  auto* const warmup =
      app.add_subcommand("warmup", "run a command with the cache on, and tell what it added");
  warmup->add_option("COMMAND", command, "after --")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (const std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) {
      std::fprintf(stderr, "lazy-cache: there is no command '%s': --help lists them\n", unknown.c_str());
      return 2;
    }
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (common.directory.empty()) common.directory = cache::default_directory();
    common.limit = config::get().cache_size;
    if (*ls) return tool::list(common, all);
    if (*stats) return tool::stats(common);
    if (*show) return tool::show(common, key);
    if (*verify) return tool::verify(common, recompile);
    if (*prune) return tool::prune(common, size.empty() ? common.limit : size_of_text(size));
    if (*clear) return tool::clear(common);
    if (*exports) return tool::export_to(common, file);
    if (*import) return tool::import_from(common, file, !trust);
    return tool::warmup(common, command);
  } catch (const ConfigError& e) {
    std::fprintf(stderr, "lazy-cache: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lazy-cache: %s\n", e.what());
    return 1;
  }
}
