"""Compile a .cu to a cubin for a named architecture, and read what ptxas says about its kernels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

HEADERS = Path(__file__).parent
OPTIONS = ("-O3", "-std=c++17", "-lineinfo", "-Xptxas=-v")
# A source of this name has host code too (that of CUB, which launches kernels), and becomes a shared library.
LIBRARY = "_lib.cu"
LIBRARY_OPTIONS = ("-O3", "-std=c++17", "-shared", "-Xcompiler=-fPIC")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^\">\n]+)[\">]", re.MULTILINE)
# "a.cu(6): warning #177-D: ...", "ptxas warning : ..."; not the remark that warnings can be suppressed.
WARNING = re.compile(r"\bwarning\s*(#\S+)?\s*:", re.IGNORECASE)


class NvccError(Exception):
    """nvcc is missing or refused the source: one line that says which. `printed` is all that nvcc said."""

    def __init__(self, message: str, printed: str = "") -> None:
        super().__init__(message)
        self.printed = printed


@dataclass(frozen=True)
class Built:
    """A compiled source: the cubin or the library, one dict of resource use a kernel, and the compiler's warnings.

    resources: kernel, registers, stack, spill_stores, spill_loads, shared (bytes, static), barriers
    """

    cubin: bytes
    resources: list[dict[str, str | int]]
    warnings: list[str]


def find_nvcc() -> str | None:
    """Path of nvcc: on PATH, under CUDA_HOME, or where its installer puts it; None if there is none."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return shutil.which("nvcc") or shutil.which("nvcc", path=str(Path(home) / "bin"))


def included(source: Path) -> list[Path]:
    """A source and the files that it includes, each once, without those of CUDA and of the compiler.

    They lie where `build` has the compiler look: beside the file that includes them, in the source's folder, or in
    kernels/cuda. What a condition leaves out is among them; what a macro names is not.
    """
    found = [source]
    for file in found:
        for name in _INCLUDE.findall(file.read_text(encoding="utf-8", errors="replace")):
            places = (Path(os.path.normpath(folder / name)) for folder in (file.parent, source.parent, HEADERS))
            if (path := next(filter(Path.is_file, places), None)) and path not in found:
                found.append(path)
    return found


def build(source: Path, arch: str) -> Built:
    """Compile `source` for `arch` ("sm_90", "sm_90a") with OPTIONS, headers from its folder and kernels/cuda.

    A name that ends in LIBRARY gives a shared library instead of a cubin, and no resources. A cubin
    goes through pycuda.compiler; where PyCUDA cannot be imported (no driver) through nvcc with the same
    options. Raises NvccError.
    """
    nvcc = find_nvcc()
    if nvcc is None:
        raise NvccError("nvcc not found: install the CUDA toolkit and put it on PATH, or set CUDA_HOME")
    # Both ways compile a copy in a temporary folder; the line directive keeps the true name in messages and -lineinfo.
    text = source.read_text(encoding="utf-8")
    text = f'#line 1 "{source.parent.parent.name}/{source.parent.name}/{source.name}"\n{text}'
    include = [str(source.parent.resolve()), str(HEADERS)]
    if source.name.endswith(LIBRARY):
        library, said = _run_nvcc(nvcc, text, source, arch, include, LIBRARY_OPTIONS)
        return Built(library, [], _warnings(said))
    try:
        import pycuda.compiler
        import pycuda.driver
    except ImportError:
        cubin, said = _run_nvcc(nvcc, text, source, arch, include, ("--cubin", *OPTIONS))
    else:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                cubin = pycuda.compiler.compile(
                    text,
                    nvcc=nvcc,
                    options=list(OPTIONS),
                    arch=arch,
                    no_extern_c=True,
                    include_dirs=include,
                    cache_dir=False,
                )
            except pycuda.driver.CompileError as error:
                raise _refused(source, arch, error.stderr) from error
        said = "\n".join(str(warning.message) for warning in caught)
    return Built(cubin, _resources(said), _warnings(said))


def _warnings(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if WARNING.search(line)]


def _run_nvcc(
    nvcc: str, text: str, source: Path, arch: str, include: list[str], options: tuple[str, ...]
) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.cu").write_text(text, encoding="utf-8")
        made = ["-arch", arch, *(f"-I{path}" for path in include), "-o", "made", "kernel.cu"]
        command = [nvcc, *options, *made]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            raise _refused(source, arch, done.stderr)
        return (Path(folder) / "made").read_bytes(), done.stdout + done.stderr


def _refused(source: Path, arch: str, printed: str) -> NvccError:
    lines = printed.strip().splitlines() or ["nvcc said nothing"]
    reason = next((line for line in lines if "error" in line.lower()), lines[-1])
    return NvccError(f"{source} does not compile for {arch}: {reason}", printed)


def _resources(said: str) -> list[dict[str, str | int]]:
    def number(pattern: str, text: str) -> int:
        found = re.search(pattern, text)
        return int(found[1]) if found else 0

    kernels = []
    for part in said.split("Compiling entry function '")[1:]:
        kernels.append(
            {
                "kernel": part.split("'", 1)[0],
                "registers": number(r"Used (\d+) registers", part),
                "stack": number(r"(\d+) bytes stack frame", part),
                "spill_stores": number(r"(\d+) bytes spill stores", part),
                "spill_loads": number(r"(\d+) bytes spill loads", part),
                "shared": number(r"(\d+) bytes smem", part),
                "barriers": number(r"used (\d+) barriers", part),
            }
        )
    return sorted(kernels, key=lambda row: row["kernel"])
