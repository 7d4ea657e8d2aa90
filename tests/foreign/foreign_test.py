#!/usr/bin/env python3
"""Builds and runs what federates of other RTIs rely on, against a fresh installation.

foreign_test.py BUILD
"""

import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMPILERS = ["g++", "clang++"]
STANDARDS = ["98", "11", "14", "17"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-deprecated", "-Wno-deprecated-declarations"]

# What federates use through one header alone.
EVERYWHERE = """
static std::vector<std::pair<std::wstring, int> > everywhere;
rti1516e::auto_ptr<int> RTI_EXPORT pointer();
"""
INTERVAL = "LogicalTimeInterval *base({0}Interval &i) {{ return &i; }} {0}Interval step({1});"
HEADERS = {
    "RTI/SpecificConfig.h": "",
    "RTI/Enums.h": "OrderType order = RECEIVE;",
    "RTI/Exception.h": "std::wstring f(Exception const &e) { return e.what(); }",
    "RTI/VariableLengthData.h": "size_t f(VariableLengthData const &d) { return d.size(); }",
    "RTI/Handle.h": "long f(FederateHandle const &h) { return h.hash() + h.encode().size(); }",
    "RTI/Typedefs.h": "AttributeHandleValueMap map; OrderType order = RECEIVE;"
    " AttributeHandleSetRegionHandleSetPairVector pairs;",
    "RTI/RangeBounds.h": "RangeBounds bounds(0, 1);",
    "RTI/LogicalTime.h": "bool f(LogicalTime const &t) { return t.isFinal(); }",
    "RTI/LogicalTimeInterval.h": "bool f(LogicalTimeInterval const &i) { return i.isZero(); }",
    "RTI/LogicalTimeFactory.h": "bool f(LogicalTimeFactory &f) {"
    " return f.makeInitial()->isInitial() && f.makeZero()->isZero(); }",
    "RTI/FederateAmbassador.h": "void f(FederateAmbassador &f) { f.federationSaved(); }",
    "RTI/NullFederateAmbassador.h": "NullFederateAmbassador federate;",
    "RTI/RTIambassador.h": "FederateHandle f(RTIambassador &r) {"
    ' return r.joinFederationExecution(L"a", L"b"); }',
    "RTI/RTIambassadorFactory.h": "RTIambassadorFactory factory;",
    "RTI/RTI1516.h": "bool f(RTIambassador &r) {"
    " return r.getTimeFactory()->makeInitial()->isInitial(); }",
    "RTI/RTI1516fedTime.h": "RTI1516fedTime t(1.0); HLAinteger64Time u(1);",
    "RTI/certiRTI1516.h": "RTI1516fedTime t(1.0); RTIambassadorFactory factory;",
    "RTI/encoding/EncodingConfig.h": "Octet octet; OctetPair two; Integer64 n;",
    "RTI/encoding/EncodingExceptions.h": 'EncoderException e(L""); Octet octet;',
    "RTI/encoding/DataElement.h": "size_t f(DataElement const &e, std::vector<Octet> &b) {"
    " e.encodeInto(b); return e.encode().size(); }",
    "RTI/encoding/BasicDataElements.h": "HLAinteger32BE i(1); HLAunicodeString s;",
    "RTI/encoding/HLAopaqueData.h": "HLAopaqueData d;",
    "RTI/encoding/HLAfixedArray.h": "size_t f(HLAfixedArray const &a) { return a.size(); }",
    "RTI/encoding/HLAvariableArray.h": "size_t f(HLAvariableArray const &a) { return a.size(); }",
    "RTI/encoding/HLAfixedRecord.h": "HLAfixedRecord r;",
    "RTI/encoding/HLAvariantRecord.h": "size_t f(HLAvariantRecord &r, DataElement const &d) {"
    " r.setDiscriminant(d); return r.encode().size(); }",
}
for stem, one in ("HLAinteger64", "Integer64(1)"), ("HLAfloat64", "1.0"):
    interval = INTERVAL.format(stem, one)
    time = f"{stem}Time now({one}); LogicalTime *time() {{ return &now; }}"
    factory = f"{stem}TimeFactory factory;"
    HEADERS[f"RTI/time/{stem}Interval.h"] = interval
    HEADERS[f"RTI/time/{stem}Time.h"] = interval + time
    HEADERS[f"RTI/time/{stem}TimeFactory.h"] = interval + time + factory


class Stage:
    """An installation, and what is built against it in a folder beside it."""

    def __init__(self, build, folder):
        self.folder = folder
        self.prefix = folder / "prefix"
        self.run("cmake", "--install", build, "--prefix", self.prefix)
        self.library = next(self.prefix.rglob("librti1516e.so")).parent
        self.environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.library),
            "PKG_CONFIG_PATH": str(self.library / "pkgconfig"),
        }

    def run(self, *command, **options):
        words = [str(word) for word in command]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=300, **options
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def compile(self, compiler, standard, *arguments):
        include = f"-I{self.prefix / 'include'}"
        self.run(compiler, f"-std=gnu++{standard}", *WARNINGS, include, *arguments)

    def program(self, compiler, standard, source, libraries):
        program = self.folder / source.stem
        self.compile(compiler, standard, source, *libraries, "-o", program)
        self.run(program, env=self.environment)


