"""What the specification asks of a server, as far as this deployment serves it: one entry per sentence.

An id is the section and a name. `test_requirements` holds both directions: every entry has a test that cites
it, and every conformance test cites an entry. What only one binding knows (envelopes, routes) is tested in
that binding's unit tests; what both must do alike is tested here, through both.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

REQUIREMENTS: Mapping[str, str] = {
    # Sending
    "3.1.1:answers-with-a-task": "SendMessage returns the task that the message began.",
    "3.1.1:answers-with-a-message": "SendMessage may return a message instead of a task.",
    "3.1.1:ended-task-takes-no-message": "A task in a terminal state takes no further message.",
    "3.1.1:unknown-task-takes-no-message": "A message to a task that is not there is a TaskNotFoundError.",
    "3.1.1:media-types-are-checked": "A part of a media type the agent does not take is refused.",
    "3.2.2:waits-until-terminal": "By default the answer is the ended task, with its results.",
    "3.2.2:waits-until-interrupted": "By default a question or a wanted authorisation is an answer too.",
    "3.2.2:returns-immediately": "With returnImmediately the answer is the task while it is in progress.",
    "3.3.1:a-message-is-admitted-once": "A message sent again under its messageId begins nothing new.",
    "3.3.1:a-message-id-is-for-one-message": "Another message under a used messageId is refused.",
    # History
    "3.2.4:no-history-wanted": "historyLength 0 leaves the history out.",
    "3.2.4:recent-history-wanted": "historyLength n returns at most the n most recent messages.",
    "3.2.4:negative-history": "A negative historyLength is an InvalidParamsError.",
    # Reading
    "3.1.3:unknown-task": "GetTask of a task that is not there is a TaskNotFoundError.",
    "3.1.3:reads-what-was-answered": "GetTask returns the task as it was answered last.",
    "3.1.4:most-recent-first": "ListTasks orders by the time of the last status, newest first.",
    "3.1.4:filters": "ListTasks returns only tasks that satisfy every filter.",
    "3.1.4:status-time-is-inclusive": "statusTimestampAfter includes tasks of that very moment.",
    "3.1.4:unknown-status": "An unknown status filter is refused, naming those there are.",
    "3.1.4:page-size": "Without pageSize a page holds 50; outside 1 to 100 it is refused.",
    "3.1.4:pages": "Following nextPageToken shows every task once; it is empty on the last page.",
    "3.1.4:page-token": "A pageToken that this server did not give is refused.",
    "3.1.4:all-members-are-present": "Also an empty page has tasks, nextPageToken, pageSize and totalSize.",
    "3.1.4:artifacts-on-request": "ListTasks shows artifacts only when they are asked for.",
    # Streaming
    "3.1.2:task-first": "A stream that began a task shows the task first, and then nothing but updates.",
    "3.1.2:message-alone": "A stream that answers with a message is that one message and closes.",
    "3.1.2:closes-at-the-end": "A stream closes when its task has reached a terminal state.",
    "3.1.2:checks-like-sending": "What SendMessage refuses, SendStreamingMessage refuses before any event.",
    "3.1.2:history-wanted": "The historyLength of a streamed message cuts the task it begins with.",
    "11.7:closes-at-a-question": "The stream of a message closes when its task asks for input.",
    "7.6.1:stays-open-for-an-authorisation": "While an authorisation is awaited a stream stays open.",
    "4.2.2:chunks": "Chunks, appended in the order they come, are the artifact that GetTask shows.",
    "3.1.6:task-first": "A subscription begins with the task as it is now, and misses nothing after it.",
    "3.1.6:follows-to-the-end": "A subscription stays open, questions included, until the task has ended.",
    "3.1.6:ended-task": "A task in a terminal state cannot be subscribed to.",
    "3.1.6:unknown-task": "Subscribing to a task that is not there is a TaskNotFoundError.",
    "3.5.2:order": "Events are shown in the order in which they happened, none of them twice.",
    "3.5.2:many-streams": "Every stream of a task shows the same events in the same order.",
    "3.5.2:streams-are-apart": "Closing a stream changes nothing for other streams of its task.",
    "3.5.2:task-is-apart": "A task goes on whether or not anybody looks.",
    "3.1.5:cancel-closes": "Canceling a task ends its streams with that status, exactly once.",
    # Canceling
    "3.1.5:cancels": "CancelTask returns the task as canceled.",
    "3.1.5:ended-task-is-not-cancelable": "A task in a terminal state is not cancelable and stays as it is.",
    "3.1.5:unknown-task": "Canceling a task that is not there is a TaskNotFoundError.",
    # Webhooks
    "3.1.7:creates": "CreateTaskPushNotificationConfig returns the webhook, with the id it was given or got.",
    "3.1.7:replaces": "A webhook created under the id of another takes its place.",
    "3.1.7:unknown-task": "A webhook for a task that is not there is a TaskNotFoundError.",
    "3.1.7:of-ended-tasks": "Webhooks of a task that has ended are created, read and deleted like any.",
    "3.1.7:at-most-ten": "A task has ten webhooks at most, however they come.",
    "3.1.8:reads": "GetTaskPushNotificationConfig returns the webhook as it was created.",
    "3.1.8:unknown": "A webhook that is not there is a TaskNotFoundError.",
    "3.1.9:lists": "ListTaskPushNotificationConfigs returns all webhooks of the task and no others.",
    "3.1.9:pages": "Following nextPageToken shows every webhook once.",
    "3.1.9:page-size": "A pageSize outside 1 to 100 is refused; 0 is none.",
    "3.1.9:page-token": "A pageToken that this server did not give is refused.",
    "3.1.10:deletes": "A deleted webhook is gone, and is told of nothing more.",
    "3.1.10:idempotent": "Deleting a webhook that is not there succeeds.",
    "3.2.2:webhook-in-a-message": "A webhook may come with a message, streamed or not, and stays one.",
    "3.2.2:webhook-checks": "A webhook that comes with a message is refused like one that is created.",
    "4.3.1:fields": "What of a webhook cannot be used is refused by the name of its field.",
    "4.3.2:credentials": "A webhook is called with the authentication that was given for it.",
    "4.3.3:payload": "A webhook gets StreamResponses, of one kind each, in the media type of A2A.",
    "4.3.3:at-least-once": "A webhook is told of each change of state and each whole artifact, in order.",
    "13.2:urls": "A webhook's URL leads to a public host and by https, or is refused by name.",
    "13.2:secrets": "What a webhook is believed by never comes back, to nobody.",
    # Optional parts
    "3.3.4:streaming-undeclared": "Streaming without the capability is an UnsupportedOperationError.",
    "3.3.4:push-undeclared": "Webhooks without the capability are a PushNotificationNotSupportedError.",
    "3.1.11:extended-card-undeclared": "The extended card, undeclared, is an UnsupportedOperationError.",
    "3.1.11:extended-card-not-configured": "Declared without one it is ExtendedAgentCardNotConfiguredError.",
    "3.1.11:extended-card-wants-a-caller": "It is for callers who said who they are; others get a 401.",
    "3.1.11:more-than-the-public-card": "It is a whole card that may show what the public one does not.",
    "13.3:by-identity": "Each caller gets the card that is meant for them.",
    "13.3:caching": "It may be kept for a while, by its caller's own caches only.",
    "8.4.1:canonical-form": "A card is signed in its canonical form, without its signatures.",
    "8.4.2:signature": "A signature's protected header names its algorithm, its type and its key.",
    "8.4.3:several-keys": "A card may have several signatures, of which one that verifies is enough.",
    "8.3.2:tenant-of-the-interface": "The interfaces of a tenant's card name the tenant that clients echo.",
    "3.3.4:required-extension": "A client that does not declare a required extension is refused.",
    "4.6:announced-extensions": "The card announces the extensions that are enabled, and requires none.",
    "4.6:extensions-are-opt-in": "What an extension adds is shown where it was activated, and nowhere else.",
    "4.6:permissions": "A permission is asked for in a way that every client can read, and some can answer.",
    "4.6:permissions-are-bound": "A decision is for one question of one's own task, as it stands, once.",
    "4.6:activated-extensions": "The answer names the extensions that were asked for and applied.",
    # Conversations
    "3.4.1:context-is-generated": "A message without a context gets one, and the answer says which.",
    "3.4.1:context-of-the-client": "A context named by the client is kept.",
    "3.4.2:task-ids-are-ours": "Every new task has an id of its own, given by the server.",
    "3.4.3:context-is-inferred": "A message that names only its task belongs to the task's context.",
    "3.4.3:mismatch-is-refused": "A contextId that is not the task's is refused.",
    "3.4:one-turn-at-a-time": "While a context is working it takes no further message.",
    "3.7:history-is-kept": "The messages of a task are its history, in order.",
    # Versions
    "3.6.2:absent-means-0.3": "A request without a version is one of 0.3, which is not served here.",
    "3.6.2:unsupported-version": "A version that is not served is a VersionNotSupportedError.",
    "3.6:patch-does-not-count": "The patch number of a version does not matter.",
    "3.6.1:version-in-the-query": "The version may come as a query parameter.",
    # Errors
    "3.3.2:fields-are-named": "A refused request says which fields are wrong and why.",
    "3.3.2:all-input-is-validated": "Values outside the limits are refused by the name of their field.",
    "5.4:errors-have-their-row": "Every error has its code, status, reason and the protocol's domain.",
    "3.3.2:faults-say-nothing": "An unexpected fault says nothing but where its log line is.",
    # Shapes
    "5.5:camel-case-and-enum-names": "Answers spell fields in lowerCamelCase and enums by name.",
    "5.6.1:timestamps": "Timestamps are UTC with milliseconds, whatever offset was sent.",
    "5.7:unknown-fields": "Unknown fields are ignored.",
    "5.7:proto-spelling": "Fields may be sent in the proto's spelling.",
    # Callers
    "3.3.2:credentials-are-required": "Without credentials, or with wrong ones, nothing is done.",
    "3.3.2:nothing-is-read-before": "Of a request whose caller is not known nothing is read.",
    "3.3.2:permission": "What a caller may not do is forbidden, and nothing is done.",
    "3.3.2:temporary": "What cannot be told at present is refused for now, with the time to come again.",
    "7.3:each-scheme": "Every scheme that is announced lets its callers in, over every binding.",
    "7.4:claims-reach-the-agent": "An agent is told who calls, by what was verified of them.",
    "7.4:streams-end-with-their-token": "A stream stays open for as long as its caller may.",
    "13.1:tenant-of-a-token": "Whom a token binds to a tenant reaches no other tenant.",
    "13.1:foreign-is-missing": "A task of somebody else is, for every operation, a task that is not there.",
    "13.1:lists-are-ones-own": "ListTasks shows the caller's own tasks, also without any filter.",
    "13.1:tenants-are-apart": "A task of one tenant is not there for another.",
    "13.1:contexts-are-ones-own": "A context of somebody else is, by its name, a new one of one's own.",
    "13.1:files-are-ones-own": "A file of somebody else is, for every message, a file that is not there.",
    "13.1:message-ids-are-ones-own": "A messageId is told apart from those of all other callers.",
    "13.1:references-tell-nothing": "A reference to a task of somebody else is like one to no task.",
    "13.1:one-principal": "A principal's tasks are theirs by each of their credentials, and by new ones.",
    "13.1:tenant-names": "A tenant that cannot be one is refused.",
    "13.4:rate-limits": "Whoever calls too often is refused properly, whichever operation they call.",
}


def requirement(name: str) -> Callable[[Test], Test]:
    """Cite the requirement that a test checks; one that is not in the table is an error at import."""
    REQUIREMENTS[name]
    return lambda test: test
