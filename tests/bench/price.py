"""What a million blocking turns cost, from requests that were counted, and what a month costs without any.

List prices without free tiers, in one table; everything multiplied with them is counted or measured in the
same run unless its line says that it is assumed. Storage, logs and metrics are on the bill too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from a2a_serverless.operations.sweep import sweep
from infra.local.aws import ROOT
from infra.local.deployment import Deployment
from infra.local.intrinsics import read_template
from infra.local.template import read_deployment
from tests.bench.cloud import Cloud, cloud
from tests.bench.result import Result
from tests.bench.turn import AGENT_SECONDS, RUNS, SECONDS_EACH, Measured, measure, one_artifact


@dataclass(frozen=True)
class Price:
    """A list price: US dollars for so many of a unit."""

    dollars: float
    per: float
    unit: str
    source: str

    def of(self, amount: float) -> float:
        """What so many cost."""
        return self.dollars * amount / self.per


PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "api": Price(3.50, 1e6, "requests to a REST API", "aws.amazon.com/api-gateway/pricing"),
        "invocation": Price(0.20, 1e6, "invocations", "aws.amazon.com/lambda/pricing"),
        "gb-second": Price(0.0000133334, 1, "GB-seconds on Arm", "aws.amazon.com/lambda/pricing"),
        "transition": Price(0.025, 1e3, "transitions of Standard", "aws.amazon.com/step-functions/pricing"),
        "write": Price(0.625, 1e6, "write request units", "aws.amazon.com/dynamodb/pricing/on-demand"),
        "read": Price(0.125, 1e6, "read request units", "aws.amazon.com/dynamodb/pricing/on-demand"),
        "table": Price(0.25, 1, "GB-months of table", "aws.amazon.com/dynamodb/pricing/on-demand"),
        "backup": Price(
            0.20, 1, "GB-months of point-in-time recovery", "aws.amazon.com/dynamodb/pricing/on-demand"
        ),
        "s3 put": Price(0.005, 1e3, "PUT requests", "aws.amazon.com/s3/pricing"),
        "s3 get": Price(0.0004, 1e3, "GET requests", "aws.amazon.com/s3/pricing"),
        "log": Price(0.50, 1, "GB of log", "aws.amazon.com/cloudwatch/pricing"),
        "metric": Price(0.30, 1, "custom metrics a month", "aws.amazon.com/cloudwatch/pricing"),
        "alarm": Price(0.10, 1, "alarm metrics a month", "aws.amazon.com/cloudwatch/pricing"),
        "dashboard": Price(3.00, 1, "dashboards a month", "aws.amazon.com/cloudwatch/pricing"),
        "event": Price(1.00, 1e6, "events of a schedule", "aws.amazon.com/eventbridge/pricing"),
        "sqs": Price(0.40, 1e6, "requests to standard queues", "aws.amazon.com/sqs/pricing"),
        "key": Price(1.00, 1, "KMS keys a month", "aws.amazon.com/kms/pricing"),
        "transfer": Price(0.09, 1, "GB to the Internet", "aws.amazon.com/ec2/pricing/on-demand"),
        "kms": Price(0.03, 1e4, "requests to KMS", "aws.amazon.com/kms/pricing"),
    }
)
"""On demand, us-east-1, as known in November 2026; no free tier, no discount."""

MILLION = 1e6
GB = 1024**3
MONTH_MINUTES = 365 / 12 * 24 * 60

LOG_BYTES_EACH = 700
"""Assumed of an invocation: Lambda's START, END and REPORT lines and one line of metrics."""

DISPATCH_SECONDS = 0.05
"""Assumed: from StartExecution until the turn's function runs; the waiting API function pays for it."""


LOOKING, LOOK_SECONDS = 5, 20
"""How Lambda looks into a queue in which nothing is: so many long polls at a time, each so long (AWS Lambda
Developer Guide, "Configuring scaling behavior for SQS event source mappings", and "long polling")."""


@dataclass
class Bill:
    """Lines of a bill and their sum."""

    unit: str
    total: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    def line(self, what: str, price: str, amount: float, note: str = "") -> Result:
        """Add a line."""
        listed = PRICES[price]
        cost = listed.of(amount)
        self.total += cost
        each = {
            "amount": float(f"{amount:.4g}"),
            "of": listed.unit,
            "price": f"${listed.dollars:.10g} per {listed.per:,.0f}",
        }
        return Result(
            what, cost, self.unit, "", {**each, "source": listed.source, **({"note": note} if note else {})}
        )


def price() -> Iterator[Result]:
    """Print the bill of a million turns line by line, then what a month costs when nobody talks."""
    deployment = read_deployment(ROOT)
    with cloud(one_artifact, seconds_each=SECONDS_EACH) as running:
        measured = measure(running)
        swept = _swept(running)
    yield from _turns(measured, deployment)
    yield from _month(swept, measured, deployment)


