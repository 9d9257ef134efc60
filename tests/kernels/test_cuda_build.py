import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from saitan.cuda import build as package_build
from saitan.cuda import find_nvcc, module
from saitan.cuda.build import LIBRARY, LIBRARY_OPTIONS, OPTIONS, NvccError, build, included
from saitan.errors import Misdeclared

# The package offers the function under the module's name.
BUILD = sys.modules["saitan.cuda.build"]
KERNELS = Path(__file__).parents[2] / "kernels"
TRACKED = subprocess.run(["git", "ls-files", "*/*.cu"], cwd=KERNELS, capture_output=True, text=True, check=False).stdout
SOURCES = sorted(KERNELS / name for name in TRACKED.split()) or sorted(KERNELS.glob("*/*.cu"))

needs_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="nvcc is not installed or not on PATH")

SOUND = """
#include <cuda_runtime.h>
extern "C" __global__ void doubled(float* values, int n) {
  __shared__ float staged[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int unused;
  if (i < n) staged[threadIdx.x] = values[i];
  __syncthreads();
  if (i < n) values[i] = 2 * staged[threadIdx.x ^ 1];
}
extern "C" __global__ void nothing() {}
"""


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "kernels" / "toy"
    folder.mkdir(parents=True)
    path = folder / "toy.cu"
    path.write_text(SOUND)
    return path


# A library holds the code of several architectures, and most of its time is that of CUB's headers: it is compiled once.
COMPILED = [(path, arch) for path in SOURCES for arch in ("sm_80", "sm_90")[path.name.endswith(LIBRARY) :]]


@needs_nvcc
@pytest.mark.parametrize(
    ("path", "arch"), COMPILED, ids=[f"{path.parent.name}/{path.name}-{arch}" for path, arch in COMPILED]
)
def test_every_kernel_compiles(monkeypatch, path, arch):
    """Hardly optimised, which takes seconds instead of minutes; the rule `compile` does it with the true options."""
    quick = tuple(option for option in OPTIONS if option != "-O3")
    monkeypatch.setattr(BUILD, "OPTIONS", (*quick, "-Xcicc=-O1", "-Xptxas=-O0"))
    more = ("-Xcompiler=-O0", "-Xcicc=-O1", "-Xptxas=-O0", "-gencode=arch=compute_80,code=sm_80")
    monkeypatch.setattr(BUILD, "LIBRARY_OPTIONS", (*LIBRARY_OPTIONS, *more))
    built = build(path, arch)
    assert built.cubin[:4] == b"\x7fELF"
    if path.name.endswith(LIBRARY):
        assert not built.resources
        return
    assert built.resources and all(row["kernel"] for row in built.resources)


@needs_nvcc
def test_resources_and_warnings_are_read(source):
    built = build(source, "sm_90")
    assert [row["kernel"] for row in built.resources] == ["doubled", "nothing"]
    doubled, nothing = built.resources
    assert doubled["registers"] > 0 and doubled["shared"] == 256 and doubled["barriers"] == 1
    assert doubled["stack"] == doubled["spill_stores"] == doubled["spill_loads"] == nothing["shared"] == 0
    assert len(built.warnings) == 1 and "unused" in built.warnings[0]
    # The true name of the source, not that of the copy which nvcc is given.
    assert "kernels/toy/toy.cu" in built.warnings[0]


@needs_nvcc
def test_a_source_with_host_code_becomes_a_library(source, tmp_path):
    path = source.with_name("toy_lib.cu")
    path.write_text('__global__ void f() {}\nextern "C" int twice(int x) { if (x < 0) f<<<1, 1>>>(); return 2 * x; }\n')
    built, there = build(path, "sm_90"), tmp_path / "toy"
    there.write_bytes(built.cubin)
    assert ctypes.CDLL(str(there)).twice(21) == 42 and built.resources == []


@needs_nvcc
def test_headers_of_the_folder_and_of_cuda_are_found(source):
    (source.parent / "own.cuh").write_text("constexpr int width = 32;\n")
    source.write_text('#include "own.cuh"\nextern "C" __global__ void f(int* a) { *a = width; }\n')
    assert build(source, "sm_80").resources[0]["kernel"] == "f"


@needs_nvcc
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('extern "C" __global__ void f() { return missing; }\n', 'identifier "missing" is undefined'),
        ('#include "no_such.cuh"\n', "no_such.cuh"),
    ],
)
def test_a_broken_source_is_one_line_that_names_it(source, text, says):
    source.write_text(text)
    with pytest.raises(NvccError) as caught:
        build(source, "sm_90")
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"{source} does not compile for sm_90: ") and says in message
    assert "toy.cu" in message.split(": ", 1)[1] and says in caught.value.printed


