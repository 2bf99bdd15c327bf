// Declares what writes each layout: one function, of one file, for one or a few of them.
#pragma once
#include "backends/cuda/emitter/writer.hpp"

namespace lazy::cuda_backend {

void write_map(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);
void write_rows(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);
void write_columns(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);
void write_outputs(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);
void write_tiles(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);
void write_lines(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);
void write_scatter(const jit::loop::LoopKernel&, const Schedule&, ModuleText&);

}  // namespace lazy::cuda_backend
