#!/usr/bin/env python3
"""Writes the parts of the stand-in RTI that are the same for every service, from the headers.

    generate.py HEADERS/RTI OUTPUT_DIRECTORY

generated.hpp: class Unsupported, an RTIambassador whose services all throw RTIinternalError, as
partial RTIs do. generated.cpp: the exceptions' bodies and those of NullFederateAmbassador.
"""

import re
import sys
from pathlib import Path

headers, out = map(Path, sys.argv[1:])


def plain(name: str) -> str:
    """A header without its comments."""
    text = (headers / name).read_text(encoding="utf-8")
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def without_defaults(parameters: str) -> str:
    return re.sub(r"\s*=\s*[^,]+(\(\))?", "", parameters)


SERVICE = re.compile(
    r"virtual\s+([\w:<>&\s]+?)\s*\b(\w+)\s*\(([^;]*?)\)\s*(const)?\s*"
    r"(?:RTI_THROW\s*\([^;]*?\)|throw\s*\([^;]*?\))?\s*(=\s*0)?\s*;",
    re.S,
)
header = [
    "#pragma once",
    "#include <RTI/RTI1516.h>",
    "namespace standin {",
    "using namespace rti1516e;",
    "class Unsupported : public RTIambassador {",
    "public:",
]
for result, name, parameters, const, _ in SERVICE.findall(plain("RTIambassador.h")):
    header.append(
        f"    {result} {name}({parameters}) {const} override "
        f'{{ throw RTIinternalError(L"{name}: the stand-in RTI does not have this service"); }}'
    )
header += ["};", "}"]

source = ["#include <RTI/NullFederateAmbassador.h>", "#include <RTI/RTI1516.h>",
          "namespace rti1516e {"]  # fmt: skip
for exception in re.findall(r"^RTI_EXCEPTION\((\w+)\)", plain("Exception.h"), re.M):
    source += [
        f"{exception}::{exception}(std::wstring const &text) noexcept : _msg(text) {{}}",
        f"std::wstring {exception}::what() const noexcept {{ return _msg; }}",
    ]
for result, name, parameters, const, _ in SERVICE.findall(plain("NullFederateAmbassador.h")):
    if "auto_ptr" in result or result != "void":
        sys.exit(f"NullFederateAmbassador.h: {name} returns {result}")
    source.append(
        f"void NullFederateAmbassador::{name}({without_defaults(parameters)}) {const} {{}}"
    )
source.append("}")
for name, lines in (("generated.hpp", header), ("generated.cpp", source)):
    (out / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
