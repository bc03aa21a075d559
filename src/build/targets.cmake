# SPDX-License-Identifier: Apache-2.0
# What the targets of this tree are made of: compiler settings, and the functions
#
#   berth_module(NAME <name> [SOURCES ...] [PROTOS ...] [DEPS ...] [PRIVATE_DEPS ...])
#   berth_test(NAME <name> [SOURCES ...] [DEPS ...] [LABELS ...] [ARGS ...] [TIMEOUT s])
#   berth_fuzz(NAME <name> [DEPS ...])
#   berth_bench(NAME <name> [SOURCES ...] [DEPS ...])
#
# Without SOURCES (or PROTOS) the files of the calling folder are taken, and the build notices new
# ones by itself.

# --- Compiler settings ---------------------------------------------------------------------------

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# With BUILD_SHARED_LIBS every module is a shared library of its own. They need each other in one
# direction only, and what there is once in a program (the strings of api/symbol.h, say) is defined in
# a source file, so each exists once there too.
if(BUILD_SHARED_LIBS)
  include(GNUInstallDirs)
  file(RELATIVE_PATH berth_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  list(PREPEND CMAKE_INSTALL_RPATH $ORIGIN/${berth_libraries} $ORIGIN)
endif()

# The same object file for every clone and build folder, so that the cache serves all of them.
find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${BERTH_CCACHE})
endif()
set(berth_compile_options -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
list(APPEND berth_compile_options -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual
     -Wextra-semi
     -Wno-missing-field-initializers)  # it complains about every designated initialiser
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 is wrong about std::string (PR 105651), and with optimisation about what is initialised.
  list(APPEND berth_compile_options -Wno-restrict -Wno-maybe-uninitialized)
else()
  # Newer clang complains about what the sorting functions of g++ 12's library use inside.
  list(APPEND berth_compile_options -Wthread-safety -Wno-deprecated-declarations)
endif()

if(BERTH_BUILD_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "BERTH_BUILD_FUZZ needs clang")
endif()
set(berth_sanitize ${BERTH_SANITIZE})
if(BERTH_BUILD_FUZZ AND NOT berth_sanitize)
  set(berth_sanitize address,undefined)
endif()
if(berth_sanitize)
  list(APPEND berth_compile_options -fsanitize=${berth_sanitize} -fno-sanitize-recover=all
       -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${berth_sanitize})
  # Protobuf's headers lay out map fields differently for ThreadSanitizer than the installed library
  # was built with.
  if(berth_sanitize STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND berth_compile_options -U__SANITIZE_THREAD__)
  endif()
endif()
if(BERTH_BUILD_FUZZ)
  list(APPEND berth_compile_options -fsanitize=fuzzer-no-link)
endif()
# For sources with loops over columns (src/simd/vector_clones.h). Nothing is fused: of many nodes
# at once each gets the result that it gets alone, to the last bit. The loader chooses forms before
# sanitizers are ready.
set(berth_column_options -ffp-contract=off)
if(berth_sanitize)
  list(APPEND berth_column_options -DBERTH_NO_VECTOR_CLONES)
endif()
set(berth_sanitizer_environment ASAN_OPTIONS=abort_on_error=1
    UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1
    TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/src/build/tsan_suppressions.txt)
find_program(BERTH_SYMBOLIZER NAMES llvm-symbolizer llvm-symbolizer-14)
if(BERTH_SYMBOLIZER)
  list(APPEND berth_sanitizer_environment ASAN_SYMBOLIZER_PATH=${BERTH_SYMBOLIZER})
endif()

# --- Functions -----------------------------------------------------------------------------------

# Adds the folders that match `pattern` and have a CMakeLists.txt.
function(berth_add_subdirectories pattern)
  file(GLOB lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern}/CMakeLists.txt)
  foreach(list IN LISTS lists)
    cmake_path(GET list PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# A library berth_<name> (berth::<name>). It sees include/berth/ and src/ ("queue/queue.h"); plugins
# see include/berth/ and plugins/ ("plugins/node_name/node_name.h"). The .proto files of the folder
# are compiled to "berth/<name>/<file>.pb.h" and import each other as "berth/<name>/<file>.proto".
function(berth_module)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;PROTOS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(target berth_${arg_NAME})
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
    list(FILTER arg_SOURCES EXCLUDE REGEX "/main\\.cc$")
  endif()
  if(NOT arg_PROTOS)
    file(GLOB arg_PROTOS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.proto)
  endif()
  set_property(GLOBAL APPEND PROPERTY berth_modules ${target})

  if(NOT arg_SOURCES AND NOT arg_PROTOS)  # headers only
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_link_libraries(${target} INTERFACE ${arg_DEPS} ${arg_PRIVATE_DEPS})
  else()
    add_library(${target} ${arg_SOURCES})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    if(arg_NAME STREQUAL "plugins")
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    else()
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    endif()
    target_compile_options(${target} PRIVATE ${berth_compile_options})
    target_link_libraries(${target} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
    if(BUILD_SHARED_LIBS AND NOT berth_sanitize)  # a sanitizer's functions are the program's
      target_link_options(${target} PRIVATE LINKER:--no-undefined)
    endif()
    # No macro of the shared build alone: its object files are those of the static one.
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
  endif()
  target_compile_features(${target} INTERFACE cxx_std_20)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME}
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  add_library(berth::${arg_NAME} ALIAS ${target})
  if(arg_PROTOS)
    berth_compile_protos(${target} berth/${arg_NAME} "${arg_PROTOS}")
  endif()
endfunction()

# Compiles `protos` of the calling folder into `target`, as files of the virtual folder `prefix`.
function(berth_compile_protos target prefix protos)
  set(out ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  foreach(proto IN LISTS protos)
    cmake_path(ABSOLUTE_PATH proto)
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(REMOVE_EXTENSION name LAST_ONLY)
    set(generated ${out}/${prefix}/${name}.pb)
    add_custom_command(
      OUTPUT ${generated}.cc ${generated}.h
      COMMAND protobuf::protoc --proto_path=${prefix}=${CMAKE_CURRENT_SOURCE_DIR}
              --proto_path=berth/api=${PROJECT_SOURCE_DIR}/src/api --cpp_out=${out}
              ${prefix}/${name}.proto
      DEPENDS ${protos} protobuf::protoc
      COMMENT "protoc ${prefix}/${name}.proto" VERBATIM)
    target_sources(${target} PRIVATE ${generated}.cc ${generated}.h)
    # Not our code: no warnings, and no sanitizers, with which it takes long to compile.
    set_source_files_properties(${generated}.cc PROPERTIES COMPILE_OPTIONS "-w;-fno-sanitize=all")
    set_property(GLOBAL APPEND PROPERTY berth_generated_headers ${generated}.h)
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${out}>)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
endfunction()

# With CMAKE_UNITY_BUILD the sources of `target` are compiled together folder by folder, where sources of
# different folders have names in common.
function(berth_compile_by_folder target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# Settings of a program of this tree that may look inside: "queue/queue.h" for src/queue/queue.h,
# "plugins/…" and "tests/…" by their path.
function(berth_inside target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${berth_compile_options})
endfunction()

# A GoogleTest program berth_<name>_test made of the folder's files. Each of its cases is a ctest test of
# its own, <name>.<Suite>.<Case>, which runs in the top folder of the sources with BERTH_COMMAND naming the
# `berth` binary. The label `concurrent` makes it part of the ThreadSanitizer build (target
# concurrent_tests).
function(berth_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "SOURCES;DEPS;LABELS;ARGS" ${ARGN})
  set(target berth_${arg_NAME}_test)
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  if(NOT arg_SOURCES)
    message(WARNING "${CMAKE_CURRENT_SOURCE_DIR} has no test yet")
    return()
  endif()
  add_executable(${target} ${arg_SOURCES})
  berth_inside(${target})
  target_link_libraries(${target} PRIVATE ${arg_DEPS} GTest::gmock_main)
  # The cases are listed when ctest starts. Their properties are set by a file of our own: the ones of
  # gtest_discover_tests cannot be lists, which ENVIRONMENT is.
  gtest_discover_tests(${target} TEST_PREFIX ${arg_NAME}. TEST_LIST cases_of_${arg_NAME}
                       EXTRA_ARGS --gtest_brief=1 ${arg_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)
  berth_test_properties_text(properties "${arg_LABELS}" "${arg_TIMEOUT}")
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_properties.cmake)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
       "set_tests_properties(\${cases_of_@arg_NAME@} PROPERTIES @properties@)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
  if(concurrent IN_LIST arg_LABELS)
    if(NOT TARGET concurrent_tests)
      add_custom_target(concurrent_tests)
    endif()
    add_dependencies(concurrent_tests ${target})
  endif()
endfunction()

# Labels, timeout (seconds; 300 if empty) and environment of a test, as arguments in CMake's language.
function(berth_test_properties_text variable labels timeout)
  if(NOT timeout)
    set(timeout 300)
  endif()
  set(environment "BERTH_COMMAND=${PROJECT_BINARY_DIR}/berth;${berth_sanitizer_environment}")
  set(${variable} "LABELS [==[${labels}]==] TIMEOUT ${timeout} ENVIRONMENT [==[${environment}]==]"
      PARENT_SCOPE)
endfunction()

function(berth_test_properties test labels timeout)
  berth_test_properties_text(properties "${labels}" "${timeout}")
  cmake_language(EVAL CODE "set_tests_properties(${test} PROPERTIES ${properties})")
endfunction()

# The fuzz target tests/fuzz/<name>_fuzz.cc with the seeds tests/fuzz/corpus/<name>/. With
# BERTH_BUILD_FUZZ it is a libFuzzer program (target fuzzers: all of them); otherwise a test that runs the seeds and mutations of
# them (tests/fuzz/corpus_main.cc).
function(berth_fuzz)
  cmake_parse_arguments(arg "" "NAME" "DEPS" ${ARGN})
  set(target berth_${arg_NAME}_fuzz)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/fuzz/${arg_NAME}_fuzz.cc)
  berth_inside(${target})
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  if(BERTH_BUILD_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${target})
  else()
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus_main.cc)
    add_test(NAME fuzz_${arg_NAME} COMMAND ${target} tests/fuzz/corpus/${arg_NAME}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    berth_test_properties(fuzz_${arg_NAME} fuzz "")
  endif()
endfunction()

# A Google Benchmark program berth_<name>_bench.
function(berth_bench)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPS" ${ARGN})
  set(target berth_${arg_NAME}_bench)
  add_executable(${target} ${arg_SOURCES})
  berth_inside(${target})
  target_link_libraries(${target} PRIVATE ${arg_DEPS} benchmark::benchmark_main)
endfunction()

# What plugins may call.
set(berth_modules_for_plugins berth_api berth_values berth_table berth_framework berth_disruption berth_group berth_preemption berth_gpu berth_devices)

# The command `berth`, from src/app/main.cc.
function(berth_add_command)
  file(GLOB main CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/app/main.cc)
  if(main)
    add_executable(berth ${main})
    target_compile_options(berth PRIVATE ${berth_compile_options})
    target_link_libraries(berth PRIVATE berth_command)
    # A decision allocates some dozens of small blocks: see docs/performance.md.
    if(NOT BERTH_SANITIZE AND TCMALLOC_LIBRARY)
      target_link_libraries(berth PRIVATE ${TCMALLOC_LIBRARY})
    endif()
    # Libraries of plugins find in it what they call, used by the command itself or not.
    set_target_properties(berth PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} ENABLE_EXPORTS ON)
    if(NOT BUILD_SHARED_LIBS)
      list(TRANSFORM berth_modules_for_plugins REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
      list(JOIN archives "," archives)
      target_link_options(berth PRIVATE "LINKER:--whole-archive,${archives},--no-whole-archive")
    endif()
  endif()
endfunction()

# berth::plugin, what a library of plugins is compiled with (berth/plugin_library.h): headers alone, since the program that
# loads it has the rest; and the header that says which headers these are.
function(berth_add_plugin_target)
  set(header ${PROJECT_BINARY_DIR}/proto/berth/headers_hash.h)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/berth/*.h)
  set(script ${PROJECT_SOURCE_DIR}/src/build/headers_hash.cmake)
  add_custom_command(
    OUTPUT ${header}.stamp BYPRODUCTS ${header}
    COMMAND ${CMAKE_COMMAND} -DINCLUDE=${PROJECT_SOURCE_DIR}/include -DVERSION=${PROJECT_VERSION}
            -DOUTPUT=${header} -P ${script}
    COMMAND ${CMAKE_COMMAND} -E touch ${header}.stamp
    DEPENDS ${headers} ${script} COMMENT "The hash of the public headers" VERBATIM)
  add_custom_target(berth_headers_hash DEPENDS ${header}.stamp)
  set_property(GLOBAL APPEND PROPERTY berth_generated_headers ${header})
  add_dependencies(berth_command berth_headers_hash)
  target_include_directories(berth_command SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/proto>)

  add_library(berth_plugin INTERFACE)
  add_library(berth::plugin ALIAS berth_plugin)
  add_dependencies(berth_plugin berth_headers_hash)
  target_compile_features(berth_plugin INTERFACE cxx_std_20)
  target_include_directories(berth_plugin INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_include_directories(berth_plugin SYSTEM INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/proto>)
  target_link_libraries(berth_plugin INTERFACE absl::btree absl::flat_hash_map absl::flat_hash_set absl::inlined_vector
                        absl::span absl::status absl::statusor absl::strings absl::time protobuf::libprotobuf)
  set_target_properties(berth_plugin PROPERTIES EXPORT_NAME plugin)
endfunction()

# berth::berth, what a scheduler links: every module but testing, and those that talk to a network:
# kubernetes, extender, process, wire, remote and serve, import, and the command that has them all (berth::command).
function(berth_add_package_targets)
  get_property(modules GLOBAL PROPERTY berth_modules)
  list(REMOVE_ITEM modules berth_testing berth_kubernetes berth_extender berth_process berth_wire berth_remote berth_serve berth_import berth_command)
  add_library(berth_all INTERFACE)
  target_link_libraries(berth_all INTERFACE ${modules})
  set_target_properties(berth_all PROPERTIES EXPORT_NAME berth)
  add_library(berth::berth ALIAS berth_all)
endfunction()
