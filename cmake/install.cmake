# cmake --install: the library, the headers under include/lazy-jit (their names are too common for include/ itself), and
# what find_package(lazy) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LAZY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lazy)

install(TARGETS lazy lazy_models EXPORT lazyTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(LAZY_ASMJIT AND NOT BUILD_SHARED_LIBS)
  install(FILES ${LAZY_ASMJIT} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY support cache jit lazy DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lazy-jit
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
install(EXPORT lazyTargets NAMESPACE lazy:: DESTINATION ${LAZY_CMAKE_DIR})
configure_package_config_file(cmake/lazyConfig.cmake.in lazyConfig.cmake INSTALL_DESTINATION ${LAZY_CMAKE_DIR})
write_basic_package_version_file(lazyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lazyConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/lazyConfigVersion.cmake
              cmake/Findxxhash.cmake DESTINATION ${LAZY_CMAKE_DIR})
