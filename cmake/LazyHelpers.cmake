# lazy_require(<package> <debian package> [find_package arguments]): find_package with an error that says what to install.
macro(lazy_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "lazy needs ${package}, which was not found. On Debian: apt-get install ${debian} "
                        "(packages.txt lists everything).")
  endif()
endmacro()

# The warnings that all of the project's own targets are built with. g++ 12 sees overlaps in std::string that are not there
# (GCC bug 105651).
function(lazy_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${LAZY_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
endfunction()
