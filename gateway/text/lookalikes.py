"""Which letters of other scripts look like Latin ones (UTS 39), and what a name in them passes for."""

from __future__ import annotations

import unicodedata

_LATIN = {
    "ЅІЈАВЕКМНОРСТУХагеорсухѕіјѡѴѵҮүһҽӀӏԁԌԛԜԝꙇ": "SIJABEKMHOPCTYXareopcyxsijwVvYyheIidGqWwi",
    "ͿΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορσυϜϳϺ": "JABEZHIKMNOPTYXaivopouFjM",
    "ՍՏՕագզհոռսցքօ": "USOwqqhnnugfo",
    "ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏳᏴꭵꮁꮃꮓꮩꮪꮯ": "DRTiYAJEWMHYGhZbRWSVSLCPKdGBirwzvsc",
    "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ": "BPdDTGKJCZFMNLSRVHWXYAEIOU",
    "ⲅⲎⲒⲔⲘⲚⲞⲟⲢⲣⲤⲥⲦⲨⲬⳐ": "rHIKMNOoPpCcTYXL",
}
"""Of Cyrillic, Greek, Armenian, Cherokee, Lisu and Coptic."""
_AS_LATIN = str.maketrans({other: latin for row in _LATIN.items() for other, latin in zip(*row, strict=True)})


def in_latin(name: str) -> str:
    """One for a name and those that only look like it, being written in the letters of another script."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).translate(_AS_LATIN))
