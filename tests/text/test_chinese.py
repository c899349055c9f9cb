"""Chinese as people write it in news, notices and chats: each is read as its reader would say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

SLASHES = {
    "2月/3月见，3楼/4楼都有。": "二月、三月见，三楼、四楼都有。",
    "价格5元/10元/20元不等。": "价格五元、十元、二十元不等。",
    "5kg/10kg的": "五千克、十千克的",
    "100元/3个，2次/3天，2片/次": "一百元每三个，两次每三天，两片每次",
    "5元/kg，6.5万/㎡，0.5元/kWh，5万/月": "五元每千克，六点五万每平方米，零点五元每千瓦时，五万每月",
    "质保3年/10万公里": "质保三年或十万公里",
    "3/4杯": "四分之三杯",
}
NAMES_OF_FILES = {
    "文件在C:\\Users\\me\\文档\\报告.docx": "文件在C冒号反斜杠Users反斜杠me反斜杠文档反斜杠报告点docx",
}


def said(written: str) -> str:
    return bare(normalise(written, "zh").text)


@pytest.mark.parametrize("written", SLASHES)
def test_a_slash_parts_what_is_alike_and_else_says_how_much_of_what(written: str) -> None:
    assert said(written) == bare(SLASHES[written])


@pytest.mark.parametrize("written", NAMES_OF_FILES)
def test_files_are_named_sign_by_sign(written: str) -> None:
    assert said(written) == bare(NAMES_OF_FILES[written])
