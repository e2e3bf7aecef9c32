"""The rules: what is looked for, how bad it is, and what to do about it. The README's table is this one."""

from typing import Final

from a2a_agents.iac.review.findings import Kind, Rule, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
DOCUMENTS = frozenset({Kind.ROS, Kind.CLOUDFORMATION})
ROS_ONLY = frozenset({Kind.ROS})
TERRAFORM_ONLY = frozenset({Kind.TERRAFORM})
AWS_TOO = frozenset({Kind.TERRAFORM, Kind.CLOUDFORMATION})

# What the template says -------------------------------------------------------------------------------------

SYNTAX: Final = Rule(
    "IAC101", "syntax-error", ERROR, "The file cannot be read.", "Correct the file where it is pointed to."
)
DUPLICATE: Final = Rule(
    "IAC102",
    "duplicate-key",
    ERROR,
    "A key, or a name, is given twice; one of the two is lost, or the template is refused.",
    "Remove or rename one of the two.",
)
UNDECLARED: Final = Rule(
    "IAC103",
    "undeclared-name",
    ERROR,
    "Something refers to a name that is declared nowhere: a parameter, variable, local value, module,"
    " resource, condition or mapping.",
    "Declare it, or correct the name.",
)
UNUSED_PARAMETER: Final = Rule(
    "IAC104",
    "unused-parameter",
    WARNING,
    "A parameter or variable is declared and never used.",
    "Use it or remove it.",
    corrected=True,
)
UNUSED_NAME: Final = Rule(
    "IAC105",
    "unused-name",
    NOTE,
    "A condition, mapping, local value or data source is declared and never used.",
    "Use it or remove it.",
)
CYCLE: Final = Rule(
    "IAC106",
    "cycle",
    ERROR,
    "Resources, or local values, need each other in a circle; none of them can be made first.",
    "Break the circle: refer in one direction, or move the connection into a resource of its own.",
)
MISSING_PROPERTY: Final = Rule(
    "IAC107",
    "missing-property",
    ERROR,
    "A resource lacks a property that its type requires.",
    "Give the property.",
)
SHAPE: Final = Rule(
    "IAC108",
    "malformed-section",
    ERROR,
    "A section, a parameter or a resource does not have the shape it must have.",
    "Give it the shape the language asks for.",
)
UNTYPED: Final = Rule(
    "IAC109",
    "untyped-parameter",
    NOTE,
    "A parameter or variable does not say of which type it is.",
    "Give it a type.",
)
BAD_DEFAULT: Final = Rule(
    "IAC110",
    "impossible-default",
    ERROR,
    "The default of a parameter is not a value that it allows.",
    "Correct the default, or what is allowed.",
    DOCUMENTS,
)
MISSING_INPUT: Final = Rule(
    "IAC111",
    "missing-input",
    ERROR,
    "A module that is part of the files is called without a variable it needs, or with one it does not have.",
    "Give every variable that has no default, and no other.",
    TERRAFORM_ONLY,
)

# Secrets ----------------------------------------------------------------------------------------------------

SECRET: Final = Rule(
    "IAC201",
    "plaintext-secret",
    ERROR,
    "A password, key or token stands in the template in plain text.",
    "Take it out and change it where it is valid: it counts as known. Refer to a secret store, or take it as"
    " a parameter that is not echoed.",
)
ECHOED: Final = Rule(
    "IAC202",
    "echoed-secret",
    WARNING,
    "A parameter or variable for a secret is shown in consoles and plans.",
    "Set NoEcho: true, or sensitive = true in Terraform.",
    corrected=True,
)
REVEALED: Final = Rule(
    "IAC203",
    "revealed-secret",
    ERROR,
    "An output shows a secret to everybody who may look at the stack or the state.",
    "Remove the output, or mark it sensitive in Terraform.",
    corrected=True,
)
DEFAULT_SECRET: Final = Rule(
    "IAC204",
    "default-secret",
    ERROR,
    "A parameter or variable for a secret has a default: everybody who does not change it has the same one.",
    "Remove the default.",
)

# Who can reach it -------------------------------------------------------------------------------------------

OPEN_ADMINISTRATION: Final = Rule(
    "IAC301",
    "open-administration",
    ERROR,
    "SSH (22) or RDP (3389) is open to the whole internet.",
    "Allow the addresses that administrate, or use a session manager and no open port.",
)
OPEN_EVERYTHING: Final = Rule(
    "IAC302",
    "open-everything",
    ERROR,
    "All ports are open to the whole internet.",
    "Open the ports that are served, to those who use them.",
)
OPEN_STORE: Final = Rule(
    "IAC303",
    "open-store",
    ERROR,
    "The port of a database, cache or cluster is open to the whole internet.",
    "Allow the security group or network of those who use it.",
)
PUBLIC_DATABASE: Final = Rule(
    "IAC304",
    "public-database",
    ERROR,
    "A database has an address on the internet, or lets every address in.",
    "Keep it in private subnets and list who may connect.",
)
PLAIN_HTTP: Final = Rule(
    "IAC305",
    "plain-http",
    WARNING,
    "A load balancer or distribution serves plain HTTP and does not lead to HTTPS.",
    "Redirect to HTTPS.",
)

# Who can read it --------------------------------------------------------------------------------------------

