"""What the engines of all families share: one request's trouble is no other's."""

from __future__ import annotations

from engine.llm_engine import SequenceOutput
from engine.model_engine import ModelEngine
from engine.sequence import Sequence
from tests.engine.fakes import FakeRunner, expected_tokens, make_engine
from tests.engine.stepping import Output, Request


class Family(ModelEngine[Request, Output]):
    """Has no words for the second token of "odd", nor for the last of "late"."""

    def __init__(self) -> None:
        self.runner = FakeRunner()
        super().__init__(make_engine(self.runner), None)

    def prepare(self, request: Request) -> Sequence:
        return Sequence(request.request_id, request.prompt, request.count)

    def _output(self, output: SequenceOutput) -> Output:
        sequence, result, reason = output.sequence, output.result, output.finish_reason
        if result is None:
            return Output(sequence.request_id, reason, None, output.error)
        if (sequence.request_id, sequence.num_new_tokens) in (("odd", 2), ("late", 3)):
            raise ValueError("no words for it")
        return Output(sequence.request_id, reason, result.token, None)


def test_an_output_that_cannot_be_made_ends_its_request_alone() -> None:
    engine, found = Family(), {"good": [], "odd": [], "late": []}
    for name in found:
        engine.add_request(Request(name, [1, 2], 5 if name == "odd" else 3))
    while engine.has_unfinished():
        for output in engine.step():
            found[output.request_id].append(output)
    assert [output.token for output in found["good"]] == expected_tokens([1, 2], 3)
    for name, count in (("odd", 1), ("late", 2)):
        *before, last = found[name]
        assert [output.token for output in before] == expected_tokens([1, 2], count)
        assert (last.finish_reason, last.error) == ("error", "ValueError: no words for it")
    assert sorted(engine.runner.released) == ["good", "late", "odd"]
