# Runs PROGRAM WHAT under GDB with instruction set ISA.
if(NOT GDB)
  message("SKIPPED: no gdb (Debian: apt-get install gdb)")
  return()
endif()
execute_process(COMMAND cat /proc/cpuinfo OUTPUT_VARIABLE cpu)
if(ISA STREQUAL avx512 AND NOT cpu MATCHES "avx512_vnni")
  message("SKIPPED: no AVX-512")
  return()
endif()
set(ENV{LAZY_GDB} 1)
set(ENV{LAZY_CACHE} off)
set(ENV{LAZY_NUM_THREADS} 1)
set(ENV{LAZY_CPU_ISA} ${ISA})
set(ENV{DEBUGINFOD_URLS} "")
if(WHAT STREQUAL crash)
  set(commands -ex "run crash" -ex bt)
  set(expected "SIGSEGV.*#0 [^\n]* lazy::map_add_target.cpp_[0-9]+ [^\n]*target.cpp:[0-9]+.*#[0-9]+ ([^\n]* )?main ")
elseif(WHAT STREQUAL print)
  set(commands -ex "source ${CMAKE_CURRENT_LIST_DIR}/../../tools/debugger/lazy_gdb.py" -ex "break stop_here" -ex "run print" -ex up)
  foreach(name ready strided halves many flags none pending empty)
    list(APPEND commands -ex "print ${name}")
  endforeach()
  list(APPEND commands -ex continue)
  set(t "= lazy::Tensor")
  set(expected "${t} float32 .2, 3. on cpu, ready = {2, 3.5, -2, 5, 6, 7}
[^\n]*${t} float32 .3, 2. on cpu, ready = {2, 5, 3.5, 6, -2, 7}
[^\n]*${t} bfloat16 .2. on cpu, ready = {0.5, -2}
[^\n]*${t} int64 .100. on cpu, ready = {(-7, )+...}
[^\n]*${t} bool .2. on cpu, ready = {true, false}
[^\n]*${t} float64 .0, 4. on cpu, ready = {}
[^\n]*${t} float32 .2, 3. on cpu, pending: tanh at target.cpp:[0-9]+
[^\n]*${t} .empty.
.*flushes while printing: 0
")
else()
  set(commands -x ${CMAKE_CURRENT_LIST_DIR}/steps.py)
  set(expected "walked [1-9][0-9][0-9]+ instructions of [3-9] kernels")
endif()
execute_process(COMMAND ${GDB} -batch -nx ${commands} ${PROGRAM} OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 280)
if(said MATCHES "ptrace: Operation not permitted|Could not trace the inferior|Cannot insert")
  message("SKIPPED: programs may not be traced here")
  return()
endif()
if(said MATCHES "FAILED" OR NOT said MATCHES "${expected}")
  message(FATAL_ERROR "expected\n${expected}\nbut GDB said\n${said}")
endif()
message("${CMAKE_MATCH_0}")
