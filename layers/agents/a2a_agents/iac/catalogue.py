"""The skills there are, in the order in which the card names them.

Words and conditions only; see `skills` for what may be imported here.
"""

from a2a_agents.iac.skills import Deployment, Skill
from a2a_serverless.agent import AgentSkill

MODEL = "IAC_MODEL"
"""Variable: the model that writes templates."""
ROS_CREDENTIALS = "IAC_ROS_CREDENTIALS"
"""Variable: where the credentials for Alibaba Cloud lie. A reference, never the credentials."""

TEMPLATE_INPUT = (
    "text/plain",
    "text/markdown",
    "text/yaml",
    "application/yaml",
    "application/x-yaml",
    "application/json",
    "application/octet-stream",
)
ARCHIVE_INPUT = ("application/zip", "application/gzip", "application/x-tar", "application/x-gzip")


def _needs_model(deployment: Deployment) -> str | None:
    return None if deployment.says(MODEL) else "this deployment has no model configured"


def _needs_credentials(deployment: Deployment) -> str | None:
    if deployment.says(ROS_CREDENTIALS):
        return None
    return "this deployment has no credentials for Alibaba Cloud configured"


GENERATION = Skill(
    AgentSkill(
        id="iac_generation",
        name="Template generation",
        description=(
            "Writes a ROS, Terraform or CloudFormation template for what is wanted, checks it and repairs"
            " what the check finds; asks where a region or a choice is missing."
        ),
        tags=("iac", "ros", "terraform", "cloudformation", "alibaba-cloud"),
        examples=("Create a VPC with two vSwitches in cn-hangzhou.",),
    ),
    module="a2a_agents.iac.generation",
    needs=_needs_model,
)
REVIEW = Skill(
    AgentSkill(
        id="iac_review",
        name="Template review",
        description=(
            "Reads ROS, Terraform and CloudFormation templates and reports what is wrong in them, by rule,"
            " line and severity, with the fix: as Markdown and as SARIF, with a corrected template where"
            " that is mechanical."
        ),
        tags=("iac", "review", "validation", "security", "ros", "terraform", "cloudformation"),
        examples=("Review this ROS template for missing parameters.",),
        input_modes=(*TEMPLATE_INPUT, *ARCHIVE_INPUT),
        output_modes=("text/markdown", "application/sarif+json", "text/plain"),
    ),
    module="a2a_agents.iac.review",
)
OPERATIONS = Skill(
    AgentSkill(
        id="aliyun_ros_operations",
        name="ROS stack operations",
        description=(
            "Creates, updates, deletes and diagnoses stacks of Alibaba Cloud's Resource Orchestration"
            " Service; asks permission before every change."
        ),
        tags=("aliyun", "ros", "stack"),
        examples=("Check why this ROS stack update failed.",),
    ),
    module="a2a_agents.iac.operations",
    needs=_needs_credentials,
)
CONVERSION = Skill(
    AgentSkill(
        id="terraform_ros_conversion",
        name="Terraform to ROS",
        description=(
            "Packs a Terraform directory, sent as files or as an archive, into one ROS template of the"
            " Terraform type."
        ),
        tags=("terraform", "ros", "conversion"),
        examples=("Convert this Terraform VPC module to ROS YAML.",),
        input_modes=(*TEMPLATE_INPUT, *ARCHIVE_INPUT),
        output_modes=("application/yaml", "application/json", "text/plain"),
    ),
    module="a2a_agents.iac.conversion",
)

SKILLS = (GENERATION, REVIEW, OPERATIONS, CONVERSION)
