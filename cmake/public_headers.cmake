# lazy_public_headers(<variable> <root>): the headers that users include, and what those include: these are installed, no others.
set(LAZY_PUBLIC_HEADERS lazy/lazy.hpp lazy/lazy-fwd.hpp lazy/nn/nn.hpp lazy/optim/optim.hpp lazy/data/data.hpp lazy/training/training.hpp
    lazy/inference/replay.hpp lazy/inference/freeze.hpp lazy/inference/session.hpp
    lazy/amp/autocast.hpp lazy/amp/grad_scaler.hpp lazy/quant/sensitivity.hpp lazy/distributed/data_parallel.hpp lazy/distributed/zero.hpp lazy/distributed/global_mean.hpp lazy/distributed/sync_batch_norm.hpp lazy/plot/figure.hpp lazy/plot/terminal.hpp lazy/training/accelerator.hpp lazy/training/elastic.hpp lazy/models/models.hpp lazy/onnx/onnx.hpp lazy/onnx/save.hpp
    lazy/pretrained/pretrained.hpp lazy/pretrained/gguf/gguf.hpp lazy/text/tokenizer.hpp lazy/text/generation.hpp lazy/text/generate_text.hpp
    lazy/io/eigen.hpp lazy/io/mdspan.hpp)
function(lazy_public_headers variable root)
  set(open ${LAZY_PUBLIC_HEADERS})
  set(seen)
  while(open)
    list(POP_FRONT open file)
    if(file IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${file})
    file(STRINGS ${root}/${file} includes REGEX "^#include \"[^\"]+/")
    list(TRANSFORM includes REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND open ${includes})
  endwhile()
  list(SORT seen)
  set(${variable} ${seen} PARENT_SCOPE)
endfunction()
