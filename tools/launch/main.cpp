// Runs lazy-launch: starts a program as the ranks of a world, on this machine.
#include <CLI/CLI.hpp>

#include "tools/launch/ranks.hpp"

int main(int argc, char** argv) {
  CLI::App app("Runs a program as several ranks that compute together (lazy/distributed).", "lazy-launch");
  app.footer(
      "  lazy-launch --nproc 2 ./train data\n"
      "  lazy-launch --nproc 4 --machines 2 --machine 1 --host 10.0.0.1 --port 29500 ./train data\n\n"
      "Each rank finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its\n"
      "environment, which distributed::init() reads. When one fails the others end, and its last lines are\n"
      "shown. Exit status: 0; that of the first rank that failed, 128 and the signal's number if it was one; "
      "127\n"
      "where the program can't be run.");
  lazy::tool::Launch l;
  bool plain = false;
  app.add_option("--nproc", l.processes, "ranks on this machine")->check(CLI::Range(1, 1024));
  app.add_option("--machines", l.machines, "machines of the world, each with as many ranks")
      ->check(CLI::Range(1, 65536));
  app.add_option("--machine", l.machine, "this machine's number, from 0 on");
  app.add_option("--host", l.host, "where rank 0 is");
  app.add_option("--port", l.port, "where rank 0 listens (default: a free one; 29500 for several machines)");
  app.add_option("--threads", l.threads, "threads of each rank (default: the cores divided among the ranks)");
  app.add_flag("--no-prefix", plain, "print lines as they are, without the rank before them");
  app.add_option("COMMAND", l.command, "the program and its arguments")->required();
  app.positionals_at_end();
  app.prefix_command();
  try {
    app.parse(argc, argv);
    if (l.machine < 0 || l.machine >= l.machines)
      throw CLI::ValidationError("--machine",
                                 std::to_string(l.machine) + " of " + std::to_string(l.machines));
  } catch (const CLI::ParseError& e) { return app.exit(e) ? 2 : 0; }
  for (const std::string& word : app.remaining()) l.command.push_back(word);
  l.prefix = !plain;
  return lazy::tool::run_ranks(l);
}
