"""fail_writes.py LIBRARY DIRECTORY ARGUMENTS...: runs bmmanager again and again in children of this
process, in each of which one later write below DIRECTORY/N fails; prints what came of each as JSON.
`{out}` in the arguments is DIRECTORY/N. Ends with the run in which nothing was left to fail.
"""

import contextlib
import ctypes
import json
import os
import sys
from pathlib import Path

import scipy.special  # noqa: F401 what the children need not load again

from starling_bench.studies import rtibm
from starling_bench.studies.rtibm import figures  # noqa: F401

library, directory = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2])
number = 0
while True:
    number += 1
    out = directory / str(number)
    told = directory / f"{number}.txt"
    mine, theirs = os.pipe()
    if (child := os.fork()) == 0:
        code = 99
        with told.open("w") as text, contextlib.suppress(BaseException):
            os.dup2(text.fileno(), 1)
            os.dup2(text.fileno(), 2)
            library.arm(str(out).encode(), number)
            try:
                rtibm.app([a.replace("{out}", str(out)) for a in sys.argv[3:]])
            except SystemExit as e:
                code = e.code
            except BaseException:
                import traceback

                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        os.write(theirs, json.dumps([code, library.counted()]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    code, count = json.loads(os.read(mine, 100))
    print(json.dumps({"at": number, "code": code, "count": count, "said": told.read_text()}))
    sys.stdout.flush()
    if count < number:
        break
