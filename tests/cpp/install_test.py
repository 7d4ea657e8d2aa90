#!/usr/bin/env python3
"""Installs to a fresh prefix and uses it as a newcomer does, away from this tree.

    install_test.py SOURCE BUILD

Installs with nothing that could build in reach. Checks the install tree with the names that
federates of other RTIs use, builds examples/ with CMake and with pkg-config, runs two of it as a
federation on an rtiexec that starts by itself, waits until that one has gone, and plays the end of
the federation 200 times. Uninstalls, which leaves what others put there.
"""

import contextlib
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
ENDS = 200
ABSENT = ["cargo", "rustc", "cc", "c++", "gcc", "g++", "clang", "clang++", "ar", "ld"]
SYSTEM = re.compile(r"lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+|fedtime1516e|rti1516e)\.so|ld-linux")


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        errors="replace",
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


def install(source, build, prefix, folder):
    """As root would: with no compiler, writing nothing but the prefix."""
    tools = folder / "tools/bin"
    tools.mkdir(parents=True)
    for name in ABSENT:
        (tools / name).write_text(f"#!/bin/sh\necho {name} was called >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    stamp = folder / "stamp"
    stamp.touch()
    environment = {**os.environ, "CARGO_HOME": str(tools.parent)}
    environment["PATH"] = f"{tools}:{environment['PATH']}"
    run(*make(source, build, prefix), "install", env=environment)
    written = run("find", build, "-newer", stamp, "-type", "f", "!", "-path", "*/Testing/*")
    expect(not written, f"make install wrote into the build folder: {written}")


def make(source, build, prefix):
    return "make", "-C", source, f"BUILD={build.parent}", f"PREFIX={prefix}"


def check_uninstall(source, build, prefix, before):
    run(*make(source, build, prefix), "uninstall")
    left = {str(path.relative_to(prefix)) for path in prefix.rglob("*")}
    expect(left == before, f"make uninstall: left {left - before}, removed {before - left}")


def check_stripped(prefix, library):
    """Nothing for the debugger within what is loaded, all of it where the debugger looks."""
    libraries = [library / "librti1516e.so", library / "libfedtime1516e.so"]
    for file in (path.resolve() for path in [*libraries, prefix / "bin/starling"]):
        expect(".symtab" not in run("readelf", "-SW", file), f"{file} is not stripped")
        debug = file.parent / ".debug" / f"{file.name}.debug"
        expect(".symtab" in run("readelf", "-SW", debug), f"{debug} has no symbols")
        named = run("readelf", "--string-dump=.gnu_debuglink", file)
        expect(debug.name in named, f"{file} does not name {debug.name}")


def check_documents(source, prefix):
    """Licences, manual pages and completions cover what is there."""
    share = prefix / "share"
    (documents,) = (share / "doc").iterdir()
    for name in ("LICENSE", "NOTICE", "README.md", "docs/settings.md", "examples/hello/Hello.xml"):
        expect((documents / name).is_file(), f"{name} is not among the documents")
    licences = (documents / "LICENCES-of-crates.txt").read_text()
    tree = ["cargo", "tree", "--locked", "-e", "normal", "--prefix", "none", "--format", "{p}"]
    told = run(*tree, "-p", "starling-capi", "-p", "starling-cli", cwd=source)
    crates = set(re.findall(r"^(\S+) v(\S+)(?: \(proc-macro\))?$", told, re.MULTILINE))
    expect(len(crates) > 10, f"cargo tree: {told}")
    for name, version in crates:
        heads = re.findall(rf"^{re.escape(name)} {re.escape(version)}$", licences, re.MULTILINE)
        expect(heads, f"the licence of {name} {version} is missing")
    usage = run(prefix / "bin/starling", "--help")
    words = re.findall(r"^  ([a-z]+)  ", usage.partition("Commands:")[2], re.MULTILINE)
    expect("rtiexec" in words, f"no subcommands in {usage}")
    scripts = [
        (share / "bash-completion/completions/starling").read_text(),
        (share / "zsh/site-functions/_starling").read_text(),
        (share / "fish/vendor_completions.d/starling.fish").read_text(),
    ]
    for word in set(words) - {"help"}:
        expect((share / f"man/man1/starling-{word}.1").is_file(), f"no manual page of {word}")
        expect(all(word in script for script in scripts), f"no completion of {word}")


def check_links(source):
    """Every relative link of every page leads somewhere."""
    if not (source / ".git").exists():
        return  # An archive of the sources may lie beside other pages.
    for page in run("git", "-C", source, "ls-files", "*.md").split():
        text = re.sub(r"```.*?```", "", (source / page).read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            expect((source / page).parent.joinpath(target).exists(), f"{page}: no {target}")


def check_tree(prefix, library):
    run("find", "-L", prefix)  # Fails where a link leads back.
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


def check_ends(examples, prefix, library, directory):
    """The end of the federation again and again: two that leave at the same time, both well."""
    text = (examples / "hello/hello.cpp").read_text()
    hasty = text.replace("told < 20", "told < 1").replace("(0.1, 0.2)", "(0.0, 0.02)")
    expect(hasty.count("told < 1;") == 1 and hasty.count("(0.0, 0.02)") == 1, "hello.cpp differs")
    source, program = examples / "hasty.cpp", examples / "hasty"
    source.write_text(hasty)
    libraries = [f"-L{library}", "-lrti1516e", "-lfedtime1516e"]
    run("g++", "-std=c++17", "-w", f"-I{prefix}/include", source, *libraries, "-o", program)
    for number in range(ENDS):
        for code, said in start_two([program, program], examples, library, directory, "1"):
            expect(code == 0, f"end {number + 1} of {ENDS}: exit code {code}\n{said}")


def processes(directory):
    """Processes that were given this run directory."""
    wanted = f"STARLING_NET_RUN_DIR={directory}".encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)
        except OSError:
            pass  # It has just ended, or is not ours.


def start_two(programs, examples, library, directory, idle_exit_s):
    """Runs them at the same time; exit code and output of each."""
    environment = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": str(library),
        "STARLING_NET_RUN_DIR": str(directory),
        "STARLING_START_IDLE_EXIT_S": idle_exit_s,
    }
    with contextlib.ExitStack() as files:
        # Files: a pipe that nobody reads meanwhile would hold up the other one, too.
        outputs = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in programs]
        started = []
        try:
            for program, output in zip(programs, outputs, strict=True):
                started.append(
                    subprocess.Popen(
                        [program],
                        cwd=examples / "hello",
                        env=environment,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                    )
                )
            for process in started:
                process.wait(timeout=120)
        finally:
            for process in started:
                process.kill()
                process.wait()
        texts = []
        for output in outputs:
            output.seek(0)
            texts.append(output.read())
    return [(process.returncode, text) for process, text in zip(started, texts, strict=True)]