def test_a_cached_cubin_is_of_this_source_its_headers_and_this_architecture(monkeypatch, tmp_path, source):
    monkeypatch.setattr(BUILD, "HEADERS", tmp_path)
    monkeypatch.setattr(module, "arch", lambda: "sm_90")
    source.write_text('#include "own.cuh"\n#include "shared.cuh"\n' + source.read_text())
    for path in (source.parent / "own.cuh", tmp_path / "shared.cuh"):
        path.touch()
    names = {module._cache_path(source)}
    for path in (source, source.parent / "own.cuh", tmp_path / "shared.cuh"):
        with path.open("a") as file:
            file.write("// changed\n")
        names.add(module._cache_path(source))
    (tmp_path / "other.cu").write_text("// not read\n")
    assert len(names) == 4 and module._cache_path(source) in names
    monkeypatch.setattr(module, "arch", lambda: "sm_80")
    names.add(module._cache_path(source))
    monkeypatch.setattr(module, "OPTIONS", ("-O0",))
    assert len({*names, module._cache_path(source)}) == 6


@needs_nvcc
def test_an_architecture_that_nvcc_does_not_know_is_one_line(source):
    with pytest.raises(NvccError, match=r"does not compile for sm_1: .*sm_1") as caught:
        build(source, "sm_1")
    assert "\n" not in str(caught.value)


def test_without_nvcc_one_line_says_what_would_help(source, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert find_nvcc() is None
    with pytest.raises(
        NvccError, match=r"^nvcc not found: install the CUDA toolkit and put it on PATH, or set CUDA_HOME$"
    ):
        package_build(source, "sm_90")


def test_nvcc_is_found_on_the_path_and_under_its_home(monkeypatch, tmp_path):
    for folder in ("onpath", "home/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "nvcc").touch(mode=0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find_nvcc() == str(tmp_path / "home/bin/nvcc")
    monkeypatch.delenv("CUDA_HOME")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "home"))
    assert find_nvcc() == str(tmp_path / "home/bin/nvcc")
    monkeypatch.setenv("PATH", str(tmp_path / "onpath"))
    assert find_nvcc() == str(tmp_path / "onpath/nvcc")


def test_a_compiler_that_says_nothing_of_an_error_is_still_one_line(source, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "nvcc"
    fake.write_text("#!/bin/sh\necho one >&2\necho 'Killed' >&2\nexit 137\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    # Without PyCUDA, whose messages are its own.
    monkeypatch.setitem(sys.modules, "pycuda.compiler", None)
    with pytest.raises(NvccError, match=r"does not compile for sm_90: Killed$"):
        build(source, "sm_90")


def test_what_a_source_includes_is_found_wherever_it_lies(tmp_path, monkeypatch):
    """Beside it, in another folder, in kernels/cuda, beside a header; with any suffix, and in any way of writing."""
    for name in ("one", "two", "cuda"):
        (tmp_path / name).mkdir()
    texts = {
        "one/a.cu": '#include "own.h"\n  #  include "../two/theirs.cuh"\n#include <shared.cuh>\n#include <cstdint>\n',
        "one/own.h": '#pragma once\n#include "own.h"\n#include "deep.inc"\n',
        "one/deep.inc": "",
        "one/other.cuh": "",
        "two/theirs.cuh": '#include "beside.cuh"\n// #include "shared.cuh"\n',
        "two/beside.cuh": "",
        "cuda/shared.cuh": '#include "no_such.cuh"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(BUILD, "HEADERS", tmp_path / "cuda")
    found = [str(path.relative_to(tmp_path)) for path in included(tmp_path / "one/a.cu")]
    assert found[0] == "one/a.cu" and sorted(found) == sorted(set(texts) - {"one/other.cuh"})


@needs_nvcc
def test_every_include_of_ours_is_found():
    """All that the compiler opens below kernels/."""
    for source in SOURCES:
        told = {path.resolve() for path in included(source)}
        command = [find_nvcc(), "-M", f"-I{source.parent}", f"-I{BUILD.HEADERS}", str(source)]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        opened = {Path(word).resolve() for word in listed.replace("\\\n", " ").split()[2:]}
        assert {path for path in opened if path.is_relative_to(KERNELS)} <= told, source


def test_only_what_a_variant_declares_is_loaded(monkeypatch):
    monkeypatch.setattr(module, "_load", lambda *names: names)
    monkeypatch.setattr(module, "_library", lambda *names: names)
    for load in (module.load, module.library):
        with module.only(["sssp/a", "bfs/b"]):
            assert load("sssp", "a") == ("sssp", "a") and load("bfs", "b") and load("cuda", "gate")
            with module.only([]), pytest.raises(Misdeclared, match=r"kernels/sssp/a\.cu .* `cubins` \(none\): add"):
                load("sssp", "a")
            says = r"kernels/sssp/b\.cu is loaded, which is none of the variant's `cubins` \(bfs/b, sssp/a\): add it"
            with pytest.raises(Misdeclared, match=says):
                load("sssp", "b")
        assert load("sssp", "b") == ("sssp", "b")
