"""Handlers to try processes, gateway and state machine with, each written into a folder of its own."""

from pathlib import Path

API = """
import json, os, pathlib, signal

def handler(event, context):
    asked = event.get("queryStringParameters") or event
    match asked.get("do"):
        case "raise":
            raise LookupError("nothing here")
        case "malformed":
            return "no object"
        case "large":
            return {"statusCode": 200, "body": "x" * (6 * 1024 * 1024 + 1000)}
        case "wait":
            # Until the test opens the other end: a named pipe instead of a sleep.
            pathlib.Path(asked["for"]).read_bytes()
        case "leave":
            os._exit(3)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
    body = {
        "pid": os.getpid(),
        "name": context.function_name,
        "arn": context.invoked_function_arn,
        "remaining": context.get_remaining_time_in_millis(),
        "task_root": os.environ["LAMBDA_TASK_ROOT"],
        "trace": os.environ["_X_AMZN_TRACE_ID"],
        "length": len(event.get("body") or ""),
    }
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps(body)}
"""

STREAM = """
import json, os, pathlib
from types import SimpleNamespace

HEADERS = {"Content-Type": "text/event-stream", "Content-Length": "1", "X-Amzn-Trace-Id": "mine"}
PRELUDE = {"statusCode": 200, "headers": HEADERS, "cookies": ["a=1", "b=2"]}

def pieces(asked):
    # A named pipe that the test opens when it wants the next piece: none without its permission.
    try:
        yield b"piece 0\\n"
        for number in range(1, int(asked.get("pieces", 1))):
            pathlib.Path(asked["for"]).read_bytes()
            yield b"piece %d\\n" % number
        match asked.get("end"):
            case "raise":
                raise LookupError("the log is gone")
            case "die":
                os._exit(3)
            case "never":
                while True:
                    yield b"x" * 65536
    finally:
        if "closed" in asked:
            pathlib.Path(asked["closed"]).write_text("closed\\n")

def handler(event, context):
    asked = event.get("queryStringParameters") or event
    match asked.get("do"):
        case "raise":
            raise LookupError("nothing here")
        case "die":
            os._exit(3)
        case "buffered":
            return {"statusCode": 200, "body": "whole"}
        case "malformed":
            return SimpleNamespace(prelude={"headers": {}}, chunks=[b"x"])
        case "large":
            return SimpleNamespace(prelude=PRELUDE, chunks=(b"x" * 65536 for _ in range(160)))
        case "wait":
            pathlib.Path(asked["for"]).read_bytes()
        case "pid":
            return SimpleNamespace(prelude=PRELUDE, chunks=[str(os.getpid()).encode()])
    prelude = {**PRELUDE, "statusCode": int(asked.get("status", 200))}
    return SimpleNamespace(prelude=prelude, chunks=pieces(asked))
"""

TURN = """
import os, pathlib
import boto3

DYNAMODB, TABLE = boto3.client("dynamodb"), os.environ["TASKS_TABLE"]

class TurnContinues(Exception):
    pass

def first_time(task):
    item = {"pk": {"S": task}, "sk": {"S": "SEEN"}}
    try:
        DYNAMODB.put_item(TableName=TABLE, Item=item, ConditionExpression="attribute_not_exists(pk)")
    except DYNAMODB.exceptions.ConditionalCheckFailedException:
        return False
    return True

def handler(event, context):
    # The task is a named pipe on which the test listens, the owner says what to do.
    tell = pathlib.Path(event["task"]).write_text
    match event["owner"]:
        case "crashes":
            os._exit(1)
        case "raises":
            raise ValueError("no")
        case "continues" if first_time(event["task"]):
            tell("segment 1\\n")
            raise TurnContinues
    tell(f"turn {event['turn']} done\\n")
"""

SWEEP = """
import json, pathlib

def handler(event, context):
    pathlib.Path(event["fail"]["task"]).write_text(json.dumps(event["fail"], sort_keys=True) + "\\n")
"""


PUSH = """
import json, os, pathlib, signal

def handler(event, context):
    # Each message names a pipe on which a test listens, and says what is to become of it.
    failed = []
    for record in event["Records"]:
        asked, times = json.loads(record["body"]), record["attributes"]["ApproximateReceiveCount"]
        tell = pathlib.Path(asked["tell"]).write_text
        tell(f"{asked['name']} {times} of {len(event['Records'])}\\n")
        match asked.get("do"):
            case "show":
                tell(json.dumps(record) + "\\n")
            case "wait":
                pathlib.Path(asked["for"]).read_bytes()
                tell(f"{asked['name']} done\\n")
            case "fail" if times == "1" or asked.get("always"):
                failed.append({"itemIdentifier": record["messageId"]})
            case "raise" if times == "1":
                raise LookupError("nothing here")
            case "die" if times == "1":
                os.kill(os.getpid(), signal.SIGKILL)
    return {"batchItemFailures": failed}
"""

FANOUT = """
import json, os, pathlib, signal

def first_time(mark):
    try:
        pathlib.Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

def handler(event, context):
    # Each record names a pipe on which a test listens, and says what is to become of it.
    images = [record["dynamodb"]["NewImage"] for record in event["Records"]]
    asked = [{name: value["S"] for name, value in image.items() if "S" in value} for image in images]
    tell = pathlib.Path(asked[0]["tell"]).write_text
    tell(" ".join(each["sk"] for each in asked) + "\\n")
    for each, record in zip(asked, event["Records"]):
        match each.get("do"):
            case "show":
                tell(json.dumps(record) + "\\n")
            case "raise":
                raise LookupError("nothing here")
            case "wait":
                pathlib.Path(each["for"]).read_bytes()
            case "fail" if first_time(each["mark"]):
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
            case "die" if first_time(each["mark"]):
                os.kill(os.getpid(), signal.SIGKILL)
"""


def write(folder: Path, source: str) -> Path:
    """Make a function's folder."""
    folder.mkdir(parents=True)
    (folder / "app.py").write_text(source, encoding="utf-8")
    return folder
