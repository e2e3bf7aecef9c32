"""Files of a conversation that its caller uploads and names: the address to upload to, and what a name means.

A name means what was uploaded last under it, or else the file that the agent keeps under it. Which one is
settled when the message is admitted: what was uploaded is then copied for the message's task, so that no
later upload changes what was said, and nothing of it goes away before the task does.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from a2a_serverless.operations.contexts import last_state
from a2a_serverless.operations.inputs import check_type, no_such_file, refusal
from a2a_serverless.operations.remembered import outlives, remembered
from a2a_serverless.ports import Caller, ContextKey, Ports
from a2a_serverless.ports.uploads import FileToCome, GoneError, Uploaded
from a2a_serverless.protocol.errors import InvalidParamsError, UnsupportedOperationError
from a2a_serverless.protocol.files import (
    CreateFileRequest,
    CreateFileResponse,
    FileUpload,
    file_url,
    named_file,
)
from a2a_serverless.protocol.objects import Part
from a2a_serverless.tasks.content import (
    ContentKind,
    ContentPointer,
    KeptFile,
    LoggedPart,
    NamedFile,
    logged,
)
from a2a_serverless.tasks.log import TaskKey

AT_ONCE = 8
"""Files of a message that are looked for at a time."""

ATTEMPTS = 3
"""Times a file is looked at again that was replaced between two looks."""

T = TypeVar("T")
U = TypeVar("U")


def create_file(ports: Ports, caller: Caller, request: CreateFileRequest) -> CreateFileResponse:
    """Offer an address to upload a file of a context to, and the part that names it in messages.

    The context need not exist yet. Nothing is written: a file is there when it was uploaded.

    Raises:
        UnsupportedOperationError: this deployment takes no files.
        ContentTypeNotSupportedError: the agent does not take the media type.
        InvalidParamsError: the file is too large.
    """
    policy = ports.policy.files
    if not policy.uploads:
        raise UnsupportedOperationError("This deployment takes no files.")
    check_type(ports.policy.input_modes, request.media_type, "mediaType")
    if request.byte_size > policy.upload_bytes:
        raise refusal("byteSize", "A2A file is too large.", f"must be at most {policy.upload_bytes}")
    to_come = FileToCome(request.media_type, request.byte_size, request.sha256)
    place = upload_key(caller.context(request.context_id), request.name)
    offer = ports.uploads.offer(place, to_come, policy.upload_time)
    ports.metrics.count("UploadOffered")
    return CreateFileResponse(
        part=Part(
            url=file_url(request.name),
            filename=request.name.rpartition("/")[2],
            media_type=request.media_type,
        ),
        upload=FileUpload(
            method=offer.method,
            url=offer.url,
            headers=dict(offer.headers),
            expires_at=ports.clock.now() + policy.upload_time,
        ),
    )


def upload_key(context: ContextKey, name: str) -> str:
    """Where what is uploaded under a name lies: below its digest, as names may hold what a bucket minds."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"uploads/{context.tenant}/{context.owner}/{context.context_id}/{digest}"


def names_files(parts: Sequence[Part]) -> bool:
    """Whether any part of a client's message names a file."""
    return any(part.url is not None for part in parts)


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where copies for one message go: a place in its task, and how long they must stay there."""

    context: ContextKey
    place: str
    writer: str
    expires: int
    moment: datetime


def resolved(ports: Ports, keeping: Keeping, parts: Sequence[Part]) -> Sequence[Part]:
    """The parts, with what they name in place of the names.

    Raises:
        InvalidParamsError: a part names a file that is not there.
    """
    if not names_files(parts):
        return parts
    kept = _kept(ports, keeping.context)
    names = set(kept) | {named_file(part.url) for part in parts if part.url is not None}
    if len(names) > ports.policy.files.most:
        raise InvalidParamsError.of(
            "message.parts", f"names files beyond the {ports.policy.files.most} that a context may have"
        )
    found = list(parts)
    named = [(index, part) for index, part in enumerate(parts) if part.url is not None]
    for index, file in _at_once(named, lambda each: (each[0], _file(ports, keeping, kept, *each))):
        found[index] = file
    return found


def _at_once(named: Sequence[T], resolve: Callable[[T], U]) -> Sequence[U]:
    """What each of several resolves to, some at a time: each waits for the store, and somebody for all."""
    if len(named) == 1:
        return [resolve(named[0])]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  most messages name no file

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(resolve, named))


def _kept(ports: Ports, context: ContextKey) -> Mapping[str, KeptFile]:
    """The files that the context keeps, though the turn that kept them may have died before saying so."""
    row = ports.contexts.read(context)
    state = row.state
    if row.holder is not None:
        held = ports.tasks.load(TaskKey(context.tenant, context.owner, row.holder.task_id))
        state = last_state(row, held)
    try:
        return remembered(ports, state).files
    except KeyError:
        return {}  # gone with the task that kept them; whoever runs the next turn reports it


def _file(ports: Ports, keeping: Keeping, kept: Mapping[str, KeptFile], index: int, part: Part) -> LoggedPart:
    name = named_file(part.url or "")
    uploaded_to = upload_key(keeping.context, name)
    standing = kept.get(name)
    for _ in range(ATTEMPTS):
        uploaded = ports.uploads.find(uploaded_to)
        try:
            if uploaded is not None and (standing is None or standing.version != uploaded.version):
                file = _copied(ports, keeping, index, uploaded_to, uploaded)
            elif standing is not None and not outlives(ports, standing, keeping.expires):
                file = _again(ports, keeping, index, standing)
            elif standing is not None:
                file = standing
            else:
                break
        except GoneError:
            continue
        return _pointing(logged(part), name, file)
    raise no_such_file(f"message.parts[{index}].url")


def _copied(ports: Ports, keeping: Keeping, index: int, key: str, uploaded: Uploaded) -> KeptFile:
    if uploaded.byte_size > ports.policy.files.upload_bytes:
        raise refusal(
            f"message.parts[{index}].url",
            "A2A file part content is too large.",
            f"has {uploaded.byte_size} bytes, {ports.policy.files.upload_bytes} are the most",
        )
    to = f"{keeping.place}/{index}-{keeping.writer}"
    digest = ports.uploads.copy(key, to, version=uploaded.version)
    return KeptFile(
        key=to,
        byte_size=uploaded.byte_size,
        sha256=digest,
        media_type=uploaded.media_type,
        stored_at=keeping.moment,
        version=uploaded.version,
    )


def _again(ports: Ports, keeping: Keeping, index: int, file: KeptFile) -> KeptFile:
    to = f"{keeping.place}/{index}-{keeping.writer}"
    ports.uploads.copy(file.key, to)
    return file.model_copy(update={"key": to, "stored_at": keeping.moment})


def _pointing(part: LoggedPart, name: str, file: KeptFile) -> LoggedPart:
    pointer = ContentPointer(
        key=file.key,
        byte_size=file.byte_size,
        sha256=file.sha256,
        kind=ContentKind.RAW,
        file=NamedFile(name=name, stored_at=file.stored_at, version=file.version),
    )
    return LoggedPart(
        stored=pointer,
        media_type=part.media_type or file.media_type,
        filename=part.filename or name.rpartition("/")[2],
        metadata=part.metadata,
    )
