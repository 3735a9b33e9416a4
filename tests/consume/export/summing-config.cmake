include(CMakeFindDependencyMacro)
find_dependency(thrum)
include(${CMAKE_CURRENT_LIST_DIR}/summing-targets.cmake)
