"""What a file of generated speech says about itself, for programs to read: who made it, and that a model did.

The same words stand in every container that has a place for them, and in a header of HTTP answers, since raw
PCM has none. They never name the text, the voice or the client. The second value is IPTC's term for media
that a trained model made (https://cv.iptc.org/newscodes/digitalsourcetype/).
"""

from __future__ import annotations

import struct

from telemetry.build import VERSION

SOFTWARE = f"VoxFleet {VERSION}"
SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
TAGS = {"software": SOFTWARE, "DigitalSourceType": SOURCE_TYPE}
"""Names and values in ID3 tags (as TXXX) and Vorbis comments."""
MP4_TAGS = {"encoding_tool": SOFTWARE, "comment": SOURCE_TYPE}
"""MP4 knows no other names that fit."""
HEADER = "X-Audio-Provenance"
_HEADER_VALUE = f'software="{SOFTWARE}", digital-source-type="{SOURCE_TYPE}"'
_INFO = ((b"ISFT", SOFTWARE), (b"ICMT", SOURCE_TYPE))
"""Software and comment: a RIFF file's INFO list knows no other names that fit."""


def note_headers(noted: bool) -> dict[str, str]:
    """Headers of an HTTP answer that is generated audio."""
    return {HEADER: _HEADER_VALUE} if noted else {}


def info_chunk() -> bytes:
    """The note as a RIFF chunk, which stands in front of the samples."""
    content = b"INFO"
    for name, text in _INFO:
        value = text.encode() + b"\0"
        content += name + struct.pack("<I", len(value)) + value + b"\0" * (len(value) % 2)
    return b"LIST" + struct.pack("<I", len(content)) + content
