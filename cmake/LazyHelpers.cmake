# lazy_require(<package> <debian package> [find_package arguments]): find_package with an error that says what to install.
macro(lazy_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "lazy needs ${package}, which was not found. On Debian: apt-get install ${debian} "
                        "(packages.txt lists everything).")
  endif()
endmacro()

# The warnings that all of the project's own targets are built with.
function(lazy_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${LAZY_WERROR}>:-Werror>)
endfunction()
