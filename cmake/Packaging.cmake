# cmake --install and cpack.
install(TARGETS trawl_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TRAWL_BUILD_SHARED)
	install(TARGETS trawl_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET trawl)
	install(TARGETS trawl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET trawl_mpi)
	# Where the program looks for it, seen from its own place.
	install(TARGETS trawl_mpi LIBRARY DESTINATION lib/trawl)
endif()
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trawl)

# The .pc file finds its prefix from its own place, so an installed tree can be moved.
file(RELATIVE_PATH TRAWL_PC_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" TRAWL_PC_UP "${TRAWL_PC_UP}")
configure_file(cmake/trawl.pc.in trawl.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/trawl.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES docs/man/trawl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/trawl.bash RENAME trawl
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/_trawl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES completions/trawl.fish
	DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
file(GLOB docs CONFIGURE_DEPENDS README.md CHANGELOG.md docs/*.md)
install(FILES ${docs} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

file(GLOB schemas CONFIGURE_DEPENDS schema/trawl.*.json)
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/trawl/schema)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trawl)
set(CPACK_PACKAGE_VENDOR "The trawl authors")
set(CPACK_PACKAGE_CONTACT "The trawl authors <authors@trawl.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "performance reports from GPU profiler traces")
set(CPACK_PACKAGE_DESCRIPTION
	"trawl reads traces of the PyTorch profiler, of any size, and writes the report that
tells where the GPU time went: timeline, kernels, operators, communication.
It comes with the library libtrawl and its headers.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
