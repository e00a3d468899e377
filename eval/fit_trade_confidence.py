"""Fits how sure the values of trades are, as `eval.fit_confidence` does for invoices.

python -m eval.fit_trade_confidence [--write] [--errors] [--no-scans | --scans COUNT]
                                    [--kept FOLDER]

A trade is what is approved, so a trade is here what a document is there. Every figure printed is of
brokers that the fit has not seen (cross-validation by broker).
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from docmill.core.promise import UNLIKELY
from docmill.core.scoring import JudgedValue
from docmill.trades.confidence import KINDS, PROMISED, TradeDescriber
from docmill.trades.doubts import find_certain
from docmill.trades.scoring import judge_trades
from eval.calibrating import DocumentTruth, FitRow
from eval.fit_report import FitTask, parse_asked, run_fit
from eval.readings import CORPUS, Reading, read_set

WRITTEN: Final = Path(__file__).parents[1] / "src/docmill/trades/confidence.json"
FOLDERS: Final = ("trades", "trades_more")
SCANNED: Final = "trades_more"
MADE: Final = ("brokers", "papers", "sheets", "slips", "tickets")
WEIGHT_OF_MADE: Final = 0.15
UNSEEN: Final = "tickets"  # scored, and never fitted on: it has so many trades of few layouts
TUNED: Final = 0.6  # what a broker counts that the reader was made with
_TRADE: Final = re.compile(r"trades\[(\d+)\]\.(\w+)")


def read_all(kept_in: Path, *, scans: bool, most: int = 0) -> list[Reading]:
    """All that the fit looks at; `most` scans, where it is not nought."""
    names = [name for name in FOLDERS if (CORPUS / name).is_dir()]
    found = [
        reading for name in (*names, *MADE) for reading in read_set(name, "trades", kept_in=kept_in)
    ]
    if scans and SCANNED in names:
        found += read_set(SCANNED, "trades", scans=True, most=most, kept_in=kept_in)
    return found


def judge_each(reading: Reading) -> dict[int, list[JudgedValue]]:
    """The values that the truth judges, by the trade they belong to."""
    found: dict[int, list[JudgedValue]] = defaultdict(list)
    for each in judge_trades(reading.record, reading.data):
        if (match := _TRADE.fullmatch(each.path)) and each.value is not None:
            found[int(match[1])].append(each)
    return found


def list_rows(reading: Reading) -> Iterator[FitRow]:
    known = TradeDescriber.of(reading.data, [text for *_, text in reading.texts])
    weight = WEIGHT_OF_MADE if reading.set in MADE else 1.0 if reading.held else TUNED
    weight = 0.0 if reading.set == UNSEEN else weight
    for index, values in judge_each(reading).items():
        for each in values:
            name = each.field.partition(".")[2]
            yield FitRow(
                set=reading.label,
                group=f"trades/{reading.group}",  # a broker may be in several sets
                document=name_trade(reading, index),
                path=each.path,
                field=each.field,
                kind=KINDS[each.field],
                features=known.describe(index, name),
                right=each.right,
                weight=weight,
                held=reading.held,
                score=each.confidence,
                limit=known.find_limit(index, name),
            )


def judge_documents(readings: Sequence[Reading]) -> dict[str, DocumentTruth]:
    found: dict[str, DocumentTruth] = {}
    for reading in readings:
        known = TradeDescriber.of(reading.data, [text for *_, text in reading.texts])
        for index, values in judge_each(reading).items():
            wrong = sum(not each.right for each in values)
            clean = not find_certain(reading.data, index) and not has_guess(known, index)
            found[name_trade(reading, index)] = DocumentTruth(
                clean, wrong, len(values), reading.label, reading.held
            )
    return found


def has_guess(known: TradeDescriber, index: int) -> bool:
    """Whether a value is never sure enough for the rule, though the truth may not judge it: of a
    trade that the truth does not know it judges the direction alone."""
    trade = known.data["trades"][index]
    read = (name for name in PROMISED if trade.get(name) is not None)
    return any(known.find_limit(index, name) < UNLIKELY for name in read)


def name_trade(reading: Reading, index: int) -> str:
    return f"{reading.label}/{reading.record['file']}#{index}"


def main(arguments: Sequence[str]) -> int:
    asked = parse_asked(arguments, __doc__)
    readings = read_all(asked.kept, scans=not asked.no_scans, most=asked.scans)
    task = FitTask(
        rows=[row for reading in readings for row in list_rows(reading)],
        documents=judge_documents(readings),
        kinds=KINDS,
        folders=FOLDERS,
        written=WRITTEN,
        made_by="python -m eval.fit_trade_confidence --write",
    )
    run_fit(task, write=asked.write, errors=asked.errors)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
