"""A prompt, whichever device of a pool answers it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from engine.output_stream import Reader
from models.llm.engine import SEED_BITS, TextOutput, TextRequest, check_request
from models.llm.sampling_params import SamplingParams
from models.pool.request import PooledRequest


class PooledText(PooledRequest):
    """Holds the tokens so far, and one seed for all devices. Raises RequestError for what is no request."""

    def __init__(self, request: TextRequest) -> None:
        super().__init__(request.request_id)
        check_request(request)
        params = request.params
        if params.seed is None:
            params = replace(params, seed=secrets.randbits(SEED_BITS))
        self._request = replace(request, params=params)
        self._tokens: list[int] = []

    def fields(self) -> dict[str, Any]:
        asked = replace(self._request, resume_ids=[*self._request.resume_ids, *self._tokens])
        params = values_of(asked.params)
        params["logit_bias"] = list(asked.params.logit_bias.items())  # JSON has no numbers as keys
        return values_of(asked) | {"params": params, "salt": asked.salt.hex()}  # nor bytes

    def take(self, record: Mapping[str, Any]) -> list[Reader]:
        output = TextOutput(**record)
        output.top = tuple((token, logprob) for token, logprob in output.top)
        if output.token is not None:
            self._tokens.append(output.token)
        return self.stream.put(output)


def request_of(told: dict[str, Any]) -> TextRequest:
    """The request whose `PooledText.fields` these were."""
    params = told["params"]
    params["logit_bias"] = dict(params["logit_bias"])
    salt = bytes.fromhex(told["salt"])
    return TextRequest(**told | {"params": SamplingParams(**params), "salt": salt})


def values_of(record: TextRequest | TextOutput | SamplingParams) -> dict[str, Any]:
    """Its fields by name."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
