#!/usr/bin/env python3
"""Installs to a fresh prefix and uses it as a newcomer does, away from this tree.

    install_test.py SOURCE BUILD

Checks the install tree with the names that federates of other RTIs use, builds examples/ with CMake
and with pkg-config, runs two of it as a federation on an rtiexec that starts by itself, and waits
until that one has gone.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HEADERS = ["RTI/RTI1516.h", "RTI/encoding/BasicDataElements.h", "RTI/time/HLAfloat64Time.h"]
INCLUDES = ["include", "include/ieee1516e", "include/HLA1516E", "api/cpp/HLA_1516-2010"]
SUFFIXES = ["", "64", "64d", "d"]
SYSTEM = re.compile(r"lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+|fedtime1516e|rti1516e)\.so|ld-linux")


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **options,
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(good, what):
    if not good:
        raise SystemExit(what)


def library_directory(prefix):
    found = list(prefix.rglob("librti1516e.so"))
    expect(len(found) == 1, f"librti1516e.so is in {found}")
    return found[0].parent


def check_tree(prefix, library):
    for include in INCLUDES:
        for header in HEADERS:
            expect((prefix / include / header).is_file(), f"{include}/{header} is missing")
    expect(os.access(prefix / "bin/starling", os.X_OK), "bin/starling is missing")
    source = prefix / "link.cpp"
    source.write_text(
        "#include <RTI/RTI1516.h>\n"
        "int main() { return !rti1516e::RTIambassadorFactory().createRTIambassador().get()"
        ' || rti1516e::rtiName() != L"Starling"; }\n'
    )
    run("g++", "-w", "-c", f"-I{prefix}/include", source, "-o", prefix / "link.o")
    for suffix in SUFFIXES:
        program = prefix / f"link{suffix}"
        names = [f"-lrti1516e{suffix}", f"-lfedtime1516e{suffix}"]
        run("g++", prefix / "link.o", f"-L{library}", *names, "-o", program)
        run(program, env={"LD_LIBRARY_PATH": str(library)})
    for name in ("librti1516e.so", "libfedtime1516e.so"):
        for needed in re.findall(r"NEEDED\).*\[(.*)\]", run("readelf", "-d", library / name)):
            expect(SYSTEM.match(needed), f"{name} needs {needed}")


def check_readme(source):
    blocks = re.findall(r"```cpp\n(.*?)```", (source / "README.md").read_text(), re.DOTALL)
    program = (source / "examples/hello/hello.cpp").read_text()
    expect(blocks == [program], "README.md does not show examples/hello/hello.cpp as it is")


def build_examples(examples, prefix, library):
    """The same program twice, by the two ways that examples/README.md tells."""
    run("cmake", "-S", examples / "hello", "-B", examples / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", examples / "b")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "starling-rti1516e", env=environment).split()
    plain = examples / "plain"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    run("g++", "-std=c++17", *warnings, examples / "hello/hello.cpp", *flags, "-o", plain)
    return examples / "b/hello", plain


def processes(directory):
    """Processes that were given this run directory."""
    wanted = f"STARLING_NET_RUN_DIR={directory}".encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)
        except OSError:
            pass  # It has just ended, or is not ours.


def run_federation(examples, programs, library, directory):
    environment = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": str(library),
        "STARLING_NET_RUN_DIR": str(directory),
        "STARLING_START_IDLE_EXIT_S": "0.1",
    }
    started = []
    try:
        for program in programs:
            started.append(
                subprocess.Popen(
                    [program],
                    cwd=examples / "hello",
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        texts = [process.communicate(timeout=120)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, text in zip(started, texts, strict=True):
        expect(process.returncode == 0, f"{process.args}: {process.returncode}\n{text}")
        print(text)
        speeds = [int(m) for m in re.findall(r"^car \S+ drives at (\d+)$", text, re.MULTILINE)]
        expect(speeds, f"it heard no speed:\n{text}")
        first = speeds[0]
        expect(speeds == list(range(first, first + len(speeds))), f"speeds are lost:\n{text}")
    deadline = time.monotonic() + 60
    while left := list(processes(directory)):
        expect(time.monotonic() < deadline, f"still there: processes {left}")
        time.sleep(0.05)
    sockets = [path for path in directory.iterdir() if path.is_socket()]
    expect(not sockets, f"left behind: {sockets}")


def main():
    source, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    check_readme(source)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prefix, examples, directory = folder / "prefix", folder / "away", folder / "run"
        directory.mkdir(mode=0o700)
        run("cmake", "--install", build, "--prefix", prefix)
        library = library_directory(prefix)
        check_tree(prefix, library)
        shutil.copytree(source / "examples", examples)
        programs = build_examples(examples, prefix, library)
        run_federation(examples, programs, library, directory)


if __name__ == "__main__":
    main()
