"""Writes conversations and what transformers' apply_chat_template() makes of them, for tests/text/chat.cpp.

    python3 tools/chat_cases/make.py tests/golden/chat [--conversations N] [--seed N]

Needs transformers (4.46.3) and jinja2. Templates are those of the folder, NAME.jinja, written after those that published
models have. Of each the folder gets NAME.cases.json: the special tokens, and cases of messages, tools, variables and
add_generation_prompt with the text, or null where the template refuses.
"""
import argparse
import json
import pathlib
import random

from transformers import PreTrainedTokenizerFast
from tokenizers import Tokenizer, models

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
WORDS = ["Hello", "what", "is", "a", "tensor", "wörld", "日本語", "🙂", "\n", "\n\n", "  ", "\t", "{{ x }}", "{% if %}", "<|im_end|>",
         "\"quoted\"", "it's", "\\n", "</think>", "3.14", "ÄÖÜß", "&<>", "\u00a0", "end."]
TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": " the weather of a place — now \n",
        "parameters": {"type": "object", "properties": {
            "place": {"type": "string", "description": "City, e.g. \"Köln\""},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, "required": ["place"]}}},
    {"type": "function", "function": {
        "name": "add", "description": "ADDS numbers", "parameters": {"type": "object", "properties": {
            "numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1}, "scale": {"default": 1.5}}, "required": []}}},
]


def text(r):
    return "".join(r.choice(WORDS) + r.choice(["", " ", " "]) for _ in range(r.randint(0, 8)))


def conversation(r, with_tools):
    messages = []
    if r.random() < 0.35:
        messages.append({"role": "system", "content": text(r)})
    orderly = r.random() < 0.8
    for i in range(r.randint(0 if messages else 1, 6)):
        role = ("user", "assistant")[i % 2] if orderly else r.choice(["user", "assistant", "system", "tool"])
        m = {"role": role, "content": text(r)}
        if with_tools and role == "assistant" and r.random() < 0.5:
            calls = [{"id": "abcdefgh" + str(k), "type": "function", "function": {"name": "add", "arguments": {
                "numbers": [r.randint(-9, 9), r.random(), 1e20, 1.0], "s": text(r), "none": None, "yes": True}}} for k in range(r.randint(1, 2))]
            m = {"role": "assistant", "content": r.choice(["", text(r)]), "tool_calls": calls}
            messages.append(m)
            for c in calls:
                messages.append({"role": "tool", "tool_call_id": c["id"], "name": "add", "content": text(r)})
            continue
        messages.append(m)
    return messages


def main():
    a = argparse.ArgumentParser()
    a.add_argument("folder", type=pathlib.Path)
    a.add_argument("--conversations", type=int, default=30)
    a.add_argument("--seed", type=int, default=1)
    a = a.parse_args()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({t: i for i, t in enumerate(TOKENS.values())})), **TOKENS)
    for path in sorted(a.folder.glob("*.jinja")):
        r = random.Random(a.seed)
        source, cases = path.read_text(), []
        for i in range(a.conversations):
            tools = r.sample(TOOLS, r.randint(1, 2)) if i % 3 == 0 else None
            case = {"messages": conversation(r, i % 3 == 0 or r.random() < 0.2), "tools": tools, "variables": {}, "add_generation_prompt": r.random() < 0.5}
            if i % 4 == 0:
                case["variables"] = {"date_string": "1 Jan 2025", "tools_in_user_message": False}
            try:
                case["text"] = tokenizer.apply_chat_template(case["messages"], tools=tools, chat_template=source, tokenize=False,
                                                             add_generation_prompt=case["add_generation_prompt"], **case["variables"])
            except Exception as e:  # the template refuses, or does what can't be
                case["text"], case["error"] = None, f"{type(e).__name__}: {e}"
            cases.append(case)
        (a.folder / (path.stem + ".cases.json")).write_text(json.dumps({"special_tokens": TOKENS, "cases": cases}, ensure_ascii=False, indent=0) + "\n")
        print(path.stem, len(cases), "cases,", sum(c["text"] is None for c in cases), "refused")


main()
