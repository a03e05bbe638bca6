# What every target of this project shares. Each folder is one library with its own dependencies: a
# header that is not reachable through them does not compile, so the direction of dependencies
# (see CONTRIBUTING.md) is enforced by the build.

function(gdr_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                         -Wno-missing-field-initializers)
  # g++ 12 sees overlapping copies in std::string's operator+ when it optimises (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(GDRBENCH_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
    # It sees uninitialised members in std::function and std::optional where it inlines half of them.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-error=maybe-uninitialized)
    endif()
  endif()
endfunction()

# gdr_library(NAME FOLDER folder DEPS targets...): the .cpp files of a folder. Headers are included
# by their path from the root of the tree ("harness/core/result.h").
function(gdr_library name)
  cmake_parse_arguments(ARG "" "FOLDER" "DEPS;PRIVATE_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ARG_FOLDER}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} gdr_fmt)
    gdr_warnings(${name})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
  gdr_check_headers(${name} ${ARG_FOLDER})
endfunction()

# Every header compiles alone: one translation unit in the target `check_headers` for each that has
# no source of its name. The others stand first in theirs (clang-format sees to that).
add_custom_target(check_headers)
function(gdr_check_headers name folder)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.h)
  set(units)
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" ".cpp" own ${header})
    if(EXISTS ${own})
      continue()
    endif()
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${header})
    string(REPLACE "/" "_" unit ${path})
    set(unit ${CMAKE_BINARY_DIR}/check_headers/${unit}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${path}\"\n#include \"${path}\"\n")
    list(APPEND units ${unit})
  endforeach()
  if(units)
    add_library(${name}_headers OBJECT EXCLUDE_FROM_ALL ${units})
    set_target_properties(${name}_headers PROPERTIES UNITY_BUILD OFF)  # alone is what is asked
    target_link_libraries(${name}_headers PRIVATE ${name} gdr_fmt)
    gdr_warnings(${name}_headers)
    target_compile_options(${name}_headers PRIVATE -O0)  # whether it compiles, nothing else
    add_dependencies(check_headers ${name}_headers)
  endif()
endfunction()

# add_transport(NAME [DEPS targets...] [MODULE CORE files...])
#
# A transport's folder is transports/NAME. Without MODULE it is a library linked into the program.
# With MODULE, the files after CORE (options, capabilities: what must be known without the vendor's
# library) are linked into the program and the others become a loadable module that is linked to
# the vendor's library (DEPS) and opened in the worker.
function(add_transport name)
  cmake_parse_arguments(ARG "MODULE" "" "DEPS;CORE" ${ARGN})
  set(folder transports/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  set(core_sources ${sources})
  if(ARG_MODULE)
    list(TRANSFORM ARG_CORE PREPEND ${CMAKE_SOURCE_DIR}/${folder}/ OUTPUT_VARIABLE core_sources)
    list(REMOVE_ITEM sources ${core_sources})
    if(ARG_DEPS)
      add_library(gdrbench-${name} MODULE ${sources})
      set_target_properties(gdrbench-${name} PROPERTIES PREFIX "")
      target_include_directories(gdrbench-${name} PRIVATE ${CMAKE_SOURCE_DIR})
      target_link_libraries(gdrbench-${name} PRIVATE gdr_transport gdr_cuda ${ARG_DEPS}
                            gdr_fmt)
      gdr_warnings(gdrbench-${name})
      set_property(GLOBAL APPEND PROPERTY GDR_TRANSPORT_MODULES gdrbench-${name})
    endif()
  endif()
  if(core_sources)
    add_library(gdr_transport_${name} STATIC ${core_sources})
    target_link_libraries(gdr_transport_${name} PUBLIC gdr_transport PRIVATE gdr_fmt)
    if(NOT ARG_MODULE)
      target_link_libraries(gdr_transport_${name} PRIVATE ${ARG_DEPS})
    endif()
    gdr_warnings(gdr_transport_${name})
    set_property(GLOBAL APPEND PROPERTY GDR_TRANSPORTS gdr_transport_${name})
  endif()
endfunction()
