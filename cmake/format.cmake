# Targets `format` (rewrites) and `format_check` (fails and shows where). The style is .clang-format's.
find_program(CLANG_FORMAT NAMES clang-format clang-format-14)
if(NOT CLANG_FORMAT)
  return()
endif()
set(patterns)
foreach(folder support cache jit backends lazy tests demos bench tools)
  list(APPEND patterns ${folder}/*.cpp ${folder}/*.hpp)
endforeach()
file(GLOB_RECURSE LAZY_FORMATTED CONFIGURE_DEPENDS ${patterns})
add_custom_target(format COMMAND ${CLANG_FORMAT} -i ${LAZY_FORMATTED} VERBATIM)
add_custom_target(format_check COMMAND ${CLANG_FORMAT} --dry-run --Werror ${LAZY_FORMATTED} VERBATIM
                  COMMENT "Checking the formatting")