def headers(stage):
    include = stage.prefix / "include"
    present = {str(path.relative_to(include)) for path in include.glob("RTI/**/*.h")}
    if present != set(HEADERS):
        raise SystemExit(f"headers and their uses differ: {present ^ set(HEADERS)}")
    source = stage.folder / "header.cpp"
    for header, uses in HEADERS.items():
        source.write_text(
            f"#include <{header}>\n{EVERYWHERE}\nusing namespace rti1516e;\n{uses}\n"
            "size_t all() { return everywhere.size(); }\n"
        )
        # The tests headers-* use every declaration in every language version.
        stage.compile("g++", "98", "-fsyntax-only", source)
        stage.compile("clang++", "17", "-fsyntax-only", source)
    old = ["-D_GLIBCXX_USE_DEPRECATED=0", "-fsyntax-only", HERE / "no_auto_ptr.cpp"]
    for compiler in COMPILERS:
        stage.compile(compiler, "17", *old)


def programs(stage):
    libraries = [f"-L{stage.library}", "-lrti1516e", "-lfedtime1516e"]
    for compiler, standard in itertools.product(COMPILERS, STANDARDS):
        for name in ("throw.cpp", "fedtime.cpp"):
            stage.program(compiler, standard, HERE / name, libraries)


def link_orders(stage):
    """Either library may come first, or alone, where libraries that are not needed are dropped."""
    flags = stage.run("pkg-config", "--libs", "starling-rti1516e", env=stage.environment).split()
    where = f"-L{stage.library}"
    orders = [
        [where, "-lrti1516e", "-lfedtime1516e"],
        [where, "-lfedtime1516e", "-lrti1516e"],
        [where, "-lrti1516e64", "-lfedtime1516e64"],
        flags,
    ]
    linkers = [name for name in ("bfd", "gold", "lld") if shutil.which(f"ld.{name}")]
    for linker, order, needs, dropped in itertools.product(
        linkers, orders, ([], ["-DNEEDS_RTI"]), ("--as-needed", "--no-as-needed")
    ):
        options = [*needs, f"-fuse-ld={linker}", f"-Wl,{dropped}", *order]
        stage.program("g++", "17", HERE / "times.cpp", options)


def packages(stage):
    for how in ("targets", "turned", "rti", "fedtime", "variables", "module", "config"):
        for defines in ("", "NEEDS_RTI"):
            build = stage.folder / f"{how}-{defines}"
            where = [f"-DCMAKE_PREFIX_PATH={stage.prefix}", f"-DHOW={how}", f"-DDEFINES={defines}"]
            stage.run("cmake", "-S", HERE / "find_package", "-B", build, *where)
            stage.run("cmake", "--build", build)
            stage.run(build / "times")


def main():
    (build,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(pathlib.Path(build).resolve(), pathlib.Path(folder))
        for case in (headers, programs, link_orders, packages):
            case(stage)
            print(f"{case.__name__}: good", flush=True)


if __name__ == "__main__":
    main()
