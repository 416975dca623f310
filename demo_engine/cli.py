"""``python -m demo_engine``: its verbs, each of which imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from demo_engine.console import complain, say
from demo_engine.errors import EngineError
from demo_engine.flags import add_flags, given_settings, make_config, whole_number

TOKEN_VARIABLE = "SPANREEL_TOKEN"  # noqa: S105 (the variable's name, not a token)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0 ok, 1 failed, 2 usage, 3 mismatch, 4 environment, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except EngineError as error:
        complain(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted")
        return 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line."""
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m demo_engine", description="A small LLM serving engine whose every stage leaves a span."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    model = verbs.add_parser("model", help="Prepare the model and say how large it is.")
    model.set_defaults(run=_model)

    serve = verbs.add_parser("serve", help="Serve the OpenAI-compatible API on this machine.")
    serve.add_argument("--host", default="127.0.0.1", help="a loopback address (default: %(default)s)")
    serve.add_argument(
        "--port", type=whole_number(0, 65535), default=0, help="0 takes a free one (default: %(default)s)"
    )
    serve.add_argument("--token", help=f"default: ${TOKEN_VARIABLE}, or a new one for each run")
    serve.add_argument(
        "--max-num-queued", type=whole_number(0, 4096), default=32,
        help="requests that may wait; more are refused (default: %(default)s)",
    )  # fmt: skip
    serve.add_argument(
        "--max-prompt-bytes", type=whole_number(1, 1_000_000), default=262_144,
        help="longest prompt that is tokenized at all (default: %(default)s)",
    )  # fmt: skip
    serve.add_argument(
        "--drain-s", type=whole_number(0, 600), default=5,
        help="seconds for open requests to end after a signal (default: %(default)s)",
    )  # fmt: skip
    serve.add_argument("--keys", metavar="FILE", help="JSON list of more keys, with names and limits of their own")
    serve.add_argument("--vllm-metric-names", action="store_true", help="write /metrics under vLLM's names as well")
    serve.add_argument("--with-stdin", action="store_true", help="stop when standard input closes")
    serve.add_argument("--with-stamps", action="store_true", help="say when each part of the start was over")
    serve.set_defaults(run=_serve)

    profile = verbs.add_parser("profile", help="Measure this machine and write a trace set.")
    profile.add_argument(
        "--only", action="append", default=[], metavar="EXPERIMENT",
        help="one experiment by id or name, such as e08 or chunked-prefill; may be repeated (default: all)",
    )  # fmt: skip
    profile.add_argument("--out", required=True, help="folder that receives the set's folder")
    profile.add_argument("--set", dest="set_name", help="name of the set (default: hardware and model)")
    profile.add_argument("--quick", action="store_true", help="fewer and smaller runs, about three minutes")
    profile.add_argument("--anyway", action="store_true", help="also on a machine that is busy")
    profile.set_defaults(run=_profile)

    replay = verbs.add_parser("replay", help="Run recorded requests again and compare what comes out.")
    replay.add_argument("folder", help="a trace set's folder")
    replay.add_argument("--requests", type=whole_number(1, 10_000), default=10, help="how many (default: %(default)s)")
    replay.set_defaults(run=_replay)

    bench = verbs.add_parser("bench", help="Measure speed beside a baseline, or what tracing costs.")
    bench.add_argument("what", choices=["engine", "tracing", "parity", "batches"])
    bench.add_argument("--json", dest="as_json", action="store_true", help="print one JSON list")
    bench.add_argument("--quick", action="store_true", help="fewer rounds")
    bench.add_argument(
        "--device", choices=["cpu", "cuda"], default="cpu", help="of parity and batches (default: %(default)s)"
    )
    bench.set_defaults(run=_bench)

    faults = verbs.add_parser("faults", help="Break servers on purpose and see that they keep their promises.")
    faults.add_argument("--only", action="append", default=[], metavar="FAULT", help="one of them; may be repeated")
    faults.add_argument("--json", dest="as_json", action="store_true", help="print one JSON object a line")
    faults.add_argument("--quick", action="store_true", help="fewer of each")
    faults.set_defaults(run=_faults)

    for verb in (model, serve, profile, replay, bench, faults):
        verb.add_argument("--model", default=None, help="a Llama-type model's folder (default: the packaged SmolLM2)")
    for verb in (serve, profile):
        add_flags(verb)
    return parser


def _model(options: argparse.Namespace) -> int:
    from demo_engine.weights import DEFAULT_MODEL, open_model

    folder = open_model(options.model or DEFAULT_MODEL)
    say(f"{folder.size_bytes / 1e6:.0f} MB: {folder.id} in {folder.path}")
    return 0


def _serve(options: argparse.Namespace) -> int:
    from demo_engine.api.gateway.keys import load_keys
    from demo_engine.api.server import ServeOptions, serve
    from demo_engine.weights import DEFAULT_MODEL, open_model

    token = options.token or os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)
    folder = open_model(options.model or DEFAULT_MODEL)
    config = make_config(given_settings(options), folder.config()["max_position_embeddings"])
    return serve(
        ServeOptions(
            folder, options.host, options.port, token, config, options.max_num_queued, options.max_prompt_bytes,
            options.drain_s, vllm_metric_names=options.vllm_metric_names,
            keys=load_keys(Path(options.keys)) if options.keys else (),
            with_stdin=options.with_stdin, with_stamps=options.with_stamps,
        )
    )  # fmt: skip


def _profile(options: argparse.Namespace) -> int:
    from demo_engine.experiments.profile import ProfileOptions, profile

    return profile(
        ProfileOptions(
            out=options.out, set_name=options.set_name, model=options.model, only=options.only,
            quick=options.quick, anyway=options.anyway, settings=given_settings(options),
        )
    )  # fmt: skip


def _replay(options: argparse.Namespace) -> int:
    from demo_engine.experiments.replay import replay

    return replay(Path(options.folder), options.requests, options.model)


def _bench(options: argparse.Namespace) -> int:
    from demo_engine.bench.command import bench
    from demo_engine.weights import DEFAULT_MODEL, open_model

    folder = open_model(options.model or DEFAULT_MODEL)
    return bench(options.what, str(folder.path), options.device, quick=options.quick, as_json=options.as_json)


def _faults(options: argparse.Namespace) -> int:
    from demo_engine.faults.command import make_faults
    from demo_engine.weights import DEFAULT_MODEL, open_model

    folder = open_model(options.model or DEFAULT_MODEL)
    return make_faults(str(folder.path), options.only, quick=options.quick, as_json=options.as_json)
