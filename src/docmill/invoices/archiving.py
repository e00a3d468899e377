"""A PDF made fit for PDF/A-3: what may not be in one is removed, what can't be mended is named."""

from collections.abc import Iterator
from typing import Any, Final

import pikepdf
from pikepdf import Dictionary, Name, Object, Pdf, Stream

PRINTED: Final = 4  # the flag of an annotation that is printed
HIDDEN: Final = 1 | 2 | 32  # invisible, hidden, no view
SAFE_ACTIONS: Final = frozenset({"/GoTo", "/URI", "/GoToR", "/Named"})
FONT_FILES: Final = (Name.FontFile, Name.FontFile2, Name.FontFile3)
FONTS: Final = frozenset({"/Type1", "/MMType1", "/TrueType", "/CIDFontType0", "/CIDFontType2"})
CMYK: Final = "/DeviceCMYK"
CMYK_OPERATORS: Final = frozenset({"k", "K"})
# What runs or leads out of the file; PDF/A has none of it.
ACTIVE: Final = (Name.OpenAction, Name.AA, Name.NeedsRendering, Name.Requirements, Name.Perms)
ACTIVE_NAMES: Final = (Name.JavaScript, Name.EmbeddedFiles, Name.AlternatePresentations)
OF_GRAPHICS: Final = (Name.TR, Name.TR2, Name.HTP)
OF_IMAGES: Final = (Name.Alternates, Name.OPI)


def prepare_archive(pdf: Pdf) -> list[str]:
    """Mends the document, and says what keeps it from being PDF/A all the same."""
    _remove_active(pdf)
    for page in pdf.pages:
        _mend_annotations(page.obj)
    for thing in pdf.objects:
        if isinstance(thing, Dictionary | Stream):
            _mend_object(thing)
    return [*dict.fromkeys(_find_obstacles(pdf))]


def _remove_active(pdf: Pdf) -> None:
    names: Any = pdf.Root.get(Name.Names, Dictionary())
    form: Any = pdf.Root.get(Name.AcroForm, Dictionary())
    holders = ((pdf.Root, ACTIVE), (names, ACTIVE_NAMES), (form, (Name.XFA, Name.NeedAppearances)))
    for holder, keys in holders:
        _remove_keys(holder, keys)
    for page in pdf.pages:
        _remove_keys(page.obj, (Name.AA, Name.AF))


def _remove_keys(holder: Any, keys: tuple[Name, ...]) -> None:
    for key in keys:
        if key in holder:
            del holder[key]


def _mend_annotations(page: Any) -> None:
    """Links are printed and lead to pages and addresses alone; attached files go."""
    if Name.Annots not in page:
        return
    kept = [one for one in page.Annots if one.get(Name.Subtype) != Name.FileAttachment]
    for one in kept:
        _remove_keys(one, (Name.AA,))
        if Name.A in one and str(one.A.get(Name.S)) not in SAFE_ACTIONS:
            del one[Name.A]
        one[Name.F] = (int(one.get(Name.F, 0)) | PRINTED) & ~HIDDEN
    page.Annots = pikepdf.Array(kept)


def _mend_object(thing: Any) -> None:
    if thing.get(Name.Type) == Name.ExtGState:
        _remove_keys(thing, OF_GRAPHICS)
    if thing.get(Name.Subtype) == Name.Image:
        _remove_keys(thing, OF_IMAGES)
        if Name.Interpolate in thing:
            thing[Name.Interpolate] = False
    if Name.CIDSet in thing:
        del thing[Name.CIDSet]


def _find_obstacles(pdf: Pdf) -> Iterator[str]:
    for thing in pdf.objects:
        if isinstance(thing, Dictionary | Stream):
            yield from _judge_object(thing)
    for page in pdf.pages:
        if _paints_cmyk(page.obj):
            yield "colours that are CMYK"
        for one in page.obj.get(Name.Annots, ()):
            if _lacks_appearance(one):
                yield "fields or notes that only a viewer draws"


def _judge_object(thing: Any) -> Iterator[str]:
    kind = str(thing.get(Name.Subtype, ""))
    if thing.get(Name.Type) == Name.Font and kind in FONTS and not _is_embedded(thing):
        yield "fonts that are not embedded"
    if CMYK in str(thing.get(Name.ColorSpace, "")):
        yield "colours that are CMYK"
    if isinstance(thing, Stream) and "/JPXDecode" in str(thing.get(Name.Filter, "")):
        yield "pictures in JPEG 2000"
    if kind == "/PS" or thing.get(Name.Subtype2) == Name.PS:
        yield "PostScript"


def _is_embedded(font: Any) -> bool:
    descriptor = font.get(Name.FontDescriptor)
    return descriptor is not None and any(key in descriptor for key in FONT_FILES)


def _lacks_appearance(annotation: Any) -> bool:
    drawn = Name.AP in annotation and set(annotation.AP.keys()) == {"/N"}
    return str(annotation.get(Name.Subtype)) not in {"/Link", "/Popup"} and not drawn


def _paints_cmyk(page: Object) -> bool:
    """Whether the page's own content sets a colour of CMYK."""
    for step in pikepdf.parse_content_stream(page):
        if str(step.operator) in CMYK_OPERATORS or any(str(one) == CMYK for one in step.operands):
            return True
    return False
