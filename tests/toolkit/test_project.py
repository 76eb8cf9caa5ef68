"""The example project: CMake builds it through the folder, with clang from the wheel, and its tests pass."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ziglang

PROJECT = Path(__file__).parents[2] / "examples" / "project"
BIN = Path(sys.executable).parent


def _tool(name):
    return shutil.which(name) or str(BIN / name)


def test_the_example_project_builds_and_passes(toolkit, tmp_path):
    """Its static library of two files with kernels links with a test program of plain C++, and both tests pass on two boards.

    `mlusim cover` counts the lines and branches of its kernels over a whole ctest.
    """
    zig = Path(ziglang.__file__).parent / "zig"
    environment = os.environ | {
        "NEUWARE_HOME": str(toolkit),
        "MLUSIM_CLANG": f"{zig} clang --driver-mode=g++ --target={os.uname().machine}-linux-gnu",
    }

    def run(*words, **more):
        done = subprocess.run(
            words, env=environment | more, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(
        *(_tool("cmake"), "-S", str(PROJECT), "-B", "build", "-G", "Unix Makefiles"),
        f"-DCMAKE_CXX_COMPILER={toolkit}/bin/cncc",
    )
    assert "warning" not in run(_tool("cmake"), "--build", "build")
    for board in ("MLU370-X4", "MLU590-H8"):
        assert run("build/kernel_tests", MLUSIM_BOARD=board) == "scale: passed\nrow_sum: passed\n"
    words = ("cover", "ctest", "--json", "--keep", "c.json", "--", "--test-dir", "build")
    found = json.loads(run(sys.executable, "-m", "mlusim", *words, PATH=f"{BIN}:{os.environ['PATH']}"))
    for file in found["summary"]:
        assert [1, []] == [file["file"].count(str(PROJECT)), file["missing"]]
        assert file["branches_ran"] > 0
    assert 2 == len(found["summary"])
    (tmp_path / "build" / "kernel_tests").touch()
    assert "Generating" not in run(
        _tool("cmake"), "--build", "build"
    )  # what did not change is not compiled again


INTERFACE = """
cmake_minimum_required(VERSION 3.10)
project(x LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH $ENV{NEUWARE_HOME}/cmake/modules)
find_package(BANG 99.0 QUIET)
message(STATUS "too new: ${BANG_FOUND}")
find_package(BANG 3.0 REQUIRED)
add_definitions(-DTILE=64)
include_directories(first)
bang_include_directories(last)
set(BANG_CNCC_FLAGS "-O2 --bang-mlu-arch=mtp_592" -DWORD="a b")
list(APPEND BANG_CNCC_FLAGS -fPIC)
set_source_files_properties(skipped.mlu PROPERTIES HEADER_FILE_ONLY TRUE)
set_source_files_properties(other.txt PROPERTIES BANG_SOURCE_PROPERTY_FORMAT OBJ)
bang_add_library(lib STATIC k.mlu skipped.mlu OPTIONS -DMODE=1 DEBUG -DSLOW RELEASE -DFAST)
bang_add_executable(tool k.mlu other.txt OPTIONS -DMODE=2)
bang_wrap_srcs(PluginX CNFATBIN fat ../up/k.mlu host.cc SHARED)
set(sources k.mlu)
bang_compile(objects "${sources}" "${CMAKE_SOURCE_DIR}/own")
add_custom_target(only DEPENDS ${fat} ${objects})
message(STATUS "fat: ${fat}")
"""


def test_projects_use_the_interface_of_the_vendors_module(toolkit, tmp_path):
    """Each form of a call gives the flags, folders, definitions and names of files that public projects rely on; a compiler that takes notes runs."""
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "up").mkdir()
    (source / "CMakeLists.txt").write_text(INTERFACE)
    for name in ("k.mlu", "skipped.mlu", "other.txt", "host.cc", "../up/k.mlu"):
        (source / name).touch()
    home = tmp_path / "neuware"
    shutil.copytree(toolkit, home, ignore=shutil.ignore_patterns("include", "python"))
    (home / "bin" / "cncc").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nfor last; do :; done\n: > "$last" > "$last.d"\n'
    )
    environment = os.environ | {"NEUWARE_HOME": str(home)}

    def run(*words):
        done = subprocess.run(
            [_tool("cmake"), *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    build = tmp_path / "build"
    words = ("-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_CXX_COMPILER_FORCED=1", "-DCMAKE_BUILD_TYPE=Release")
    said = run("-S", str(source), "-B", str(build), *words)
    for target in ("lib", "only"):
        run("--build", str(build), "--target", target)
    subprocess.run(
        ["make", "-k", "tool"], cwd=build, env=environment, capture_output=True, check=False
    )  # its empty objects do not link
    calls = {line.rpartition("/")[2]: line for line in (tmp_path / "calls").read_text().splitlines()}

    assert "too new: FALSE" in said
    assert f"fat: {build}/PluginX_generated_k.mlu.cnfatbin\n" in said
    assert calls.keys() == {
        *("lib_generated_k.mlu.o", "tool_generated_k.mlu.o", "tool_generated_other.txt.o"),
        *("PluginX_generated_k.mlu.cnfatbin", "bang_compile_generated_k.mlu.o"),
    }
    common = "-O2 --bang-mlu-arch=mtp_592 -DWORD=a b -fPIC"
    folders = f"-I{source}/first"
    own = f"-I{home}/include"
    for name, before, after in (
        ("lib_generated_k.mlu.o", "-DMODE=1 -DFAST -DTILE=64", f"{folders} {own} -Ilast -MMD"),
        ("tool_generated_other.txt.o", "-DMODE=2 -DTILE=64", f"{folders} {own} -Ilast -MMD"),
        (
            "PluginX_generated_k.mlu.cnfatbin",
            "-fPIC -DPluginX_EXPORTS -DTILE=64",
            f"{folders} {own} -Ilast -MMD",
        ),
        ("bang_compile_generated_k.mlu.o", "-DTILE=64", f"{folders} {own} -I{source}/own -Ilast -MMD"),
    ):
        assert calls[name].startswith(f"{common} {before} {after} "), calls[name]
