"""The ports made real on AWS.

What every request needs is made at once; what only some need (S3, Step Functions, the logger, metrics) when
it is first used, since making it costs more than most cold starts can spare.
"""

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.dynamodb_admissions import DynamoAdmissions
from a2a_serverless.adapters.dynamodb_contexts import DynamoContexts
from a2a_serverless.adapters.dynamodb_due import DynamoDue
from a2a_serverless.adapters.dynamodb_streams import DynamoStreamPlaces
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.dynamodb_tasks import DynamoTasks
from a2a_serverless.adapters.s3_contents import S3Contents
from a2a_serverless.adapters.s3_uploads import S3Uploads
from a2a_serverless.adapters.stepfunctions_executions import StepFunctionsExecutions
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.ports import Answer, Metrics, Policy, Ports
from a2a_serverless.ports.limits import RateLimits
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import policy
from a2a_serverless.wiring.incidents import incidents
from a2a_serverless.wiring.late import late
from a2a_serverless.wiring.webhooks import webhook_ports


def ports(
    settings: Settings,
    decided: Policy | None = None,
    instant: Answer | None = None,
    clients: AwsClients | None = None,
) -> Ports:
    """The ports made real on AWS. Without a policy of its own, one that knows nothing of the agent."""
    clock, identifiers, clients = SystemClock(), UuidIdentifiers(), clients or AwsClients()
    table = DynamoTable(clients.dynamodb(), settings.tasks_table, clock)
    s3 = late(clients.s3)
    contents = S3Contents(s3, settings.content_bucket)
    return Ports(
        tasks=DynamoTasks(table, contents, identifiers),
        admissions=DynamoAdmissions(table, contents, identifiers),
        contexts=DynamoContexts(table),
        executions=StepFunctionsExecutions(late(clients.stepfunctions), settings.turn_state_machine_arn),
        contents=contents,
        uploads=S3Uploads(s3, settings.content_bucket),
        streams=DynamoStreamPlaces(table),
        due=DynamoDue(table),
        incidents=late(lambda: incidents(settings, identifiers)),
        metrics=late(lambda: _metrics(settings)),
        clock=clock,
        identifiers=identifiers,
        policy=decided or policy(settings),
        answer=instant,
        webhooks=webhook_ports(settings, table, clients, clock),
        rate_limits=late(lambda: _rate_limits(table)) if settings.rate_limits else None,
    )


def _rate_limits(table: DynamoTable) -> RateLimits:
    from a2a_serverless.adapters.dynamodb_rate_limits import DynamoRateLimits  # noqa: PLC0415  made late

    return DynamoRateLimits(table)


def _metrics(settings: Settings) -> Metrics:
    from a2a_serverless.adapters.powertools_metrics import PowertoolsMetrics  # noqa: PLC0415  made late

    return PowertoolsMetrics(settings.powertools_service_name, settings.powertools_metrics_namespace)
