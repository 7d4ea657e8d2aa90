"""Test sequence files that are wrong, each a change of GOOD, for test_tsf.py."""

GOOD = """
[[rti]]
name = "one"
local_settings = "a"

[[rti]]
name = "two"

[[sequence]]
name = "s"
fom = "f.xml"
master = "a"
rti = "one"

[[sequence.federate]]
name = "a"

[[sequence.federate]]
name = "b"

[[sequence.pair]]
sender = "a"
receiver = "b"

[[sequence.execution]]
name = "e"

[[sequence.execution.test]]
kind = ["RTOL", "OWIT"]
transport = ["reliable", "best_effort"]
buffer_bytes = [8, 100]
updates = 10
"""
TEST = "updates = 10"

# What is replaced, and by what.
BAD = {
    "no field is misspelt": ("buffer_bytes = [8, 100]", "bufer_bytes = 8"),
    "unknown at the top": ("[[rti]]\nname = \"one\"", "x = 1\n[[rti]]\nname = \"one\""),
    "unknown table": ("[[sequence.pair]]", "[[sequence.pairs]]"),
    "unknown in a federate": ('name = "b"', 'name = "b"\nhots = "localhost"'),
    "unknown in an RTI": ('local_settings = "a"', 'local_setings = "a"'),
    "nothing like it": (TEST, "colour = 1"),
    "test in a sequence": ("[[sequence.execution.test]]", "[[sequence.test]]"),
    "federate at the top": ("[[sequence.pair]]", "[[federate]]\nname = 'c'\n[[sequence.pair]]"),
    "pair in an execution": (TEST, TEST + "\n[[sequence.execution.pair]]\nsender = 'a'"),
    "execution at the top": ("[[sequence.execution]]", "[[execution]]"),
    "no FOM": ('fom = "f.xml"\n', ""),
    "no master": ('master = "a"\n', ""),
    "no kind": ('kind = ["RTOL", "OWIT"]\n', ""),
    "no name of a sequence": ('name = "s"\n', ""),
    "no sender": ('sender = "a"\n', ""),
    "no name of an RTI": ('name = "two"\n', ""),
    "wrong kind": ('["RTOL", "OWIT"]', '"RTOX"'),
    "wrong kind in a list": ('["RTOL", "OWIT"]', '[\n  "RTOL",\n  "RTOX",\n]'),
    "wrong transport": ('["reliable", "best_effort"]', '"tcp"'),
    "empty list of kinds": ('["RTOL", "OWIT"]', "[]"),
    "empty list of sizes": ("[8, 100]", "[]"),
    "empty list of RTIs": ('rti = "one"', "rti = []"),
    "size twice": ("[8, 100]", "[8, 100, 8]"),
    "size twice, on several lines": ("[8, 100]", "[\n  8, # eight\n  100,\n  8,\n]"),
    "kind twice": ('["RTOL", "OWIT"]', '["RTOL", "RTOL"]'),
    "size too small": ("[8, 100]", "4"),
    "size too small in a list": ("[8, 100]", "[100, 4]"),
    "size too large": ("[8, 100]", "2000000000"),
    "text for a number": (TEST, 'updates = "10"'),
    "fraction": (TEST, "updates = 1.5"),
    "no updates": (TEST, "updates = 0"),
    "negative": (TEST, "updates = -3"),
    "too many samples": (TEST, "samples = 20000"),
    "too many buffers": (TEST, "buffers = 33"),
    "too many types": (TEST, "types = 17"),
    "unknown loop": (TEST, "loop_version = 9"),
    "ticks the wrong way round": (TEST, "tick_min_s = 0.5"),
    "short longest tick": (TEST, "tick_max_s = 0.0001"),
    "a pair of ticks the wrong way round": (TEST, "tick_min_s = [0.001, 1.0]\ntick_max_s = 0.1"),
    "negative tick": (TEST, "tick_min_s = -1.0"),
    "infinite tick": (TEST, "tick_max_s = inf"),
    "zero time-out": ('master = "a"', 'master = "a"\ndata_timeout_s = 0.0'),
    "infinite time-out": ('master = "a"', 'master = "a"\ndata_timeout_s = inf'),
    "text for a time-out": ('master = "a"', 'master = "a"\ndata_timeout_s = "3 s"'),
    "bundling in words": ('master = "a"', 'master = "a"\nbundling = "on"'),
    "number for a text": ('fom = "f.xml"', "fom = 1"),
    "command without brackets": ('master = "a"', 'master = "a"\ncommand = "bmfed"'),
    "table for a value": (TEST, "updates = { a = 1 }"),
    "unknown master": ('master = "a"', 'master = "z"'),
    "unknown sender": ('sender = "a"', 'sender = "z"'),
    "unknown receiver": ('receiver = "b"', 'receiver = "z"'),
    "sends to itself": ('receiver = "b"', 'receiver = "a"'),
    "pair twice": ("[[sequence.execution]]",
                   '[[sequence.pair]]\nsender = "a"\nreceiver = "b"\n[[sequence.execution]]'),
    "federate twice": ('name = "b"', 'name = "a"'),
    "one federate": ('[[sequence.federate]]\nname = "b"\n', ""),
    "idle federate": ("[[sequence.pair]]", '[[sequence.federate]]\nname = "c"\n[[sequence.pair]]'),
    "execution twice": ("[[sequence.execution]]\nname = \"e\"",
                        '[[sequence.execution]]\nname = "e"\ntest = [{kind = "RTOL"}]\n'
                        '[[sequence.execution]]\nname = "e"'),
    "RTI twice": ('name = "two"', 'name = "one"'),
    "unknown RTI": ('rti = "one"', 'rti = "tow"'),
    "unknown RTI of several": ('rti = "one"', 'rti = ["one", "three-hundred"]'),
    "RTI named twice": ('rti = "one"', 'rti = ["one", "two", "one"]'),
    "server without a sign": ('local_settings = "a"', 'server = ["rtinode"]'),
    "port out of range": ('local_settings = "a"', "server_port = 70000"),
    "too many classes": (TEST, 'types = 9\n[[sequence.pair]]\nsender = "b"\nreceiver = "a"'),
    "too many classes by default": (TEST, TEST + "".join(
        f'\n[[sequence.federate]]\nname = "f{n}"\n[[sequence.pair]]\nsender = "a"\n'
        f'receiver = "f{n}"' for n in range(16))),
    "name with a slash": ('name = "e"', 'name = "../e"'),
    "name with a blank": ('name = "s"', 'name = "my run"'),
    "empty name": ('name = "s"', 'name = ""'),
    "3 million tests": (TEST, f"updates = {list(range(1, 1001))}\nsamples = {list(range(1, 376))}"),
    "a file that is not there": ("[[rti]]\nname = \"one\"",
                                 'include = ["none.toml"]\n[[rti]]\nname = "one"'),
    "a file that includes itself": ("[[rti]]\nname = \"one\"",
                                    'include = ["t.tsf.toml"]\n[[rti]]\nname = "one"'),
    "header that does not end": ("[[sequence]]", "[[sequence"),
    "key twice": ('master = "a"', 'master = "a"\nmaster = "b"'),
    "no quotes": ('master = "a"', "master = a"),
}  # fmt: skip