PUBLIC_BUCKET: Final = Rule(
    "IAC401",
    "public-bucket",
    ERROR,
    "A bucket may be read, or even written, by everybody.",
    "Make it private; serve public files through a distribution.",
)
PUBLIC_POLICY: Final = Rule(
    "IAC402",
    "public-policy",
    ERROR,
    "A policy of a resource allows everybody (Principal *) without a condition.",
    "Name the principals, or add a condition that names them.",
)
PUBLIC_ALLOWED: Final = Rule(
    "IAC403",
    "public-access-allowed",
    WARNING,
    "The block on public access of a bucket is switched off.",
    "Switch all four settings on.",
    AWS_TOO,
)

# Encryption -------------------------------------------------------------------------------------------------

UNENCRYPTED_BUCKET: Final = Rule(
    "IAC501",
    "unencrypted-bucket",
    WARNING,
    "A bucket does not say how it encrypts what lies in it.",
    "Configure encryption at rest.",
    corrected=True,
)
UNENCRYPTED_DISK: Final = Rule(
    "IAC502",
    "unencrypted-disk",
    WARNING,
    "A disk or file system is not encrypted.",
    "Switch encryption on; for an existing one that means a new one.",
)
UNENCRYPTED_DATABASE: Final = Rule(
    "IAC503",
    "unencrypted-database",
    WARNING,
    "A database, cache or warehouse is not encrypted at rest.",
    "Switch encryption on; for an existing one that means a new one.",
)

# What is lost -----------------------------------------------------------------------------------------------

NO_DELETION_POLICY: Final = Rule(
    "IAC601",
    "no-deletion-policy",
    WARNING,
    "A resource that holds data goes, with its data, when the stack or the resource is removed.",
    "Set DeletionPolicy to Retain (or Snapshot), or prevent_destroy in Terraform.",
    corrected=True,
)
NO_DELETION_PROTECTION: Final = Rule(
    "IAC602",
    "no-deletion-protection",
    NOTE,
    "A database or load balancer can be deleted by one call.",
    "Switch deletion protection on.",
)
NO_BACKUP: Final = Rule(
    "IAC603",
    "no-backup",
    WARNING,
    "Backups are switched off.",
    "Keep them for some days at least.",
)

# Permissions ------------------------------------------------------------------------------------------------

ALL_PERMISSIONS: Final = Rule(
    "IAC701",
    "all-permissions",
    ERROR,
    "A policy allows everything on everything.",
    "Allow the actions that are needed, on what they are needed for.",
)
WIDE_PERMISSIONS: Final = Rule(
    "IAC702",
    "wide-permissions",
    WARNING,
    "A policy allows every action of a service, or everything but a list, on all resources.",
    "Allow the actions that are needed, on what they are needed for.",
)
ASSUMED_BY_ALL: Final = Rule(
    "IAC703",
    "assumed-by-everybody",
    ERROR,
    "A role may be assumed by everybody.",
    "Name who may assume it.",
)

# What will not travel ---------------------------------------------------------------------------------------

FIXED_PLACE: Final = Rule(
    "IAC801",
    "fixed-choice",
    NOTE,
    "A zone, an instance type or an image is fixed: it is not available everywhere and at all times.",
    "Make it a parameter, or look it up.",
)
FIXED_ID: Final = Rule(
    "IAC802",
    "fixed-id",
    WARNING,
    "The id of something in one account is fixed: the template works nowhere else.",
    "Make it a parameter, or refer to the resource.",
)
OUTDATED: Final = Rule(
    "IAC803",
    "outdated-version",
    WARNING,
    "A version of a language, runtime or engine is no longer supported, or is not one.",
    "Use a version that is supported.",
)
UNPINNED: Final = Rule(
    "IAC804",
    "unpinned-version",
    NOTE,
    "The version of a provider, a module or Terraform itself is not limited: the same files mean something"
    " else tomorrow.",
    "Give a version, or a range that ends before the next major one.",
    TERRAFORM_ONLY,
)
OLD_SYNTAX: Final = Rule(
    "IAC805",
    "old-syntax",
    NOTE,
    "A text holds one interpolation and nothing else, as Terraform 0.11 wanted it.",
    "Write the expression without quotes.",
    TERRAFORM_ONLY,
    corrected=True,
)

RULES: Final = (
    SYNTAX,
    DUPLICATE,
    UNDECLARED,
    UNUSED_PARAMETER,
    UNUSED_NAME,
    CYCLE,
    MISSING_PROPERTY,
    SHAPE,
    UNTYPED,
    BAD_DEFAULT,
    MISSING_INPUT,
    SECRET,
    ECHOED,
    REVEALED,
    DEFAULT_SECRET,
    OPEN_ADMINISTRATION,
    OPEN_EVERYTHING,
    OPEN_STORE,
    PUBLIC_DATABASE,
    PLAIN_HTTP,
    PUBLIC_BUCKET,
    PUBLIC_POLICY,
    PUBLIC_ALLOWED,
    UNENCRYPTED_BUCKET,
    UNENCRYPTED_DISK,
    UNENCRYPTED_DATABASE,
    NO_DELETION_POLICY,
    NO_DELETION_PROTECTION,
    NO_BACKUP,
    ALL_PERMISSIONS,
    WIDE_PERMISSIONS,
    ASSUMED_BY_ALL,
    FIXED_PLACE,
    FIXED_ID,
    OUTDATED,
    UNPINNED,
    OLD_SYNTAX,
)
