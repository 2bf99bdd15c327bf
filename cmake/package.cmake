# `cpack` in a build folder: a Debian package with the library, its headers, what CMake and pkg-config read, the tools and the demos' data.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME liblazy-dev)
set(CPACK_PACKAGE_VENDOR lazy)
set(CPACK_PACKAGE_CONTACT "the authors of lazy <lazy@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# An archive is linked with what it was built with; of the tools, lazy-launch needs yaml-cpp.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libtbb-dev, libzydis-dev, libxxhash-dev, libutf8proc-dev, libpcre2-dev, libyaml-cpp0.7, libstdc++6")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "liblapacke, zlib1g, libturbojpeg0")
include(CPack)
