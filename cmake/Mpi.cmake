# libtrawl_mpi.so: what brings processes together that mpirun or srun has started. The program
# loads it then, and is not linked with it: it runs where no MPI is installed.
set(TRAWL_MPI AUTO CACHE STRING "The module for several processes: ON, OFF, AUTO (when MPI is there)")
set_property(CACHE TRAWL_MPI PROPERTY STRINGS AUTO ON OFF)

if(TRAWL_MPI STREQUAL "AUTO")
	find_package(MPI QUIET COMPONENTS C)
elseif(TRAWL_MPI)
	find_package(MPI REQUIRED COMPONENTS C)
endif()
if(NOT TRAWL_MPI OR NOT MPI_C_FOUND)
	message(STATUS "trawl runs in one process only: no MPI (on Debian: libmpich-dev)")
	return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS src/job/mpi/*.c)
add_library(trawl_mpi MODULE ${mpi_sources})
target_include_directories(trawl_mpi PRIVATE include src)
# Of an MPI's flags only where it is: others are those that it was built with itself.
target_include_directories(trawl_mpi SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
target_link_libraries(trawl_mpi PRIVATE trawl_flags ${MPI_C_LIBRARIES})
