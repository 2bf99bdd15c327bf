// lazy-launch run: starts a program as the ranks of a world, by a file of settings and by options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "tools/launch/commands.hpp"
#include "tools/launch/elastic.hpp"
#include "tools/launch/hosts.hpp"
#include "tools/launch/manifests.hpp"
#include "tools/launch/ranks.hpp"
#include "tools/launch/settings.hpp"
#include "tools/launch/traces.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

constexpr const char* kFooter =
    "  lazy-launch --nproc 2 ./train data\n"
    "  lazy-launch --nproc 4 --machines 2 --machine 1 --host 10.0.0.1 --port 29500 ./train data\n\n"
    "Other commands: run (the default), config, env, estimate-memory, merge-weights, test; each has "
    "--help.\n\n"
    "Settings come from --config_file, else from Accelerate's default file where there is one; options win.\n"
    "Each rank finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its\n"
    "environment, which distributed::init() reads. When one fails the others end, and its last lines are\n"
    "shown. Exit status: 0; that of the first rank that failed, 128 and the signal's number if it was one; "
    "127\nwhere the program can't be run.";

constexpr int kMostRanks = 65536;  // whose traces are looked for

struct Options {
  Launch launch;
  std::string config_file, mixed_precision, print, image = "IMAGE", hostfile, rsh = "ssh";
  int accumulation = 0;  // batches to a step; 0: of the settings
  bool plain = false, no_bind = false;
  Elastic elastic;
  double cooldown = -1;  // seconds; below 0: 30 where there are several hosts
};

void declare(CLI::App& app, Options& o) {
  Launch& l = o.launch;
  app.footer(kFooter);
  app.add_option("--config_file", o.config_file, "YAML of `config`")->check(CLI::ExistingFile);
  app.add_option("--nproc", l.processes, "ranks on this machine")->check(CLI::Range(1, 1024));
  app.add_option("--machines", l.machines, "machines of the world, each with as many ranks")
      ->check(CLI::Range(1, 65536));
  app.add_option("--machine", l.machine, "this machine's number, from 0 on");
  app.add_option("--host", l.host, "where rank 0 is");
  app.add_option("--port", l.port, "where rank 0 listens (default: a free one; 29500 for several machines)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--threads", l.threads, "threads of each rank (default: the cores divided among the ranks)");
  app.add_option("--mixed_precision", o.mixed_precision, "no, fp16 or bf16, as ACCELERATE_MIXED_PRECISION")
      ->check(CLI::IsMember({"no", "fp16", "bf16"}));
  app.add_option("--gradient_accumulation_steps", o.accumulation,
                 "batches to a step, as ACCELERATE_GRADIENT_ACCUMULATION_STEPS")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--profile", l.profile, "a trace of each rank, FILE with .rankN before its extension");
  app.add_option("--hostfile", o.hostfile, "lines of HOST [slots=N]: this starts the ranks of each")
      ->check(CLI::ExistingFile);
  app.add_option("--rsh", o.rsh, "called with a host and a shell's line")->capture_default_str();
  app.add_flag("--watch-stdin", l.watch_stdin, "end when standard input does, as a remote shell's");
  app.add_flag("--no-bind", o.no_bind, "let ranks run on all cores and GPUs");
  app.add_flag("--no-prefix", o.plain, "print lines as they are, without the rank before them");
  app.add_option("--min", o.elastic.least, "elastic: go on with so many ranks, when others have failed")
      ->check(CLI::Range(1, 65536));
  app.add_option("--max", o.elastic.most, "elastic: run at most so many ranks, on the slots that there are")
      ->check(CLI::Range(1, 65536));
  app.add_option("--max-restarts", o.elastic.max_restarts, "elastic: so many times after a failure")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--host-discovery-script", o.elastic.slots.script,
                 "elastic: prints HOST:SLOTS lines, the hosts that there are now; called each second");
  app.add_option("--heartbeat", l.heartbeat,
                 "elastic: seconds after which a rank that is stopped, or silent, has failed (default: 5)")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--progress-timeout", l.progress,
                 "elastic: seconds after which a rank that commits nothing more has failed (default: none)")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--cooldown", o.cooldown,
                 "elastic: seconds for which a host that failed is left alone, each time twice as many "
                 "(default: 30)")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--slots-timeout", o.elastic.slots_timeout,
                 "elastic: seconds that --min slots are waited for")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  // These are what one launcher says to another.
  app.add_option("--first-rank", l.first)->group("");
  app.add_option("--world", l.world)->group("");
  app.add_flag("--beat", l.beat)->group("");
  app.add_option("--print", o.print, "print what starts the ranks on a cluster, and start nothing")
      ->check(CLI::IsMember({"kubernetes-mpijob", "kubernetes-job", "slurm"}));
  app.add_option("--image", o.image, "the container image of --print kubernetes-...");
  app.add_option("COMMAND", l.command, "the program and its arguments")->required();
  app.positionals_at_end();
  app.prefix_command();
}

