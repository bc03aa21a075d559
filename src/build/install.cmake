# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: headers, libraries, the command, the configuration profiles,
# examples and documentation, the CMake package (find_package(berth) → berth::berth, berth::testing)
# and berth.pc.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY berth_modules)
get_property(generated_headers GLOBAL PROPERTY berth_generated_headers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/berth)

install(TARGETS ${modules} berth_all EXPORT berth
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET berth)
  install(TARGETS berth)
endif()
install(DIRECTORY include/berth DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(header IN LISTS generated_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_BINARY_DIR}/proto OUTPUT_VARIABLE name)
  cmake_path(GET name PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(DIRECTORY config DESTINATION ${CMAKE_INSTALL_DATADIR}/berth OPTIONAL
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.md")
# Those that need nothing but the package, and manifests to try.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/berth PATTERN openb EXCLUDE
        PATTERN expected.yaml EXCLUDE)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT berth NAMESPACE berth:: FILE berthTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(src/build/berthConfig.cmake.in berthConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/berthConfig.cmake ${PROJECT_BINARY_DIR}/berthConfigVersion.cmake
        DESTINATION ${package_dir})

# Appends what `target` links, itself first and each library before those it needs: our modules
# to `berth_pc_libs`, other libraries to `berth_pc_requires` by their pkg-config names.
function(berth_collect_link_line target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
  else()
    get_target_property(needs ${target} LINK_LIBRARIES)
  endif()
  foreach(need IN LISTS needs)
    string(REGEX REPLACE "^berth::" "berth_" need "${need}")
    if(need MATCHES "^berth_")
      if(NOT TARGET ${need})
        message(WARNING "${target} links ${need}, which is no module")
      elseif(NOT need IN_LIST berth_pc_seen)
        list(APPEND berth_pc_seen ${need})
        berth_collect_link_line(${need})
      endif()
    elseif(need MATCHES "^absl::(.*)")
      list(APPEND berth_pc_requires absl_${CMAKE_MATCH_1})
    elseif(need STREQUAL "protobuf::libprotobuf")
      list(APPEND berth_pc_requires protobuf)
    elseif(need STREQUAL "CURL::libcurl")
      list(APPEND berth_pc_requires libcurl)
    elseif(need STREQUAL "yaml-cpp")
      list(APPEND berth_pc_requires yaml-cpp)
    elseif(NOT need STREQUAL "Threads::Threads" AND needs)  # -pthread is always there
      message(FATAL_ERROR "berth.pc: what is the pkg-config name of ${need}, which ${target} links?")
    endif()
  endforeach()
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    list(PREPEND berth_pc_libs -l${target})
  endif()
  set(berth_pc_seen ${berth_pc_seen} PARENT_SCOPE)
  set(berth_pc_libs ${berth_pc_libs} PARENT_SCOPE)
  set(berth_pc_requires ${berth_pc_requires} PARENT_SCOPE)
endfunction()

berth_collect_link_line(berth_all)
list(REMOVE_DUPLICATES berth_pc_requires)
list(SORT berth_pc_requires)
list(JOIN berth_pc_libs " " berth_pc_libs)
list(JOIN berth_pc_requires " " berth_pc_requires)
cmake_path(SET prefix /)
cmake_path(SET pc_dir /${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY ${pc_dir} OUTPUT_VARIABLE berth_pc_prefix)
configure_file(src/build/berth.pc.in berth.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