def _turns(measured: Measured, deployment: Deployment) -> Iterator[Result]:
    bill = Bill("USD per million turns")
    sent = [*measured.api, *measured.turn]
    memory = {function.folder.name: function.memory_mb / 1024 for function in deployment.functions.values()}
    api_seconds = measured.api_seconds + DISPATCH_SECONDS
    yield bill.line("API Gateway", "api", MILLION)
    yield bill.line("Lambda invocations", "invocation", 2 * MILLION)
    yield bill.line(
        f"jsonrpc, {api_seconds:.2f} s",
        "gb-second",
        api_seconds * memory["jsonrpc"] * MILLION,
        f"waits for the agent's {AGENT_SECONDS:g} s; {DISPATCH_SECONDS:g} s assumed to dispatch the turn",
    )
    yield bill.line(
        f"turn, {measured.turn_seconds:.2f} s",
        "gb-second",
        measured.turn_seconds * memory["turn"] * MILLION,
    )
    yield bill.line("Step Functions", "transition", measured.transitions * MILLION)
    for side, phases in (("without the tail", False), ("tail", True)):
        of_side = [each for each in sent if (each.phase == "tail") is phases]
        for kind in ("write", "read"):
            units = sum(getattr(each.units, kind) for each in of_side) / RUNS
            if units:
                yield bill.line(f"DynamoDB {kind}s, {side}", kind, units * MILLION)
    for operation, kind in (("PutObject", "s3 put"), ("GetObject", "s3 get")):
        objects = sum(each.operation == operation for each in sent) / RUNS
        if objects:
            yield bill.line(f"S3 {operation}", kind, objects * MILLION)
    yield bill.line(
        "logs", "log", 2 * LOG_BYTES_EACH * MILLION / GB, f"{LOG_BYTES_EACH} bytes an invocation, assumed"
    )
    yield Result("requests and compute, Webhooks=off", bill.total, bill.unit, "<= 80")
    yield from _fanned(bill, measured, memory["fanout"])
    yield Result("requests and compute", bill.total, bill.unit, "<= 80")
    stored = measured.stored_bytes * MILLION / GB
    note = "the default retention of 30 days, about a month"
    yield bill.line("storage of the tasks", "table", stored, note)
    yield bill.line("their backup", "backup", stored, note)
    yield Result("everything", bill.total, bill.unit)


def _fanned(bill: Bill, measured: Measured, memory: float) -> Iterator[Result]:
    """What is asked for every event because there might be a webhook, although there is none."""
    invocations = measured.fanouts * MILLION
    note = "each event by itself; where more happens several come together"
    yield bill.line("fanout without webhooks: invocations", "invocation", invocations, note)
    seconds = measured.fanout_seconds
    yield bill.line(f"fanout without webhooks: {seconds:.2f} s", "gb-second", seconds * memory * MILLION)
    read = sum(each.units.read for each in measured.fanout) / RUNS
    yield bill.line("fanout without webhooks: DynamoDB reads", "read", read * MILLION)
    yield bill.line("fanout without webhooks: logs", "log", invocations * LOG_BYTES_EACH / GB, "as above")


@dataclass(frozen=True)
class Swept:
    """One sweep that finds nothing."""

    reads: float
    seconds: float
    metrics: int


def _swept(running: Cloud) -> Swept:
    running.forget()
    sweep(running.ports)
    running.forget()
    sweep(running.ports)
    reads = sum(each.units.read for each in running.api.sent)
    counted = getattr(running.ports.metrics, "detailed", {})
    return Swept(reads, len(running.api.sent) * SECONDS_EACH, sum(name == "Swept" for name, _ in counted))


def _month(swept: Swept, measured: Measured, deployment: Deployment) -> Iterator[Result]:
    bill = Bill("USD a month")
    (every,) = [schedule.every_seconds / 60 for schedule in deployment.schedules]
    sweeps = MONTH_MINUTES / every
    (memory,) = [
        each.memory_mb / 1024 for each in deployment.functions.values() if each.folder.name == "sweep"
    ]
    yield bill.line("idle: the schedule", "event", sweeps, "if scheduled rules are charged as events")
    yield bill.line("idle: sweeps", "invocation", sweeps)
    seconds = swept.seconds
    yield bill.line(
        f"idle: sweeps of {seconds:.2f} s", "gb-second", sweeps * seconds * memory, "starts not counted"
    )
    yield bill.line("idle: reads of the due index", "read", sweeps * swept.reads)
    yield bill.line("idle: logs of sweeps", "log", sweeps * LOG_BYTES_EACH / GB, "bytes assumed as above")
    yield bill.line("idle: metrics of sweeps", "metric", swept.metrics)
    if deployment.state["Resources"]["TasksTable"]["Properties"].get("SSESpecification"):
        yield bill.line(
            "idle: key of the table", "kms", MONTH_MINUTES / 5, "assumed: one request in five minutes of use"
        )
    yield Result("idle, Webhooks=off", bill.total, bill.unit)
    yield from idle_of_webhooks(bill)
    yield Result("idle, all of it", bill.total, bill.unit)
    yield bill.line("in use: metrics of turns", "metric", len(measured.metrics))
    yield from _watching(bill)
    yield Result("fixed, all of it", bill.total, bill.unit)


def idle_of_webhooks(bill: Bill) -> Iterator[Result]:
    """What a month costs of what webhooks need, while there are none."""
    yield bill.line("idle: key of webhooks' secrets", "key", 1)
    looks = LOOKING * MONTH_MINUTES * 60 / LOOK_SECONDS
    yield bill.line("idle: looks for pokes", "sqs", looks, f"{LOOKING} at a time, {LOOK_SECONDS} s each")


def _watching(bill: Bill) -> Iterator[Result]:
    """The alarms, which are a stack of their own and may be left out."""
    path = ROOT / "infra" / "alarms.yaml"
    if not path.exists():
        return
    kinds = [each["Type"] for each in read_template(path.read_text(encoding="utf-8"))["Resources"].values()]
    for kind, listed in (("AWS::CloudWatch::Alarm", "alarm"), ("AWS::CloudWatch::Dashboard", "dashboard")):
        yield bill.line(f"optional: {listed}s", listed, kinds.count(kind), "can be left out")
