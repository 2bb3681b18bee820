"""What tools that write files from a build ask first: whether the build is of the sources here."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def require_current(binary):
    """Ends the program where `binary` is not there or a source is newer."""
    binary = pathlib.Path(binary)
    name = pathlib.Path(sys.argv[0]).name
    if not binary.exists():
        sys.exit(f"{name}: {binary} is not built: ./dev build release")
    built = binary.stat().st_mtime
    for source in (p for top in ("src", "include") for p in (ROOT / top).rglob("*.[chd]*")
                   if "mpi" not in p.parts):  # a module of its own
        if source.stat().st_mtime > built:
            sys.exit(f"{name}: {binary} is older than {source.relative_to(ROOT)}: "
                     "./dev build release")
