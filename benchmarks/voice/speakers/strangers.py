"""Speakers that the bundled voice never heard, with what each of them says.

Made here: the two natural teachers with throats and pitches outside of what training drew
(`models.voxcpm.training.speech.teachers.random_speaker`), and two voices of flite that were no part of it;
the voice before this one, from which its training went on, had heard those two. With `--sounds DIR` a person
as well: Allison Smith, whose announcements Debian packages (CC-BY-SA-3.0):

    apt-get download asterisk-core-sounds-en asterisk-core-sounds-en-g722
    for deb in asterisk-core-sounds-en*.deb; do dpkg -x $deb DIR; done
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from benchmarks.voice.speakers.readers import Recording, TeacherReader
from models.voxcpm.training.speech.teachers import Speaker

SPEAKERS = {
    "heart, short throat": Speaker("heart", formants=1.16, pitch=1.32),
    "heart, long throat": Speaker("heart", formants=0.8, pitch=0.52),
    "joe, short throat": Speaker("joe", formants=1.24, pitch=1.9),
    "joe, long throat": Speaker("joe", formants=0.86, pitch=0.76),
    "heart's throat, low": Speaker("heart", formants=0.97, pitch=0.6),
    "awb (flite)": Speaker("awb"),
    "kal16 (flite)": Speaker("kal16"),
}
PERSON = "a person (Allison)"
ANNOUNCEMENTS = (
    "demo-nogo",
    "queue-periodic-announce",
    "demo-thanks",
    "pbx-invalidpark",
    "conf-invalid",
    "agent-user",
    "queue-youarenext",
    "ss-noservice",
)
SHARE = Path("usr/share")


def strangers(teacher: TeacherReader, texts: list[str], sounds: Path | None) -> dict[str, list[Recording]]:
    """Name -> recordings; the first is the one to be imitated. `texts`: what those made here say."""
    found = {name: [teacher.record(text, speaker) for text in texts] for name, speaker in SPEAKERS.items()}
    return found | ({PERSON: announcements(sounds)[: len(texts)]} if sounds else {})


def announcements(root: Path) -> list[Recording]:
    """What the person says, of the unpacked packages under `root`. Raises FileNotFoundError, KeyError."""
    document = next((root / SHARE / "doc" / "asterisk-core-sounds-en").glob("core-sounds-en.txt*"))
    data = document.read_bytes()
    lines = (gzip.decompress(data) if document.suffix == ".gz" else data).decode("latin-1").splitlines()
    said = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(";"))
    folder = root / SHARE / "asterisk" / "sounds" / "en_US_f_Allison"
    return [
        Recording(" ".join(said[name].split()), *_decoded(folder / f"{name}.g722")) for name in ANNOUNCEMENTS
    ]


def _decoded(path: Path) -> tuple[np.ndarray, int]:
    import av

    with av.open(str(path), format="g722") as container:
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
        return np.concatenate(frames).astype(np.float32) / 32768, container.streams.audio[0].rate
