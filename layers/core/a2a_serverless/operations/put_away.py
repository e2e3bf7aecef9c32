"""What earlier artifacts hold, as an agent is given it: at once while that is little, else by address.

An address leads to one part of one artifact of the agent's own conversation, and its bytes come piece by
piece when the agent asks for them. An artifact that was replaced meanwhile has other bytes, or none.
"""

from collections.abc import AsyncIterator
from urllib.parse import quote, unquote

from a2a_serverless.agent.parts import ARTIFACT
from a2a_serverless.operations.contents import inlined, measured, media_type_of
from a2a_serverless.operations.serving import find_part
from a2a_serverless.operations.workspace import in_thread, pieces
from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.protocol.objects import Artifact, Part
from a2a_serverless.tasks.content import LoggedArtifact
from a2a_serverless.tasks.log import TaskKey


def given_artifact(ports: Ports, task_id: str, artifact: LoggedArtifact) -> Artifact:
    """The artifact with its content brought back, as far as one answer to a caller would show it inline."""
    left = ports.policy.answer_limit
    parts = []
    for index, part in enumerate(artifact.parts):
        size, digest, kind = measured(part)
        if part.stored is None or kind is None or size <= left:
            left -= size
            parts.append(inlined(ports.contents, part))
            continue
        parts.append(
            Part(
                url=f"{ARTIFACT}{quote(task_id, safe='')}/{quote(artifact.artifact_id, safe='')}/{index}",
                media_type=media_type_of(part, kind),
                filename=part.filename,
                metadata={**(part.metadata or {}), "byteSize": size, "sha256": digest},
            )
        )
    fields = {name: getattr(artifact, name) for name in artifact.model_fields_set}
    return Artifact(**{**fields, "parts": tuple(parts)})


async def open_artifact(ports: Ports, key: TurnKey, context_id: str, url: str) -> AsyncIterator[bytes]:
    """The bytes that such an address leads to; raises FileNotFoundError when there are none (any more)."""
    task_id, *place = map(unquote, url.removeprefix(ARTIFACT).split("/"))
    task = await in_thread(ports.tasks.load, TaskKey(key.task.tenant, key.task.owner, task_id))
    part = find_part(task, place) if task.context_id == context_id else None
    if part is None or part.stored is None:
        raise FileNotFoundError(url)
    stored = part.stored
    try:
        async for piece in pieces(lambda: ports.contents.pieces(stored.key)):
            yield piece
    except KeyError as gone:
        raise FileNotFoundError(url) from gone
