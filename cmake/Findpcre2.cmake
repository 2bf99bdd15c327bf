# PCRE2 as Debian packages it brings no CMake package. Defines pcre2::pcre2, the library for bytes.
find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(pcre2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR)
if(pcre2_FOUND AND NOT TARGET pcre2::pcre2)
  add_library(pcre2::pcre2 UNKNOWN IMPORTED)
  set_target_properties(pcre2::pcre2 PROPERTIES IMPORTED_LOCATION "${PCRE2_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
endif()
