# cmake -DROOT=<checkout> -P arrows.cmake: fails for each include that goes back up the list of rooms.
cmake_minimum_required(VERSION 3.25)
set(rooms
    support cache
    jit/core jit/ir jit/backend jit/graph jit/calls jit/built_in/fft jit/built_in/linalg jit/built_in/nn jit/built_in jit/key jit/passes jit/plan jit/plan/tiling jit/lower jit/observe jit/compile jit/run
    jit/verify jit/flush
    backends/reference backends/vector backends/vector/vecmath backends/cpu/machine backends/cpu/packing backends/cpu/emitter
    backends/cpu/memory backends/cpu/debug backends/cpu/threads backends/cpu/calls/order backends/cpu/calls/linalg backends/cpu/calls
    backends/cpu/products backends/cpu/scatter backends/cpu backends/cuda/api
    backends/cuda/emitter backends/cuda
    lazy/core lazy/ops lazy/indexing lazy/linalg lazy/random lazy/formula lazy/complex lazy/fft lazy/autograd lazy/batching lazy/insight lazy/io lazy/io/wire lazy/nn/functional
    lazy/nn/modules lazy/nn lazy/quant lazy/inference lazy/optim lazy/amp lazy/distributed/sums lazy/distributed/engines lazy/distributed/engines/gloo lazy/distributed/engines/mpi lazy/distributed lazy/data lazy/plot lazy/training lazy/models lazy/onnx/model lazy/onnx/ops
    lazy/onnx/import lazy/onnx/export lazy/onnx lazy/pretrained/gguf lazy/pretrained
    lazy/text/unicode lazy/text/model lazy/text/pipeline lazy/text/files lazy/text/chat lazy/text lazy)
# Lists rooms that include nothing of each other, though one comes first in the list.
set(apart "backends/vector.* backends/reference" "backends/cuda.* backends/reference" "backends/cuda.* backends/cpu")

function(room_of path result)
  get_filename_component(room ${path} DIRECTORY)
  list(FIND rooms ${room} index)
  if(index EQUAL -1)
    message(SEND_ERROR "${path}: its folder is not in the list of rooms (tests/structure/arrows.cmake)")
  endif()
  set(${result} ${index} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/support/*.[ch]pp ${ROOT}/cache/*.[ch]pp ${ROOT}/jit/*.[ch]pp
     ${ROOT}/backends/*.[ch]pp ${ROOT}/lazy/*.[ch]pp)
foreach(file ${files})
  room_of(${file} from)
  file(STRINGS ${ROOT}/${file} includes REGEX "^#include \"[^\"]+/")
  foreach(include ${includes})
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" include "${include}")
    room_of(${include} to)
    if(to GREATER from)
      message(SEND_ERROR "${file} includes ${include}, of a room that comes later")
    endif()
    foreach(pair ${apart})
      if("${file} ${include}" MATCHES "^${pair}/")
        message(SEND_ERROR "${file} includes ${include}: these rooms know nothing of each other")
      endif()
    endforeach()
  endforeach()
endforeach()
