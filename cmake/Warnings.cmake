# The warnings every C file of ours is compiled with, in one place.
set(TRAWL_WARNINGS
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
	-Wvla -Wpointer-arith -Wundef -Wwrite-strings -Wformat-security -Wimplicit-fallthrough
	-Wredundant-decls)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
	list(APPEND TRAWL_WARNINGS -Wduplicated-cond)
endif()
if(TRAWL_WERROR)
	# What a later version of a library calls out of date still works.
	list(APPEND TRAWL_WARNINGS -Werror -Wno-error=deprecated-declarations)
endif()
