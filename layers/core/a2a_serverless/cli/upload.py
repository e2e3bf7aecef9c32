"""`a2a-serverless upload`: files to a conversation, and the parts that name them."""

import json
import uuid
from collections.abc import Sequence
from pathlib import Path

from a2a_serverless.cli.agent_choice import chosen_agent
from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.connecting import connected
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import note, print_json
from a2a_serverless.cli.uploading import upload
from a2a_serverless.protocol.objects import Part


def upload_files(calling: Calling, words: Sequence[str], conversation: str | None) -> None:
    """Upload files and print their parts.

    Raises:
        Failure: one cannot be read or is not taken, or the agent takes none.
    """
    address = words[0] if words and words[0].startswith(("https://", "http://")) else None
    files = [Path(each) for each in (words[1:] if address else words)]
    if not files:
        raise Failure(Exit.USAGE, "FILE is missing", "it is [URL] FILE...")
    agent = connected(calling, chosen_agent(calling, address))
    context_id = conversation or str(uuid.uuid4())

    async def uploaded() -> list[Part]:
        async with agent.client() as client:
            return [await upload(client, context_id, file) for file in files]

    parts = agent.run(uploaded())
    if calling.as_json:
        print_json({"contextId": context_id, "parts": [part.to_dict() for part in parts]})
        return
    for part in parts:
        print(json.dumps(part.to_dict()))
    note(f"in the conversation {context_id}: a message names them with --context {context_id}")
