"""SendMessage (specification 3.1.1): a message starts a task or its next turn, or gets a reply."""

from collections.abc import Generator

from a2a_serverless.operations.admit import admit, sole_waiting
from a2a_serverless.operations.contents import Shown
from a2a_serverless.operations.contexts import workspace_of
from a2a_serverless.operations.follow import until_settled
from a2a_serverless.operations.inputs import check_parts
from a2a_serverless.operations.permissions import is_decision
from a2a_serverless.operations.webhooks import check_config
from a2a_serverless.ports import Caller, Ports
from a2a_serverless.protocol.errors import InternalError, PushNotificationNotSupportedError
from a2a_serverless.protocol.objects import Message, Role
from a2a_serverless.protocol.requests import SendMessageConfiguration, SendMessageRequest, SendMessageResponse


def send_message(
    ports: Ports, caller: Caller, request: SendMessageRequest
) -> Generator[None, None, SendMessageResponse]:
    """Admit the message, and unless told to return immediately wait until its turn has settled.

    A generator that returns the response, and yields each time it has looked for it in vain: somebody is on
    the line. A turn that outlasts the deployment's longest wait is returned as it stands; the task goes on.

    Raises:
        ContentTypeNotSupportedError: a part is of a media type that the agent does not take.
        PushNotificationNotSupportedError: a webhook is asked for and this deployment delivers none.
        InvalidParamsError: the webhook is none we call, or the task has as many as it may have; a part is
        too large or no such content as it says, or the message says nothing.
        A2AError: whatever `admit` refuses.
    """
    configuration = request.configuration or SendMessageConfiguration()
    check_message(ports, request, configuration)
    reply = instant_answer(ports, caller, request.message)
    if reply is not None:
        return SendMessageResponse(message=reply)
    deadline = ports.clock.now() + ports.policy.blocking_wait
    admitted = admit(ports, caller, request)
    task = admitted.task
    if task is None or not configuration.return_immediately:
        until = ports.clock.now() if configuration.return_immediately else deadline
        task = yield from until_settled(ports, admitted.turn, task, until)
    return SendMessageResponse(task=Shown(ports, caller).task(task, configuration.history_length))


def check_message(ports: Ports, request: SendMessageRequest, configuration: SendMessageConfiguration) -> None:
    """Refuse what this deployment or its agent cannot serve, before anything is written."""
    workspace_of(request.message)
    webhook = configuration.task_push_notification_config
    if webhook is not None:
        if "push_notifications" not in ports.policy.capabilities:
            raise PushNotificationNotSupportedError
        check_config(ports, webhook)
    if not is_decision(request.message):  # that is for us, whatever the agent takes, and judged when admitted
        check_parts(ports.policy, request.message.parts)


def instant_answer(ports: Ports, caller: Caller, message: Message) -> Message | None:
    """The agent's instant reply to a message that belongs to no task: it has a context and no task.

    A message that names only a context answers the one task that waits in it, if there is one.
    """
    if ports.answer is None or message.task_id is not None:
        return None
    if sole_waiting(ports, caller, message.context_id) is not None:
        return None
    try:
        reply = ports.answer(message)
    except Exception as error:  # the deployer's code may raise anything
        raise InternalError(metadata={"errorId": ports.incidents.report(error)}) from error
    if reply is None:
        return None
    context_id = reply.context_id or message.context_id or ports.identifiers.new()
    return reply.model_copy(update={"role": Role.AGENT, "context_id": context_id, "task_id": None})