def run_federation(examples, programs, library, directory):
    for code, text in start_two(programs, examples, library, directory, "0.1"):
        expect(code == 0, f"exit code {code}\n{text}")
        print(text)
        speeds = [int(m) for m in re.findall(r"^car \S+ drives at (\d+)$", text, re.MULTILINE)]
        expect(speeds, f"it heard no speed:\n{text}")
        expect("waiting for another car" in text, f"it does not say what it waits for:\n{text}")
        first = speeds[0]
        expect(speeds == list(range(first, first + len(speeds))), f"speeds are lost:\n{text}")


def wait_for_end(directory):
    """Until the rtiexec that started by itself has gone, with its sockets."""
    deadline = time.monotonic() + 60
    while left := list(processes(directory)):
        expect(time.monotonic() < deadline, f"still there: processes {left}")
        time.sleep(0.05)
    sockets = [path for path in directory.iterdir() if path.is_socket()]
    expect(not sockets, f"left behind: {sockets}")


def main():
    source, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    check_readme(source)
    check_links(source)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prefix, examples, directory = folder / "prefix", folder / "away", folder / "run"
        directory.mkdir(mode=0o700)
        (prefix / "lib/of").mkdir(parents=True)
        (prefix / "lib/of/another").touch()
        before = {"lib", "lib/of", "lib/of/another"}
        install(source, build, prefix, folder)
        library = library_directory(prefix)
        check_tree(prefix, library)
        check_stripped(prefix, library)
        check_documents(source, prefix)
        shutil.copytree(source / "examples", examples)
        programs = build_examples(examples, prefix, library)
        run_federation(examples, programs, library, directory)
        wait_for_end(directory)
        check_ends(examples, prefix, library, directory)
        wait_for_end(directory)
        run(*make(source, build, prefix), "install")  # Over what is there.
        for name in ("link.cpp", "link.o", *[f"link{suffix}" for suffix in SUFFIXES]):
            (prefix / name).unlink()
        check_uninstall(source, build, prefix, before)


if __name__ == "__main__":
    main()
