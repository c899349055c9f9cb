"""What may be asked of text models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

MOST_ANSWER_CHOICES = 128
MOST_CHAT_MESSAGES = 10_000


class AnswerSettings(BaseModel):
    """What may be asked of text models."""

    max_answer_tokens: Annotated[int, Field(gt=0, le=1 << 20)] = 32_768
    """The most tokens of an answer, also where a request says nothing; the model's own limit may be lower."""
    max_answer_choices: Annotated[int, Field(gt=0, le=MOST_ANSWER_CHOICES)] = 8
    """Answers of one request (`n`, and several prompts), each of which takes a slot."""
    max_prompt_characters: Annotated[int, Field(gt=0, le=2_000_000)] = 400_000
    """The most characters of all that goes into one answer."""
    max_chat_messages: Annotated[int, Field(gt=0, le=MOST_CHAT_MESSAGES)] = 1000
    """The most messages of a conversation."""
