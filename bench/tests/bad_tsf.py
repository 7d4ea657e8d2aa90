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
    "neither FOM nor master": ('fom = "f.xml"\nmaster = "a"\n', ""),
    "no receiver, no name of an execution": (
        'receiver = "b"\n\n[[sequence.execution]]\nname = "e"\n', "[[sequence.execution]]\n"
    ),
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
    "too many types": (TEST, "types = 33"),
    "too many types by class": (TEST, "types = 17"),
    "too many types by service": (TEST, 'types = 17\ntransport_by = "service"\n[[sequence.pair]]\n'
                                  'sender = "b"\nreceiver = "a"'),
    "transport by magic": (TEST, 'transport_by = "magic"'),
    "negative warm-up": (TEST, "warm_up = -1"),
    "unknown RTI of a test": (TEST, 'rti = "tow"'),
    "unknown RTI of several in a test": (TEST, 'rti = ["one", "three-hundred"]'),
    "RTI twice in a test": (TEST, 'rti = ["one", "two", "one"]'),
    "bundling of a test in words": (TEST, 'bundling = ["on", "off"]'),
    "bundling twice": (TEST, "bundling = [true, true]"),
    "unknown loop": (TEST, "loop_version = 9"),
    "ticks the wrong way round": (TEST, "tick_min_s = 0.5"),
    "short longest tick": (TEST, "tick_max_s = 0.0001"),
    "a pair of ticks the wrong way round": (TEST, "tick_min_s = [0.001, 1.0]\ntick_max_s = 0.1"),
    "a wait that lasts as long as a death": (TEST, "tick_max_s = 4.0"),
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
    "more pairs than there are": (TEST, "pairs = [1, 2]"),
    "one federate": ('[[sequence.federate]]\nname = "b"\n', ""),
    "idle federate": ("[[sequence.pair]]", '[[sequence.federate]]\nname = "c"\n[[sequence.pair]]'),
    "execution twice": ("[[sequence.execution]]\nname = \"e\"",
                        '[[sequence.execution]]\nname = "e"\ntest = [{kind = "RTOL"}]\n'
                        '[[sequence.execution]]\nname = "e"'),
    "RTI twice": ('name = "two"', 'name = "one"'),
    "unknown RTI": ('rti = "one"', 'rti = "tow"'),
    "unknown RTI of several": ('rti = "one"', 'rti = ["one", "three-hundred"]'),
    "RTI named twice": ('rti = "one"', 'rti = ["one", "two", "one"]'),
    "host nobody knows": ('name = "b"', 'name = "b"\nhost = "far"'),
    "one host of two": ('name = "b"', 'name = "b"\nhost = "c"\n[[host]]\nname = "c"'),
    "host twice": ("[[sequence]]",
                   '[[host]]\nname = "c"\n[[host]]\nname = "c"\nloss = 0.5\n[[sequence]]'),
    "host named like this one": ("[[sequence]]", '[[host]]\nname = "localhost"\n[[sequence]]'),
    "unknown kind of host": ("[[sequence]]", '[[host]]\nname = "c"\nkind = "pod"\n[[sequence]]'),
    "more loss than all": ("[[sequence]]", '[[host]]\nname = "c"\nloss = 2.0\n[[sequence]]'),
    "jitter over delay": ("[[sequence]]", '[[host]]\nname = "c"\njitter_ms = 1.0\n[[sequence]]'),
    "ssh host without an address": ("[[sequence]]",
                                    '[[host]]\nname = "c"\nkind = "ssh"\n[[sequence]]'),
    "link of an ssh host": ("[[sequence]]", '[[host]]\nname = "c"\nkind = "ssh"\n'
                            'address = "c.lan"\ndelay_ms = 1.0\n[[sequence]]'),
    "address of a namespace": ("[[sequence]]",
                               '[[host]]\nname = "c"\naddress = "c.lan"\n[[sequence]]'),
    "hosts of two kinds": ('name = "a"\n\n[[sequence.federate]]\nname = "b"',
                           'name = "a"\nhost = "c"\n[[sequence.federate]]\nname = "b"\n'
                           'host = "d"\n[[host]]\nname = "c"\n[[host]]\nname = "d"\n'
                           'kind = "ssh"\naddress = "d.lan"'),
    "service that is none": ("[[sequence]]", '[hosts]\nquiet = ["a b"]\n[[sequence]]'),
    "host in a sequence": ('master = "a"', 'master = "a"\nhost = "c"'),
    "unknown layout": (TEST, 'hosts = "two"'),
    "layout twice": ("[[sequence.pair]]", '[[sequence.layout]]\nname = "c"\n[[sequence.layout]]\n'
                     'name = "c"\n[[sequence.pair]]'),
    "layout of nobody": ("[[sequence.pair]]", '[[sequence.layout]]\nname = "c"\n'
                         'hosts = { z = "localhost" }\n[[sequence.pair]]'),
    "layout at unknown hosts": ("[[sequence.pair]]", '[[sequence.layout]]\nname = "c"\n'
                                'hosts = { a = "far" }\n[[sequence.pair]]'),
    "unknown path": (TEST, 'path = ["executive", "tunnel"]'),
    "switch that another RTI has": ('local_settings = "a"', 'adapter = "generic"\n[[sequence]]\n'
                                    'name = "r"\nfom = "f.xml"\nmaster = "a"\nrti = "one"\n'
                                    'federate = [{ name = "a" }, { name = "b" }]\n'
                                    'pair = [{ sender = "a", receiver = "b" }]\n'
                                    '[[sequence.execution]]\nname = "f"\n'
                                    '[[sequence.execution.test]]\nkind = "RTOL"\npreset = "wan"'),
    "service that is no switch": (TEST, 'mom = "off"'),
    "server without a sign": ('local_settings = "a"', 'server = ["rtinode"]'),
    "port out of range": ('local_settings = "a"', "server_port = 70000"),
    "classes of some pairs": (TEST, TEST + '\n[[sequence.pair]]\nsender = "b"\nreceiver = "a"\n'
                              'classes = [1]'),
    "class of two pairs": ('receiver = "b"', 'receiver = "b"\nclasses = [1]\n[[sequence.pair]]\n'
                           'sender = "b"\nreceiver = "a"\nclasses = [1]'),
    "class beyond the FOM's": ('receiver = "b"', 'receiver = "b"\nclasses = [17]'),
    "class of no FOM": ('receiver = "b"', 'receiver = "b"\nclasses = [33]'),
    "fewer classes than types": ('receiver = "b"\n\n[[sequence.execution]]\nname = "e"\n\n'
                                 '[[sequence.execution.test]]',
                                 'receiver = "b"\nclasses = [2]\n[[sequence.execution]]\n'
                                 'name = "e"\n[[sequence.execution.test]]\ntypes = 2'),
    "too many classes": (TEST, 'types = 9\n[[sequence.pair]]\nsender = "b"\nreceiver = "a"'),
    "too many classes by default": (TEST, TEST + "".join(
        f'\n[[sequence.federate]]\nname = "f{n}"\n[[sequence.pair]]\nsender = "a"\n'
        f'receiver = "f{n}"' for n in range(16))),
    "name with a slash": ('name = "e"', 'name = "../e"'),
    "name with a blank": ('name = "s"', 'name = "my run"'),
    "long name": ('name = "s"', f'name = "{"s" * 64}"'),
    "empty name": ('name = "s"', 'name = ""'),
    "3 million tests": (TEST, f"updates = {list(range(1, 1001))}\nsamples = {list(range(1, 376))}"),
    "a file that is not there": ("[[rti]]\nname = \"one\"",
                                 'include = ["none.toml"]\n[[rti]]\nname = "one"'),
    "a file that includes itself": ("[[rti]]\nname = \"one\"",
                                    'include = ["t.tsf.toml"]\n[[rti]]\nname = "one"'),
    "name of the folder above": ('name = "s"', 'name = ".."'),
    "name of a file of the run's own": ('name = "s"', 'name = "report.html"'),
    "federate named like a server": ('name = "b"', 'name = "rti-server"'),
    "executions that meet by a connection's word": (
        '[[sequence.execution]]\nname = "e"',
        '[[sequence.execution]]\nname = "e"\ntest = [{ kind = "RTOL", loop_version = [3, 4] }]\n'
        '[[sequence.execution]]\nname = "e.immediate"'),
    "sequences that meet by an RTI's name": (
        'name = "s"', 'name = "s"\nfom = "f.xml"\nmaster = "a"\nrti = ["one", "two"]\n'
        'federate = [{ name = "a" }, { name = "b" }]\npair = [{ sender = "a", receiver = "b" }]\n'
        'execution = [{ name = "e", test = [{ kind = "RTOL" }] }]\n[[sequence]]\nname = "s.one"'),
    "include of a number": ("[[rti]]\nname = \"one\"", "include = 5\n[[rti]]\nname = \"one\""),
    "number without end": (TEST, f"updates = {'1' * 5000}"),
    "hexadecimal number without end": (TEST, f"updates = 0x{'f' * 5000}"),
    "more updates than a federate counts": (TEST, f"updates = {1 << 41}"),
    "time-out of centuries": ('master = "a"', 'master = "a"\ndata_timeout_s = 1e10'),
    "NUL in a text": ('fom = "f.xml"', 'fom = "f\\u0000.xml"'),
    "NUL in a name": ('local_settings = "a"', 'env = { "A\\u0000" = "x" }'),
    "variable that is none": ('local_settings = "a"', 'env = { "A=B" = "x" }'),
    "settings that a plain adapter has no use for": ('local_settings = "a"',
                                                     'adapter = "tcp"\nlocal_settings = "a"'),
    "server that a plain adapter has no use for": ('local_settings = "a"', 'adapter = "shm"\n'
                                                   'server = ["x"]\nserver_ready = "ready"'),
    "header that does not end": ("[[sequence]]", "[[sequence"),
    "key twice": ('master = "a"', 'master = "a"\nmaster = "b"'),
    "no quotes": ('master = "a"', "master = a"),
}  # fmt: skip
