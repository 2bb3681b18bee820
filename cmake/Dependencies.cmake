# What trawl is linked with; docs/DEPENDENCIES.md says why each.
include(FindPackageHandleStandardArgs)
find_package(Threads REQUIRED)

add_library(trawl_dependencies INTERFACE)
target_link_libraries(trawl_dependencies INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})

# trawl_dependency(NAME header library debian-package)
function(trawl_dependency name header library package)
	find_path(${name}_INCLUDE_DIR ${header})
	find_library(${name}_LIBRARY ${library})
	mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
	if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
		message(FATAL_ERROR "${header} or lib${library} is missing: "
			"install ${package} (on Debian: ./dev deps)")
	endif()
	target_include_directories(trawl_dependencies SYSTEM INTERFACE "${${name}_INCLUDE_DIR}")
	target_link_libraries(trawl_dependencies INTERFACE "${${name}_LIBRARY}")
endfunction()

trawl_dependency(ISAL isa-l/igzip_lib.h isal libisal-dev)
trawl_dependency(ZSTD zstd.h zstd libzstd-dev)
trawl_dependency(XLSXWRITER xlsxwriter.h xlsxwriter libxlsxwriter-dev)
trawl_dependency(SQLITE sqlite3.h sqlite3 libsqlite3-dev)
trawl_dependency(ZIP zip.h zip libzip-dev)
trawl_dependency(EXPAT expat.h expat libexpat1-dev)
trawl_dependency(CMARK_GFM cmark-gfm.h cmark-gfm libcmark-gfm-dev)
trawl_dependency(CMARK_GFM_EXTENSIONS cmark-gfm-core-extensions.h cmark-gfm-extensions
	libcmark-gfm-extensions-dev)
