# Compiler and linker flags of every target, as one interface library.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Line tables only: a valgrind or perf report names the line, and code generation is unchanged.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_C_COMPILER_LAUNCHER)
	set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(trawl_flags INTERFACE)
target_compile_options(trawl_flags INTERFACE
	"$<$<COMPILE_LANGUAGE:C>:${TRAWL_WARNINGS}>"
	-fno-semantic-interposition)
target_link_options(trawl_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)

if(TRAWL_SANITIZE)
	set(sanitize "-fsanitize=${TRAWL_SANITIZE}" -fno-sanitize-recover=all)
	if(TRAWL_SANITIZE MATCHES "undefined")
		# A NaN or a large double made an integer is undefined too, and not in the group.
		list(APPEND sanitize -fsanitize=float-cast-overflow)
	endif()
	target_compile_options(trawl_flags INTERFACE ${sanitize} -fno-omit-frame-pointer)
	target_link_options(trawl_flags INTERFACE ${sanitize})
	# These builds can be told to read small files as large ones are read (src/trace/read.c).
	target_compile_definitions(trawl_flags INTERFACE TRAWL_TEST_SETTINGS)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
	# And no path of the building machine in the binaries.
	target_compile_options(trawl_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
		"-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
endif()
if(TRAWL_FUZZ)
	if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
		message(FATAL_ERROR "TRAWL_FUZZ needs clang (libFuzzer)")
	endif()
	target_compile_options(trawl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
