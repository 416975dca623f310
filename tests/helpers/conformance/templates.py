"""Templates: the text that the model sees, once, and roles as clients write them."""

from __future__ import annotations

from conformance.target import ANSWER, QUESTION, Target, case


@case("templates", "vllm 2012, PR 16976, 27486, llama-cpp-python 1501, Soup 890")
def the_template_begins_once(target: Target) -> None:
    """The prompt has exactly the tokens of the template's text: no token for the beginning is added to it."""
    text = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    usage = target.chat(messages=messages, max_tokens=1).raw["usage"]
    assert usage["prompt_tokens"] == len(target.tokenize(text))


@case("templates", "mlx-vlm PR 2112, optillm PR 317, vllm PR 4182")
def the_models_own_end_is_an_end(target: Target) -> None:
    """A chat ends with the model's end token and reason stop, unless that is to be ignored."""
    assert target.chat(max_tokens=30).reason == "stop"
    answer = target.chat(max_tokens=10, ignore_eos=True)
    assert (answer.reason, answer.num_tokens) == ("length", 10)


@case("templates", "openai-python: content parts")
def content_may_come_in_parts(target: Target) -> None:
    """A list of text parts is one text; an image is refused, not dropped."""
    parts = [{"type": "text", "text": "What is the capital"}, {"type": "text", "text": " of France?"}]
    assert target.chat(messages=[{"role": "user", "content": parts}]).text == ANSWER
    image = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    assert target.chat_reply(messages=[{"role": "user", "content": image}]).status == 400


@case("templates", "openai-python: roles")
def a_developer_is_a_system(target: Target) -> None:
    """The newer name of the role gives the same prompt."""
    replies = [
        target.chat(messages=[{"role": role, "content": "Be brief."}, *QUESTION]).text
        for role in ("system", "developer")
    ]
    assert replies[0] == replies[1]


@case("templates", "CVE-2024-34359, CVE-2026-5760")
def a_template_from_a_client_is_refused(target: Target) -> None:
    """A template is code; a request does not bring its own."""
    reply = target.chat_reply(chat_template="{{ ''.__class__.__mro__ }}")
    assert (reply.status, reply.error["param"]) == (400, "chat_template")
    content = "{{ 7 * 7 }} {% for x in range(10**9) %}{% endfor %}"
    assert target.chat(messages=[{"role": "user", "content": content}], max_tokens=1).num_tokens == 1
