"""Reads a file that somebody sent. A program of its own: it looks at what nobody has checked.

    python -I gateway/confined/program gateway/voices/recordings/decoder 10 60 <upload >result

The first argument is the folder of a module `reader`, the second how many seconds of processor time it may
take, the others are the reader's. It has two functions: `rehearse()` uses once what reading will use, and
`read(file, *arguments)` gives facts and bytes. Standard output is the facts as one line of JSON, then the
bytes; or `{"refused": CODE}`, with what was `found` where that is known. The rehearsal comes
before anything is read; then the process gives up all that it does not need any more (`sandbox.py`), and only
then it looks at its input.
"""

from __future__ import annotations

import json
import sys

import sandbox
from refusal import Refusal

_UNREADABLE = {"refused": "unreadable"}


def main(folder: str, processor_seconds: str, *arguments: str) -> int:
    """Read standard input, tell standard output; the exit status."""
    upload = open(0, "rb")  # noqa: SIM115
    sys.path.insert(0, folder)
    import reader

    reader.rehearse()
    try:
        confine(int(processor_seconds))
    except OSError:
        return sandbox.NOT_CONFINED
    try:
        facts, content = reader.read(upload, *arguments)
    except Refusal as refusal:
        facts, content = {"refused": refusal.code}, b""
        if refusal.found:
            facts["found"] = refusal.found
    except Exception:  # whatever a damaged file leads to
        facts, content = _UNREADABLE, b""
    output = sys.stdout.buffer
    output.write(json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    output.write(content)
    output.flush()
    return 0


def confine(processor_seconds: int) -> None:
    """Give up what a reader does not need. Raises OSError where that should have worked and did not."""
    sandbox.close_descriptors()
    sandbox.set_limits(processor_seconds)
    if sandbox.unsupported() is None:
        sandbox.enter()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
