"""`a2a-serverless push create|get|list|delete`: the webhooks of a task, as its caller has them."""

from typing import Any, NamedTuple

from a2a_serverless.cli.agent_choice import chosen_agent, secret
from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.connecting import command, connected
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import note, print_json, print_table, shown
from a2a_serverless.protocol.requests import (
    AuthenticationInfo,
    ListTaskPushNotificationConfigsResponse,
    TaskPushNotificationConfig,
)


class Registering(NamedTuple):
    """A webhook as it was typed."""

    task: str
    url: str
    config: str | None
    token: str | None
    scheme: str | None
    credentials: str | None


def create_webhook(calling: Calling, address: str | None, typed: Registering) -> None:
    """Register a webhook and print its id.

    Raises:
        Failure: what was typed makes no sense, or the agent does not take it.
    """
    if typed.credentials is not None and typed.scheme is None:
        raise Failure(Exit.USAGE, "--auth-credentials need an --auth-scheme, such as Bearer")
    token = secret("--notification-token", typed.token) if typed.token is not None else None
    credentials = secret("--auth-credentials", typed.credentials) if typed.credentials is not None else None
    authentication = (
        AuthenticationInfo(scheme=typed.scheme, credentials=credentials) if typed.scheme else None
    )
    agent = connected(
        calling, chosen_agent(calling, address), [each for each in (token, credentials) if each]
    )

    async def created() -> TaskPushNotificationConfig:
        async with agent.client() as client:
            return await client.create_task_push_notification_config(
                TaskPushNotificationConfig.model_construct(
                    id=typed.config,
                    task_id=typed.task,
                    url=typed.url,
                    token=token,
                    authentication=authentication,
                )
            )

    config = agent.run(created())
    if calling.as_json:
        print_json(_members(config))
    else:
        print(shown(config.id or ""))


def get_webhook(calling: Calling, address: str | None, task: str, config_id: str) -> None:
    """Print a webhook.

    Raises:
        Failure: there is none.
    """
    agent = connected(calling, chosen_agent(calling, address))

    async def got() -> TaskPushNotificationConfig:
        async with agent.client() as client:
            return await client.get_task_push_notification_config(task, config_id)

    config = agent.run(got())
    if calling.as_json:
        print_json(_members(config))
        return
    for name, value in zip(("config", "webhook", "authenticates"), _row(config), strict=True):
        print(f"{name:14}{shown(value)}".rstrip())


def list_webhooks(
    calling: Calling, address: str | None, task: str, *, page_size: int | None, page_token: str | None
) -> None:
    """Print a page of the webhooks of a task.

    Raises:
        Failure: there is no such task.
    """
    agent = connected(calling, chosen_agent(calling, address))

    async def listed() -> ListTaskPushNotificationConfigsResponse:
        async with agent.client() as client:
            return await client.list_task_push_notification_configs(
                task, page_size=page_size, page_token=page_token
            )

    page = agent.run(listed())
    if calling.as_json:
        more = {"nextPageToken": page.next_page_token} if page.next_page_token else {}
        print_json({"configs": [_members(config) for config in page.configs], **more})
        return
    if page.configs:
        print_table(["config", "webhook", "authenticates"], [_row(config) for config in page.configs])
    else:
        print("No webhook.")
    if page.next_page_token:
        words = [task, "--page-token", page.next_page_token]
        size = ["--page-size", str(page_size)] if page_size is not None else []
        note(f"hint: the next page is {command('push list', agent, *words, *size)}")


def delete_webhook(calling: Calling, address: str | None, task: str, config_id: str) -> None:
    """Take a webhook away.

    Raises:
        Failure: there is no such task.
    """
    agent = connected(calling, chosen_agent(calling, address))

    async def deleted() -> None:
        async with agent.client() as client:
            await client.delete_task_push_notification_config(task, config_id)

    agent.run(deleted())
    if calling.as_json:
        print_json({"deleted": config_id, "task": task})
    else:
        print(shown(f"{config_id} of task {task} is deleted"))


def _members(config: TaskPushNotificationConfig) -> dict[str, Any]:
    """A webhook without secrets, whatever the agent gives back."""
    members = config.to_dict()
    members.pop("token", None)
    if "authentication" in members:
        members["authentication"].pop("credentials", None)
    return members


def _row(config: TaskPushNotificationConfig) -> list[str]:
    scheme = config.authentication.scheme if config.authentication else ""
    return [config.id or "", config.url, scheme]
