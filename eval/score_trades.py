"""Reads the shared broker documents and scores them, all or every second broker.

python -m eval.score_trades [FOLDER] [--out DIR] [--half dev|held] [--errors]
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.trades.reader.pipeline import pipeline

CORPUS: Final = Path(__file__).parents[2] / "shared" / "corpus"
COMPARED: Final = ("isin", "direction", "trade_date", "quantity", "currency", "notional")
STEPS: Final = (0.0, 0.5, 0.7, 0.8, 0.9)


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """One file through the pipeline: its digest and what came out."""
    data = path.read_bytes()
    source = Source(io.BytesIO(data), path.name, PDF)
    try:
        found = dict(pipeline.run(source, Tools(progress=lambda _percent, _stage: None)).data)
    except DocmillError as exc:
        found = {"error": {"code": exc.fault.code}}
    return hashlib.sha256(data).hexdigest(), found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=CORPUS / "trades")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "docmill-trades")
    parser.add_argument("--half", choices=("all", "dev", "held"), default="all")
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args(arguments)
    records = half(json.loads((asked.folder / "truth.json").read_text()), asked.half)
    with multiprocessing.Pool(2) as pool:
        results = pool.map(read, [asked.folder / record["file"] for record in records])
    code = scored(records, dict(results), asked.out, errors=asked.errors)
    print_reliability(records, dict(results))
    return code


def half(records: list[dict[str, Any]], which: str) -> list[dict[str, Any]]:
    """Half of the brokers, chosen by the digest of their name, so that the others stay unseen."""
    kept = {"all": {False, True}, "dev": {False}, "held": {True}}[which]
    return [record for record in records if is_held(record["file"]) in kept]


def is_held(file: str) -> bool:
    """Whether the broker of a file is one of those that nobody tunes on."""
    return bool(int(hashlib.sha256(file.partition("_")[0].encode()).hexdigest(), 16) % 2)


def scored(
    records: Sequence[dict[str, Any]],
    results: dict[str, dict[str, Any]],
    out: Path,
    *,
    least: float = 0.0,
    errors: bool = False,
) -> int:
    """The scorer's exit code: 0 when the score reaches `least`."""
    out.mkdir(parents=True, exist_ok=True)
    for digest, found in results.items():
        (out / f"{digest}.json").write_text(json.dumps(found, ensure_ascii=False))
    truth = out / "truth.json"
    truth.write_text(json.dumps(records))
    scorer = [sys.executable, CORPUS / "score_trades.py", truth, out, "--min", str(least)]
    done = subprocess.run([*scorer, *(["--errors"] if errors else [])], check=False)
    if errors:
        _other_errors(records, results)
    return done.returncode


def _other_errors(records: Iterable[dict[str, Any]], results: dict[str, dict[str, Any]]) -> None:
    """What the scorer counts and does not name: documents of several trades, and of none."""
    for record in records:
        found = results[record["sha256"]].get("trades", [])
        if record["kind"] == "none" and found:
            print(f"{record['file']}: {len(found)} trades where there is none")
        if record["kind"] == "multi":
            want = [_key(trade) for trade in record["trades"]]
            got = [_key(trade) for trade in found]
            missed = [key for key in want if key not in got]
            extra = [key for key in got if key not in want]
            if missed or extra:
                print(
                    f"{record['file']}: {len(want)} wanted, missed {missed[:4]}, extra {extra[:4]}"
                )


def _key(trade: dict[str, Any]) -> tuple[str, str, float]:
    return (
        str(trade.get("direction")),
        str(trade.get("trade_date"))[:10],
        abs(float(trade.get("quantity") or 0)),
    )


def judged(
    records: Iterable[dict[str, Any]], results: dict[str, dict[str, Any]]
) -> Iterator[tuple[float, bool]]:
    """Each trade of documents with one: its confidence, and whether all its values are right."""
    for record in records:
        found = results[record["sha256"]].get("trades", [])
        if record["kind"] == "single" and len(found) == 1:
            truth = record["trades"][0]
            yield found[0]["confidence_score"], all(map(_right, COMPARED, [truth] * 6, found * 6))


def mean_right(records: Sequence[dict[str, Any]], results: dict[str, dict[str, Any]]) -> float:
    """The mean over documents of what is right in each; needs nothing but this module."""
    shares = [_share(record, results[record["sha256"]].get("trades", [])) for record in records]
    return sum(shares) / len(shares)


def _share(record: dict[str, Any], found: list[dict[str, Any]]) -> float:
    """One trade: its right values; several: F1 of their keys; none: whether none was found."""
    if record["kind"] == "none":
        return float(not found)
    if record["kind"] == "single":
        truth = record["trades"][0]
        rights = [len(found) == 1 and _right(name, truth, found[0]) for name in COMPARED]
        return sum(rights) / len(rights)
    wanted, got = [_key(trade) for trade in record["trades"]], [_key(trade) for trade in found]
    common = sum((Counter(wanted) & Counter(got)).values())
    return 2 * common / (len(wanted) + len(got))


def _right(name: str, truth: dict[str, Any], trade: dict[str, Any]) -> bool:
    want, got = truth.get(name), trade.get(name)
    if want is None:
        return True
    if name == "notional":
        wants = [truth.get("notional"), truth.get("settlement_amount")]
        return any(_near(one, got) for one in wants if one is not None)
    return _near(want, got) if name == "quantity" else str(want).lower() == str(got).lower()


def _near(one: Any, other: Any) -> bool:
    return other is not None and abs(abs(float(one)) - abs(float(other))) <= 0.011


def print_reliability(
    records: Sequence[dict[str, Any]], results: dict[str, dict[str, Any]]
) -> None:
    """Confidence against truth: how many trades of each step are right in every value."""
    values = list(judged(records, results))
    print("confidence   trades  all right")
    for low, high in zip(STEPS, (*STEPS[1:], 1.01), strict=True):
        inside = [right for sure, right in values if low <= sure < high]
        if inside:
            print(f"{low:4.2f} and up {len(inside):7} {100 * sum(inside) / len(inside):6.1f} %")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
