#include "support/mutation_switch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace lazy_mutation {

int active = 0;
unsigned char* marks = nullptr;
long marks_size = 0;

void mark(int first, int count) {
  for (int id = first; id < first + count && id < marks_size; ++id) marks[id] = 1;
}

// Runs before any constructor of a static: these may be mutated too.
__attribute__((constructor(101))) static void start() {
  if (const char* id = std::getenv("MUTANT")) active = std::atoi(id);
  const char* path = std::getenv("MUTANT_MARKS");
  if (!path || active != 0) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  struct stat s {};
  if (fd < 0 || fstat(fd, &s) != 0) return;
  void* const at = mmap(nullptr, static_cast<size_t>(s.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return;
  marks = static_cast<unsigned char*>(at);
  marks_size = s.st_size;
  active = -1;
}

}  // namespace lazy_mutation
