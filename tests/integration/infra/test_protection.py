"""What lies anywhere is encrypted, what travels does so by TLS, and no secret is a parameter."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.integration.infra.declared import functions, resources, state, template, text

Properties = Mapping[str, Any]

PRIVATE = {"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"}

PROTECTED: Mapping[str, Callable[[Properties], bool]] = {
    "AWS::DynamoDB::Table": lambda table: (
        table["SSESpecification"]["SSEEnabled"]
        and table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    ),
    "AWS::S3::Bucket": lambda bucket: (
        "BucketEncryption" in bucket
        and {name for name, on in bucket["PublicAccessBlockConfiguration"].items() if on} == PRIVATE
    ),
    "AWS::SQS::Queue": lambda queue: queue["SqsManagedSseEnabled"],
    "AWS::KMS::Key": lambda key: key["EnableKeyRotation"],
    "AWS::KMS::Alias": lambda _: True,
}
"""What makes each kind of thing that remembers safe to remember in."""


@pytest.mark.parametrize("name", sorted(state()["Resources"]))
def test_whatever_remembers_anything_is_encrypted_and_not_public(name: str) -> None:
    declared = state()["Resources"][name]

    assert PROTECTED[declared["Type"]](declared["Properties"])


def test_content_travels_by_tls_or_not_at_all() -> None:
    ((_, policy),) = resources("AWS::S3::BucketPolicy").items()
    [statement] = policy["PolicyDocument"]["Statement"]

    assert text(policy["Bucket"]) == "${State.Outputs.BucketName}"
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert [text(each) for each in statement["Resource"]] == [
        "${State.Outputs.BucketArn}",
        "${State.Outputs.BucketArn}/*",
    ]


def test_a_domain_of_ones_own_speaks_no_old_tls() -> None:
    ((_, domain),) = resources("AWS::ApiGateway::DomainName").items()

    assert domain["SecurityPolicy"] == "TLS_1_2"


def test_no_log_is_kept_for_ever_and_every_function_has_one_of_its_own() -> None:
    logs = resources("AWS::Logs::LogGroup")

    assert len(logs) == len(functions())
    assert {str(each["RetentionInDays"]) for each in logs.values()} == {"{'Ref': 'LogRetentionDays'}"}
    assert 0 not in template()["Parameters"]["LogRetentionDays"]["AllowedValues"]


def test_parameters_hold_hashes_of_secrets_and_names_of_where_secrets_lie() -> None:
    """A parameter is shown to whoever may describe a stack; a hash even so is not echoed."""
    declared = template()["Parameters"]
    told = {name for name, each in declared.items() if each.get("NoEcho")}
    secret = ("Token", "Secret", "Credential")
    about_secrets = {name for name in declared if any(word in name for word in secret)}

    assert told == {"BearerTokens"}
    assert "[0-9a-f]{64}" in declared["BearerTokens"]["AllowedPattern"]
    for name in about_secrets - told:
        pattern = declared[name]["AllowedPattern"]
        assert pattern.startswith("^$|^"), name
        assert any(place in pattern for place in ("secretsmanager", "ssm", "arn:")), name


def test_nobody_from_outside_the_account_may_call_or_read_anything() -> None:
    """But for API Gateway, through which everybody comes, no policy of a resource names anybody else."""
    granted = [
        (resource["Type"], statement["Sid"])
        for resource in (*template()["Resources"].values(), *state()["Resources"].values())
        for kind in ("PolicyDocument", "KeyPolicy", "ResourcePolicy")
        for statement in resource.get("Properties", {}).get(kind, {}).get("Statement", ())
        if statement["Effect"] == "Allow" and statement.get("Principal") in ("*", {"AWS": "*"})
    ]

    assert granted == []
