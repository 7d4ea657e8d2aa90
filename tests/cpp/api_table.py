"""The table of C++ declarations (spec/cpp/rti1516e.tsv), read into what a compiler can check."""

import csv
import re

NAMESPACE = "rti1516e"


class Row:
    """One declaration: for functions also result, parameter types, defaults and qualifiers."""

    def __init__(self, number, columns):
        self.number = number
        self.header, self.scope, self.kind, self.access, self.name, self.text, exceptions = columns
        self.exceptions = exceptions.split()
        self.cls = self.scope.split("::")[-1] if "::" in self.scope else None
        self.virtual = "virtual" in self.kind or "pure" in self.kind
        self.function = self.kind.split()[0] in ("method", "ctor", "dtor", "conversion", "function")
        if self.function:
            self._parse_function()

    def _parse_function(self):
        text = re.sub(r"^((virtual|static|explicit)\s+)+", "", self.text)
        text = re.sub(r"\s+RTI_EXPORT(_FEDTIME)?\b", "", text)
        match = re.match(r"^(.*?\))\s*(const)?\s*(throw\(\*?\))?\s*(= 0)?$", text)
        if not match:
            raise ValueError(f"row {self.number}: not a function: {self.text}")
        text, self.const, self.throw = match.group(1), bool(match.group(2)), match.group(3)
        start = opening(text)
        head = text[:start].strip()
        self.parameters, self.defaults = [], []
        for parameter in split(text[start + 1 : -1]):
            before, _, default = parameter.partition(" = ")
            self.parameters.append(parameter_type(before))
            self.defaults.append(default.strip() or None)
        kind = self.kind.split()[0]
        if kind == "conversion":
            self.result = head[len("operator ") :]
            self.spelled = head
        else:
            self.spelled = self.name
            if not head.endswith(self.name):
                raise ValueError(f"row {self.number}: {self.name} is not declared by {self.text}")
            self.result = head[: -len(self.name)].strip()

    @property
    def explicit(self):
        return self.text.startswith("explicit ")

    @property
    def qualifier(self):
        return " const" if self.const else ""

    def specification(self, standard):
        """The exception specification of the declaration: gone, or noexcept, in C++17."""
        if not self.throw:
            return ""
        if self.throw == "throw()":
            return " noexcept" if standard >= 17 else " throw()"
        return "" if standard >= 17 else f" throw({', '.join(self.exceptions)})"

    @property
    def key(self):
        """What an overriding function has in common with the one that it overrides."""
        if self.kind.startswith("dtor"):
            return "~"
        parameters = ",".join(normal(p) for p in self.parameters)
        return f"{self.name}({parameters}){self.qualifier}"

    @property
    def pointer(self):
        """The type of a pointer to this function, with @ where a name would stand."""
        parameters = ", ".join(self.parameters)
        if self.cls is None or "static" in self.kind:
            return f"{self.result} (*@)({parameters})"
        return f"{self.result} ({self.cls}::*@)({parameters}){self.qualifier}"


def opening(text):
    """Where the parenthesis opens that the last character closes."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError(text)


def split(text):
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def parameter_type(text):
    """A parameter without its name."""
    text = text.strip()
    match = re.match(r"^(.*[\w>&*])\s*\b(\w+)$", text)
    if not match:
        return text
    kind, name = match.group(1).strip(), match.group(2)
    unfinished = kind in ("const", "unsigned", "long", "void", "") or kind.endswith("::")
    return text if unfinished or name in ("const", "int", "long", "char") else kind


def normal(kind):
    kind = kind.replace(NAMESPACE + "::", "")
    kind = re.sub(r"^const\s+(\w+)", r"\1 const", kind)
    return re.sub(r"\s+", "", kind)


class Table:
    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        self.rows = [Row(number, columns) for number, columns in enumerate(lines[1:], start=2)]
        self.headers = list(dict.fromkeys(row.header for row in self.rows))
        self.classes = {row.name: row for row in self.rows if row.kind == "class"}
        self.members = {name: [] for name in self.classes}
        for row in self.rows:
            if row.cls in self.members:
                self.members[row.cls].append(row)

    def base(self, name):
        match = re.search(r":\s*public (?:rti1516e::)?(\w+)$", self.classes[name].text)
        return match.group(1) if match else None

    def slots(self, name):
        """Keys in the order of the virtual table of the Itanium C++ ABI, the destructor twice."""
        base = self.base(name)
        slots = list(self.slots(base)) if base else []
        for row in self.members[name]:
            if row.virtual and row.key not in slots:
                slots += ["~", "~"] if row.key == "~" else [row.key]
        return slots

    def abstract(self, name):
        """The pure virtual functions that are left."""
        base = self.base(name)
        pure = self.abstract(base) - {"~"} if base else set()
        for row in (row for row in self.members[name] if row.function):
            pure.discard(row.key)
            if "pure" in row.kind:
                pure.add(row.key)
        return pure
