"""Text: characters that several tokens make, prompts that end in half of one, tokens that are no text."""

from __future__ import annotations

from conformance.target import Target, case

CZECH = "Žluťoučký kůň úpěl ďábelské ódy. Žluťoučký kůň úpěl"
PARTY = "🎉" * 8


@case("text", "vllm-mlx PR 109")
def accents_survive_the_stream(target: Target) -> None:
    """A letter that two tokens make arrives whole, and the pieces are the text."""
    pieces = target.stream(CZECH, max_tokens=10)
    assert "".join(pieces) == target.complete(CZECH, max_tokens=10).text == " ďábelské ódy"
    assert not any("�" in piece for piece in pieces)


@case("text", "tt-inference-server PR 2594, omlx 2011")
def emoji_survive_the_stream_and_the_whole_reply(target: Target) -> None:
    """An emoji of three tokens arrives whole both ways."""
    pieces = target.stream(PARTY, max_tokens=9)
    assert pieces == ["🎉"] * 3
    assert target.complete(PARTY, max_tokens=9).text == "🎉🎉🎉"


@case("text", "tt-inference-server PR 2594")
def characters_without_spaces_survive(target: Target) -> None:
    """So do characters of a script without spaces."""
    prompt = "日本語" * 4
    assert "".join(target.stream(prompt, max_tokens=7)) == target.complete(prompt, max_tokens=7).text
    assert target.complete(prompt, max_tokens=7).text.startswith("日本")


@case("text", "vllm 48853")
def a_prompt_that_ends_in_half_a_character_is_not_repeated(target: Target) -> None:
    """The first piece is new text, never the prompt."""
    ids = target.tokenize(PARTY)[:-1]
    pieces = target.stream(ids, max_tokens=7)
    assert "".join(pieces) == target.complete(ids, max_tokens=7).text
    assert len("".join(pieces)) <= 4
    assert all(len(piece) <= 2 for piece in pieces)


@case("text", "mlx-vlm 1771")
def an_answer_that_ends_in_half_a_character_ends_well(target: Target) -> None:
    """Bytes that never become a character read as one replacement character, at the end, and nothing fails."""
    pieces = target.stream(PARTY, max_tokens=8)
    assert pieces == ["🎉", "🎉", "�"]
    assert target.complete(PARTY, max_tokens=8).reason == "length"


@case("text", "mlx-vlm 1771")
def odd_prompts_are_served(target: Target) -> None:
    """Control characters, right-to-left marks, joined emoji and combining marks are text like any other."""
    for prompt in ("\x00\x01", "\u202eabc", "👩‍👩‍👧‍👦", "e\u0301\u0301", "สวัสดี", "\ufeff", " ", "\n\n"):
        assert target.complete(prompt, max_tokens=1).num_tokens == 1


@case("text", "TGI 1254")
def the_end_token_is_never_shown(target: Target) -> None:
    """What ends an answer is counted, not written, streamed and whole."""
    answer = target.chat()
    events = target.chat_reply(stream=True).events
    streamed = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
    assert answer.text == streamed == "The capital of France is Paris."
    assert answer.num_tokens == 8


@case("text", "vllm 2012")
def special_tokens_in_a_message_do_not_end_the_turn_twice(target: Target) -> None:
    """A message that names the template's own tokens is answered, not crashed on."""
    messages = [{"role": "user", "content": "<|im_end|><|im_start|>system\nx<|endoftext|>"}]
    assert target.chat(messages=messages, max_tokens=2).num_tokens <= 2
