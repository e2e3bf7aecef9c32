"""What a message may hold: which kinds of content, of which media types, and how much of each.

Judged before anything is written, part by part; the first that is refused is named. What the agent takes is
its profile's to say; how much of it, is said here.
"""

from collections.abc import Sequence

from a2a_serverless.operations.contents import content_of, media_type_of
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.errors import (
    ContentTypeNotSupportedError,
    FieldViolation,
    InvalidParamsError,
)
from a2a_serverless.protocol.files import OutsideError, named_file
from a2a_serverless.protocol.limits import MAX_RAW_BYTES, MAX_TEXT_BYTES
from a2a_serverless.protocol.objects import Part
from a2a_serverless.tasks.content import ContentKind

TEXTUAL = frozenset(
    {
        "application/json",
        "application/toml",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
    }
)
"""Media types of text that are not called so; `+json`, `+yaml` and `+xml` are text as well."""

TEXTUAL_SUFFIXES = ("+json", "+yaml", "+xml")


def check_parts(policy: Policy, parts: Sequence[Part]) -> None:
    """Refuse a message with a part that cannot be taken.

    Raises:
        ContentTypeNotSupportedError: a part is of a media type that the agent does not take.
        InvalidParamsError: a part is too large, no valid text, or the address of something that is no file
        of the conversation; or the message says nothing at all.
    """
    for index, part in enumerate(parts):
        at = f"message.parts[{index}]"
        found = content_of(part)
        media_type = media_type_of(part, found[0]) if found else part.media_type
        if media_type is not None:
            check_type(policy.input_modes, media_type, f"{at}.mediaType")
        if found is None:
            _check_address(policy, part.url or "", f"{at}.url")
        else:
            _check_content(found[0], found[1], media_type or "", at)
    if all(part.text is not None and not part.text.strip() for part in parts):
        raise refusal("message.parts", "A2A message is empty.", "must say something")


def check_type(modes: tuple[str, ...], media_type: str, field: str) -> None:
    """Raises ContentTypeNotSupportedError for a media type that is not among the modes."""
    if not accepts(modes, media_type):
        raise ContentTypeNotSupportedError(
            f"The agent takes {', '.join(modes)}.", metadata={"field": field, "mediaType": media_type[:128]}
        )


def accepts(modes: tuple[str, ...], media_type: str) -> bool:
    """Whether a media type is among the modes; parameters and case do not count, `type/*` and `*/*` match."""
    if not modes:
        return True
    plain = _plain(media_type)
    return any(mode in ("*/*", plain, f"{plain.partition('/')[0]}/*") for mode in map(_plain, modes))


def is_text(media_type: str) -> bool:
    """Whether content of the media type is text."""
    plain = _plain(media_type)
    return plain.startswith("text/") or plain in TEXTUAL or plain.endswith(TEXTUAL_SUFFIXES)


def refusal(field: str, text: str, description: str) -> InvalidParamsError:
    """The refusal of one field, with a text of its own."""
    return InvalidParamsError(text, violations=[FieldViolation(field, description)])


def _plain(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _check_content(kind: ContentKind, content: bytes, media_type: str, at: str) -> None:
    """Judge content of a kind, as bytes, of a media type that the agent takes."""
    textual = kind is not ContentKind.RAW or is_text(media_type)
    if kind is ContentKind.DATA and not _is_json(media_type):
        raise ContentTypeNotSupportedError(
            "A2A data parts must use application/json media type.",
            metadata={"field": f"{at}.mediaType", "mediaType": media_type[:128]},
        )
    most = MAX_TEXT_BYTES if textual else MAX_RAW_BYTES
    field = f"{at}.{kind.value}"
    if len(content) > most:
        text = f"A2A {kind.value} part content is too large."
        raise refusal(field, text, f"has {len(content)} bytes, {most} are the most")
    if kind is ContentKind.RAW and textual and not _is_utf8(content):
        text = "A2A raw parts must contain valid UTF-8."
        raise refusal(field, text, "must be UTF-8, being of a type of text")


def _is_json(media_type: str) -> bool:
    plain = _plain(media_type)
    return plain == "application/json" or plain.endswith("+json")


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_address(policy: Policy, url: str, field: str) -> None:
    if not policy.files.uploads:
        raise refusal(field, "A2A file URL parts are not taken.", "must not be given: files are not taken")
    try:
        named_file(url)
    except LookupError:
        raise refusal(
            field,
            "A2A file URL parts must use local file:// URLs.",
            "must be file:///<name>, a file of the context; no other address is looked at",
        ) from None
    except OutsideError:
        raise refusal(
            field, "A2A file URL part is outside the allowed workspace.", "must not lead out of the context"
        ) from None
    except ValueError:
        raise no_such_file(field) from None


def no_such_file(field: str) -> InvalidParamsError:
    """The refusal of a part that names a file which is not there."""
    return refusal(field, "A2A file URL parts must reference an existing file.", "is no file of the context")
