"""Files of adapters that cannot be read are told of in the one error shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.adapters.files import AdapterFiles
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles

DIGEST = "a" * 64


@pytest.mark.parametrize("there", [False, True], ids=["gone", "a folder"])
async def test_a_file_that_cannot_be_read(there: bool, tmp_path: Path) -> None:
    store = ContentFiles(tmp_path, ".adapter")
    if there:
        store.path(DIGEST).mkdir()
    with pytest.raises(ApiError) as refused:
        await AdapterFiles(store).read(DIGEST)
    assert (refused.value.status_code, refused.value.code) == (503, "adapters_unavailable")