/// Takes from the settings what no option says.
void apply(const CLI::App& app, const Settings& t, Options& o) {
  Launch& l = o.launch;
  const auto open = [&app](const char* name) { return app.count(name) == 0; };
  if (open("--machines")) l.machines = t.num_machines;
  if (open("--machine")) l.machine = t.machine_rank;
  if (open("--nproc")) l.processes = t.num_processes / t.num_machines;
  if (open("--host") && !t.main_process_ip.empty()) l.host = t.main_process_ip;
  if (open("--port")) l.port = t.main_process_port;
  if (open("--mixed_precision")) o.mixed_precision = t.mixed_precision;
  if (open("--gradient_accumulation_steps")) o.accumulation = t.gradient_accumulation_steps;
  if (t.debug) l.variables.emplace_back("ACCELERATE_DEBUG_MODE", "true");
}

void read_file(const CLI::App& app, Options& o) {
  std::string path = o.config_file;
  if (path.empty()) {
    path = default_settings_path();
    if (!std::filesystem::exists(path)) return;
  }
  const Settings t = read_settings(path);
  if (o.hostfile.empty()) o.hostfile = t.hostfile;
  if (!t.not_honoured.empty()) {
    std::string names;
    for (const std::string& key : t.not_honoured) names += (names.empty() ? "" : ", ") + key;
    std::fprintf(stderr, "lazy-launch: %s: not honoured: %s\n", path.c_str(), names.c_str());
  }
  apply(app, t, o);
}

bool is_elastic(const CLI::App& app) {
  for (const char* const name : {"--min", "--max", "--max-restarts", "--host-discovery-script"})
    if (app.count(name)) return true;
  return false;
}

/// Returns what an elastic launch is, and gives the launch what it needs for that.
Elastic elastic_of(const CLI::App& app, Options& o) {
  Elastic& e = o.elastic;
  Launch& l = o.launch;
  const bool here = o.hostfile.empty() && e.slots.script.empty();
  if (!app.count("--max")) e.most = here ? std::max(l.processes, e.least) : 65536;
  if (!app.count("--min")) e.least = here ? e.most : 1;
  e.rsh = o.rsh, e.slots.hostfile = o.hostfile;
  e.slots.slots = here && !app.count("--nproc") ? e.most : l.processes;
  e.slots.cooldown = here ? 0 : o.cooldown < 0 ? 30 : o.cooldown;
  if (!app.count("--heartbeat")) l.heartbeat = 5;
  if (!here && !app.count("--host") && l.host == Launch{}.host) l.host.clear();  // the first host
  return e;
}

int launch(const CLI::App& app, Options& o) {
  Launch& l = o.launch;
  if (!l.watch_stdin && is_elastic(app)) return run_elastic(elastic_of(app, o), l);
  if (o.hostfile.empty() || l.watch_stdin) return run_ranks(l);
  if (!app.count("--host") && l.host == Launch{}.host) l.host.clear();  // the first host
  return run_machines(commands_of(read_hosts(o.hostfile), o.rsh, l));
}

}  // namespace

int run_command(int argc, char** argv) {
  CLI::App app("Runs a program as several ranks that compute together (lazy/distributed).", "lazy-launch");
  Options o;
  declare(app, o);
  Launch& l = o.launch;
  if (const std::string wrong = unknown_option(app, argc, argv, true); !wrong.empty()) {
    std::fprintf(stderr, "lazy-launch: %s\n", wrong.c_str());
    return 2;
  }
  try {
    app.parse(argc, argv);
    read_file(app, o);
    if (l.machine < 0 || l.machine >= l.machines)
      throw CLI::ValidationError("--machine",
                                 std::to_string(l.machine) + " of " + std::to_string(l.machines));
    if (app.count("--min") && app.count("--max") && o.elastic.least > o.elastic.most)
      throw CLI::ValidationError(
          "--min", std::to_string(o.elastic.least) + " ranks, of at most " + std::to_string(o.elastic.most));
  } catch (const CLI::ParseError& e) { return app.exit(e) ? 2 : 0; } catch (const SettingsError& e) {
    std::fprintf(stderr, "lazy-launch: %s\n", e.what());
    return 2;
  }
  for (const std::string& word : app.remaining()) l.command.push_back(word);
  l.prefix = !o.plain, l.bind = !o.no_bind;
  if (!o.mixed_precision.empty()) l.variables.emplace_back("ACCELERATE_MIXED_PRECISION", o.mixed_precision);
  if (o.accumulation)
    l.variables.emplace_back("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", std::to_string(o.accumulation));
  if (o.print.empty()) {
    const auto begun = std::filesystem::file_time_type::clock::now();
    const int status = launch(app, o);
    // This one merges for all machines: others' traces are seen where they share the folder.
    if (!l.profile.empty() && !l.watch_stdin) merge_traces(l.profile, kMostRanks, begun);
    return status;
  }
  std::fputs(manifest(o.print, l, o.image).c_str(), stdout);
  return 0;
}

}  // namespace lazy::tool
