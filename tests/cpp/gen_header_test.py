#!/usr/bin/env python3
"""Uses every row of the table of C++ declarations, as one compiler and language version see them.

For each header a source that includes only that header and, for each of its rows, declares the same
once more: a function is defined (a definition must repeat result, parameters, const and exception
specification exactly) and its address taken with its exact type, an enumerator compared, a typedef
equated, a private field named by an explicit instantiation (which ignores access). One program more
includes everything, checks virtual tables, sizes, default arguments and macro texts at run time and
is linked with the libraries.

    gen_header_test.py TABLE INCLUDE --libraries DIR --compiler g++ --standard 98
    gen_header_test.py TABLE INCLUDE --libraries DIR --compiler g++ --standard 14 --mutations
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from api_table import NAMESPACE, Table

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
# The sources repeat exception specifications and smart pointers that C++11 calls deprecated.
DEPRECATED = ["-Wno-deprecated", "-Wno-deprecated-declarations"]

PRELUDE = """
template <class T, T> struct member {};
template <class A, class B> struct same;
template <class A> struct same<A, A> { typedef int yes; };
template <bool> struct holds;
template <> struct holds<true> { typedef int yes; };
template <class T> T make();
template <class C> struct implicit {
    static char test(C const &);
    static char (&test(...))[2];
};
"""

FEDERATE = """
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>
class Federate : public rti1516e::NullFederateAmbassador {
public:
    using rti1516e::NullFederateAmbassador::discoverObjectInstance;
    void discoverObjectInstance(rti1516e::ObjectInstanceHandle, rti1516e::ObjectClassHandle,
                                std::wstring const &) RTI_THROW(rti1516e::FederateInternalError) {}
    void connectionLost(std::wstring const &) RTI_NOEXCEPT {}
};
int main() {
    Federate federate;
    rti1516e::RTIambassadorFactory factory;
#if __cplusplus >= 201103L
    std::unique_ptr<rti1516e::RTIambassador> rti(factory.createRTIambassador());
    std::unique_ptr<rti1516e::RTIambassador> second = factory.createRTIambassador();
    return rti.get() == second.get();
#endif
#if __cplusplus < 201103L || defined(OLD_POINTERS)
    std::auto_ptr<rti1516e::RTIambassador> old(factory.createRTIambassador());
    rti1516e::auto_ptr<rti1516e::RTIambassador> other(factory.createRTIambassador());
    RTI_UNIQUE_PTR<rti1516e::RTIambassador> third(factory.createRTIambassador());
    return old.get() == other.get() || !third.get();
#endif
}
"""


class Header:
    """The source for one header."""

    def __init__(self, table, header, standard):
        self.table, self.header, self.standard = table, header, standard
        self.used = set()

    def source(self):
        rows = [row for row in self.table.rows if row.header == self.header]
        # Alone first; then the classes that its functions return by value, to define these.
        results = {row.result for row in rows if row.function} & set(self.table.classes)
        after = sorted({self.table.classes[result].header for result in results} - {self.header})
        lines = [f"#include <{header}>" for header in [self.header, *after]]
        lines += [f"namespace {NAMESPACE} {{", PRELUDE]
        for row in rows:
            lines += self.uses(row)
        return "\n".join([*lines, "}", ""])

    def uses(self, row):
        lines = getattr(self, "use_" + row.kind.split()[0])(row)
        if lines is None:
            return []
        self.used.add(row.number)
        return [f'#line {row.number} "rti1516e.tsv"\n{line}' for line in lines]

    def use_class(self, row):
        if row.kind == "class fwd":
            return [f"typedef class {row.name} *forward_{row.number};"]
        base = self.table.base(row.name)
        lines = [f"typedef holds<(sizeof({row.name}) > 0)>::yes complete_{row.number};"]
        if base:
            lines.append(f"inline {base} *base_{row.number}({row.name} *it) {{ return it; }}")
        return lines

    def use_enum(self, row):
        return [f"typedef holds<(sizeof({row.name}) == 4)>::yes enum_{row.number};"]

    def use_enumerator(self, row):
        value = row.text.removeprefix("= ")
        return [
            f"typedef holds<(static_cast<int>({row.name}) == {value})>::yes value_{row.number};",
            f"typedef member<{row.cls}, {row.name}> enumerator_{row.number};",
        ]

    def use_typedef(self, row):
        again = re.sub(rf"\b{row.name}\b(?!.*\b{row.name}\b)", f"again_{row.number}", row.text)
        return [
            f"{again};",
            f"typedef same<{row.name}, again_{row.number}>::yes same_{row.number};",
        ]

    def use_field(self, row):
        kind = row.text.removesuffix(row.name).strip()
        return self.member(row, f"{kind} {row.cls}::*", f"&{row.cls}::{row.name}")

    def use_variable(self, row):
        kind = row.text.partition(row.name)[0].strip()
        return [f"inline {kind} *variable_{row.number}() {{ return &{row.name}; }}"]

    def use_friend(self, row):
        friend = row.text.removeprefix("friend class ")
        look = f"(void)sizeof(static_cast<{row.cls} *>(0)->_impl);"
        if friend not in self.table.classes:
            return [f"class {friend} {{ public: static void look() {{ {look} }} }};"]
        header = self.table.classes[friend].header
        quiet = "noexcept" if self.standard >= 17 else "throw()"
        return [
            f"}}\n#include <{header}>\nnamespace {NAMESPACE} {{",
            f"{friend}::~{friend}() {quiet} {{ {look} }}",
        ]

    def use_macro(self, row):
        body = {
            "RTI_EXCEPTION": "RTI_EXCEPTION(ProbeException)",
            "DEFINE_HANDLE_CLASS": "DEFINE_HANDLE_CLASS(ProbeHandle)",
            "DEFINE_ENCODING_HELPER_CLASS": "DEFINE_ENCODING_HELPER_CLASS(ProbeElement, Integer16)",
            "RTI_EXPORT": f"RTI_EXPORT void exported_{row.number}();",
            "RTI_EXPORT_FEDTIME": f"RTI_EXPORT_FEDTIME void exported_{row.number}();",
            "RTI_NOEXCEPT": f"void quiet_{row.number}() RTI_NOEXCEPT;",
            "RTI_THROW": f"void throws_{row.number}() RTI_THROW(int);",
        }.get(row.name)
        if body:
            return [body]
        text = row.text.split(" ", 2)[2]
        if text.startswith('"'):
            text = f"sizeof {text}"
            return [f"typedef holds<(sizeof {row.name} == {text})>::yes macro_{row.number};"]
        return [f"typedef holds<({row.name} == {text})>::yes macro_{row.number};"]

    def use_ctor(self, row):
        parameters = ", ".join(row.parameters)
        base = self.table.base(row.cls)
        copy = row.parameters == [f"{row.cls} const &"]
        start = f" : {base}()" if base and copy else ""
        specification = row.specification(self.standard)
        lines = [f"{row.cls}::{row.cls}({parameters}){specification}{start} {{}}"]
        if row.access == "public" and not self.table.abstract(row.cls):
            values = ", ".join(f"make<{p} >()" for p in row.parameters)
            lines.append(
                f"typedef holds<(sizeof(({row.cls}({values}))) > 0)>::yes made_{row.number};"
            )
            if len(row.parameters) == 1 and not copy:
                size = 2 if row.explicit else 1
                test = f"implicit<{row.cls}>::test({values})"
                lines.append(f"typedef holds<(sizeof({test}) == {size})>::yes by_{row.number};")
        return lines

    def use_dtor(self, row):
        # The friend's use defines this one in that source.
        return [f"{row.cls}::~{row.cls}(){row.specification(self.standard)} {{}}"]

    def use_function(self, row):
        name = f"{NAMESPACE}::{row.spelled}"
        return [
            f"}}\n{self.definition(row, name)}\nnamespace {NAMESPACE} {{",
            *self.member(row, row.pointer, f"&{name}"),
        ]

    def definition(self, row, name):
        parameters = ", ".join(row.parameters)
        result = "" if row.kind == "conversion" else row.result
        body = "{}" if row.result == "void" else "{ for (;;) {} }"
        return (
            f"{result} {name}({parameters}){row.qualifier}{row.specification(self.standard)} {body}"
        )

    def use_method(self, row):
        lines = [self.definition(row, f"{row.cls}::{row.spelled}")]
        spelled = row.spelled
        if row.kind == "conversion":
            lines.append(f"typedef {row.result} target_{row.number};")
            spelled = f"operator target_{row.number}"
        lines += self.member(row, row.pointer, f"&{row.cls}::{spelled}")
        if any(row.defaults):
            values = [f"make<{p} >()" for p in row.parameters]
            for count in range(row.defaults.index(next(filter(None, row.defaults))), len(values)):
                call = f"make<{row.cls} &>().{row.name}({', '.join(values[:count])})"
                lines.append(
                    f"typedef holds<(sizeof({call}, 0) > 0)>::yes short_{row.number}_{count};"
                )
        return lines

    use_conversion = use_method

    def member(self, row, kind, value):
        kind = kind.replace("@", "")
        if row.access in ("private", "protected"):
            return [f"template struct member<{kind}, {value}>;"]
        return [f"typedef member<{kind}, {value} > member_{row.number};"]


RUNTIME = """
#include <RTI/NullFederateAmbassador.h>
%(includes)s
#include <cstdio>
#include <cstring>
using namespace rti1516e;
#define TEXT(...) QUOTE(__VA_ARGS__)
#define QUOTE(...) #__VA_ARGS__
static int failures = 0;
static void expect(bool good, char const *what) {
    if (!good) { std::printf("%%s\\n", what); ++failures; }
}
// But for spaces, which compilers put differently.
static bool alike(char const *a, char const *b) {
    for (;; ++a, ++b) {
        while (*a == ' ') ++a;
        while (*b == ' ') ++b;
        if (*a != *b || !*a) return *a == *b;
    }
}
// Itanium C++ ABI: a pointer to a virtual function is its offset in the virtual table, plus one.
template <class P> long slot(P pointer) {
    std::ptrdiff_t words[2];
    std::memcpy(words, &pointer, sizeof words);
    return words[0] & 1 ? (words[0] - 1) / long(sizeof(void *)) : -1;
}
template <class T> struct plain { typedef T type; };
template <class T> struct plain<T &> { typedef T type; };
template <class T> struct plain<T const &> { typedef T type; };
template <class T> T value() { return T(); }
template <class T> T &thing() { static T it = T(); return it; }
template <class T> T &never() { static T *volatile nowhere; return *nowhere; }
"""


class Program:
    """One program over all headers, for what only a running program sees."""

    def __init__(self, table, standard):
        self.table, self.standard = table, standard

    def source(self):
        includes = "\n".join(f"#include <{header}>" for header in self.table.headers)
        lines = [RUNTIME % {"includes": includes}]
        lines += self.subclass("FederateAmbassador", "Federate")
        lines += self.subclass("RTIambassador", "Ambassador")
        lines.append("template <> FederateAmbassador &thing<FederateAmbassador>() {")
        lines.append("    static Federate it;\n    return it;\n}")
        lines += self.constructions()
        checks = [*self.slots(), *self.sizes(), *self.defaults(), *self.texts()]
        lines += ["int main(int count, char **) {", *checks]
        lines.append("    if (count > 1000) construct();\n    return failures != 0;\n}\n")
        return "\n".join(lines)

    def subclass(self, base, name):
        """An implementation of every function, as a federate or an RTI writes it."""
        lines = [f"class {name} : public {base} {{", "public:"]
        lines.append(f"    {name}() {self.quiet()} {{}}\n    ~{name}() {self.quiet()} {{}}")
        for row in self.table.members[base]:
            if not row.kind.startswith("method"):
                continue
            parameters = ", ".join(
                f"{kind} a{at}" if default else kind
                for at, (kind, default) in enumerate(zip(row.parameters, row.defaults, strict=True))
            )
            body = "".join(
                f' expect(a{at} == {default}, "{row.name}: default of parameter {at + 1}");'
                for at, default in enumerate(row.defaults)
                if default
            )
            if row.result != "void":
                body += f" return value<{row.result} >();"
            lines.append(
                f"    virtual {row.result} {row.name}({parameters}){row.qualifier}"
                f"{row.specification(self.standard)} {{{body} }}"
            )
        return [*lines, "};"]

    def quiet(self):
        return "noexcept" if self.standard >= 17 else "throw()"

    def constructions(self):
        """Every public constructor, so that the linker looks for it."""
        lines = ["void construct() {"]
        for row in self.table.rows:
            if row.kind == "ctor" and row.access == "public" and not self.table.abstract(row.cls):
                values = ", ".join(f"never<plain<{p} >::type>()" for p in row.parameters)
                arguments = f"({values})" if values else ""
                lines.append(f"    delete new {row.cls}{arguments};")
        return [*lines, "}"]

    def slots(self):
        for name in self.table.classes:
            slots = self.table.slots(name)
            for row in self.table.members[name]:
                if not row.kind.startswith("method") or row.access != "public":
                    continue
                if "static" in row.kind:
                    continue
                index = slots.index(row.key) if row.virtual or row.key in slots else -1
                pointer = row.pointer.replace("@", "")
                yield (
                    f"    expect(slot(static_cast<{pointer}>(&{name}::{row.name})) == {index},"
                    f' "{name}::{row.name} (row {row.number}): not in slot {index}");'
                )

    def sizes(self):
        for name in self.table.classes:
            fields = [row for row in self.table.members[name] if row.kind == "field"]
            body = "void *table; " if self.table.slots(name) else ""
            body += " ".join(f"{row.text};" for row in fields)
            yield (
                f"    {{ struct Layout {{ {body} }};"
                f' expect(sizeof({name}) == sizeof(Layout), "{name}: has another size"); }}'
            )

    def defaults(self):
        yield "    Ambassador ambassador;\n    RTIambassador &rti = ambassador;"
        for row in self.table.members["RTIambassador"]:
            if row.function and any(row.defaults):
                given = [
                    f"thing<plain<{kind} >::type>()"
                    for kind, default in zip(row.parameters, row.defaults, strict=True)
                    if not default
                ]
                yield f"    rti.{row.name}({', '.join(given)});"

    def texts(self):
        seventeen = self.standard >= 17
        for macro, text in {
            "RTI_EXPORT": "",
            "RTI_EXPORT_FEDTIME": "",
            "RTI_NOEXCEPT": "noexcept" if seventeen else "throw()",
            "RTI_THROW(A, B)": "" if seventeen else "throw(A, B)",
            "RTI_THROW ((A, B))": "" if seventeen else "throw(A, B)",
            "HLA_SPECIFICATION_NAME": '\\"1516\\"',
        }.items():
            yield f'    expect(alike(TEXT({macro}), "{text}"), "macro {macro}");'
        for row in self.table.rows:
            if row.kind == "variable":
                text = row.text[row.text.index("(") + 1 : -1]
                yield f'    expect({row.name} == {text}, "{row.name}: has another value");'


def check_windows(options, folder):
    """The export macros of Windows, of which this host sees only the preprocessed text."""
    for standard in ("memory", "string", "utility", "vector"):
        (folder / standard).write_text("")
    probe = "#include <RTI/SpecificConfig.h>\nPROBE[RTI_EXPORT][RTI_EXPORT_FEDTIME]\n"
    (folder / "windows.cpp").write_text(probe)
    out, into = "__declspec(dllexport)", "__declspec(dllimport)"
    for defines, expected in (
        (["-DSTATIC_RTI", "-DSTATIC_FEDTIME"], ("", "")),
        (["-DBUILDING_RTI"], (out, into)),
        (["-DBUILDING_FEDTIME"], (into, out)),
        ([], (into, into)),
    ):
        command = [options.compiler, "-E", "-P", "-nostdinc", "-nostdinc++", "-D_WIN32", *defines]
        command += [f"-I{folder}", f"-I{options.include}", str(folder / "windows.cpp")]
        done = finish(command)
        text = done.stdout.replace(" ", "")
        if done.returncode or f"PROBE[{expected[0]}][{expected[1]}]" not in text:
            yield f"SpecificConfig.h with _WIN32 {defines}: not {expected}\n{text}{done.stderr}"


def finish(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


class Job:
    """A source to compile, and perhaps to link and run."""

    def __init__(self, name, source, flags=(), own=True, linked=False):
        self.name, self.source, self.flags = name, source, flags
        self.own, self.linked = own, linked

    def run(self, options, folder):
        """What the compiler, the linker or the program complains about, or nothing."""
        path = folder / self.name
        path.write_text(self.source, encoding="utf-8")
        command = [options.compiler, f"-std=gnu++{options.standard}", *WARNINGS, *self.flags]
        command += [f"-I{options.include if self.own else options.strict}", str(path)]
        program = folder / (self.name + ".run")
        if self.linked:
            libraries = options.libraries
            command += ["-o", str(program), f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
            command += ["-lrti1516e", "-lfedtime1516e"]
        else:
            command.append("-fsyntax-only")
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode == 0 and self.linked:
            done = subprocess.run(
                [program], capture_output=True, text=True, timeout=60, check=False
            )
        return (done.stdout + done.stderr or "failed") if done.returncode else None


def jobs(table, options):
    """By header, or by what else they look at."""
    standard = int(options.standard)
    found, used = {}, set()
    for number, header in enumerate(table.headers):
        unit = Header(table, header, standard % 98)
        found[header] = Job(f"header{number}.cpp", unit.source(), DEPRECATED, own=False)
        used |= unit.used
    unused = [row.number for row in table.rows if row.number not in used]
    if unused:
        raise SystemExit(f"rows of the table that no source uses: {unused}")
    present = {str(p.relative_to(options.include)) for p in options.include.rglob("*.h")}
    for number, header in enumerate(sorted(present - set(table.headers))):
        found[header] = Job(f"extra{number}.cpp", f"#include <{header}>\nint main() {{}}\n")
    found["federate"] = Job("federate.cpp", FEDERATE)
    found["pointers"] = Job("pointers.cpp", "#define OLD_POINTERS\n" + FEDERATE, DEPRECATED)
    program = Program(table, standard % 98).source()
    found["program"] = Job("program.cpp", program, DEPRECATED, linked=True)
    return found


def strict(options, folder):
    """Copies of the headers that are no system headers, whose mistakes compilers hide."""
    options.strict = folder / "strict"
    for path in options.include.rglob("*.h"):
        copy = options.strict / path.relative_to(options.include)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text().replace("#pragma GCC system_header", ""))


def check(table, options, folder):
    """Everything; returns complaints."""
    strict(options, folder)
    todo = jobs(table, options)
    # The longest first.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        runs = pool.map(lambda job: job.run(options, folder), reversed(todo.values()))
        complaints = [text for text in runs if text]
    return complaints + list(check_windows(options, folder))


# Damage to a header, and which source must notice it.
MUTATIONS = [
    (
        "two services in another order",
        ("RTI/RTIambassador.h", "program"),
        r"( *virtual void federateSaveBegun.*\n)(.*\n)( *virtual void federateSaveComplete.*\n)",
        r"\3\2\1",
    ),
    (
        "two callbacks in another order",
        ("RTI/FederateAmbassador.h", "program"),
        r"( *virtual void federationSaved.*\n)((?:.*\n)*?)( *virtual void federationNotSaved.*\n)",
        r"\3\2\1",
    ),
    ("a function no longer const", ("RTI/Handle.h",), r"isValid\(\) const", "isValid()"),
    (
        "a parameter no longer const",
        ("RTI/RTIambassador.h",),
        r"std::wstring const & fomModule,",
        "std::wstring & fomModule,",
    ),
    (
        "an exception dropped",
        ("RTI/RTIambassador.h",),
        r"\(AttributeNotDefined, ObjectClassNotDefined",
        "(ObjectClassNotDefined",
    ),
    (
        "an exception added",
        ("RTI/LogicalTime.h",),
        r"RTI_THROW\(CouldNotEncode\)",
        "RTI_THROW(CouldNotEncode, CouldNotDecode)",
    ),
    ("another value", ("RTI/Enums.h",), r"TIMESTAMP = 2", "TIMESTAMP = 3"),
    ("a default dropped", ("RTI/RTIambassador.h",), r" successfully = true", " successfully"),
    (
        "another default",
        ("RTI/RTIambassador.h", "program"),
        r" successfully = true",
        " successfully = false",
    ),
    ("explicit dropped", ("RTI/encoding/HLAvariableArray.h",), r"explicit HLAv", "HLAv"),
    (
        "a public function made protected",
        ("RTI/RangeBounds.h",),
        r"( *unsigned long getLowerBound)",
        r"protected:\n\1",
    ),
    ("a field added", ("RTI/VariableLengthData.h", "program"), r"_impl;", "_impl; int more;"),
    ("another result", ("RTI/Handle.h",), r"long hash\(\) const", "int hash() const"),
    (
        "another typedef",
        ("RTI/Typedefs.h",),
        r"std::set<RegionHandle>",
        "std::set<DimensionHandle>",
    ),
    (
        "a function no longer virtual",
        ("RTI/time/HLAfloat64Time.h", "program"),
        r"virtual double getTime",
        "double getTime",
    ),
    ("an include dropped", ("RTI/RangeBounds.h",), r"#include <RTI/SpecificConfig.h>", ""),
]


def check_mutations(table, options, folder):
    """Damages copies of the headers; each damage must be noticed."""
    healthy = options.include
    for number, (what, where, pattern, replacement) in enumerate(MUTATIONS):
        header = where[0]
        options.include = folder / str(number) / "include"
        shutil.copytree(healthy, options.include)
        path = options.include / header
        text = path.read_text()
        damaged, count = re.subn(pattern, replacement, text, count=1)
        if count != 1 or damaged == text:
            yield f"{what}: {header} has no such place"
            continue
        path.write_text(damaged)
        strict(options, folder / str(number))
        if jobs(table, options)[where[-1]].run(options, folder) is None:
            yield f"{what} in {header}: not noticed"
    options.include = healthy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("include", type=pathlib.Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--standard", default="17", choices=["98", "11", "14", "17"])
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    parser.add_argument("--mutations", action="store_true", help="damage the headers instead")
    options = parser.parse_args()
    if not shutil.which(options.compiler):
        raise SystemExit(f"{options.compiler} is missing: run scripts/setup tests")
    table = Table(options.table)
    with tempfile.TemporaryDirectory() as folder:
        action = check_mutations if options.mutations else check
        complaints = list(action(table, options, pathlib.Path(folder)))
    for complaint in complaints:
        print(complaint[:4000])
    what = f"{len(MUTATIONS)} mutations" if options.mutations else f"{len(table.rows)} rows"
    print(f"{what}, {options.compiler} gnu++{options.standard}:", end=" ")
    print(f"{len(complaints)} complaints" if complaints else "good")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
