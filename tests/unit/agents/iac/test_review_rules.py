"""Every rule, broken and kept, in every language it is for.

A line that breaks the rule says so at its end, as a comment: `#! IAC301`. The rule must be found in these
lines and nowhere else.
"""

import re
import sys
from textwrap import dedent

import pytest

from a2a_agents.iac.review.findings import Kind
from a2a_agents.iac.review.reviewing import Review, review
from a2a_agents.iac.review.rules import MISSING_INPUT, RULES
from a2a_agents.iac.review.source import Source

MARK = re.compile(r"[ ]*#! (IAC\d{3}(?: IAC\d{3})*)$", re.MULTILINE)

CFN, ROS, TF = Kind.CLOUDFORMATION, Kind.ROS, Kind.TERRAFORM
HEADS = {
    CFN: 'AWSTemplateFormatVersion: "2010-09-09"\n',
    ROS: "ROSTemplateFormatVersion: '2015-09-01'\n",
    TF: "",
}
NAMES = {CFN: "template.yaml", ROS: "template.yaml", TF: "main.tf"}

CASES: dict[str, list[tuple[Kind, str]]] = {
    "IAC101": [
        (CFN, "Resources:\n  A:\n    Type: [AWS::S3::Bucket\n    Properties: {} #! IAC101\n"),
        (ROS, 'Resources:\n  A:\n    Type: "ALIYUN::OSS::Bucket #! IAC101\n'),
        (TF, 'resource "a_b" "c" {\n  x = = 1 #! IAC101\n}\n'),
    ],
    "IAC102": [
        (CFN, "Resources:\n  A: {Type: AWS::SNS::Topic}\n  A: {Type: AWS::SNS::Topic} #! IAC102\n"),
        (
            TF,
            """
            resource "null_resource" "a" {
              triggers = { x = 1 }
              triggers = { x = 2 } #! IAC102
            }
            resource "null_resource" "a" { #! IAC102
            }
            """,
        ),
    ],
    "IAC103": [
        (
            CFN,
            """
            Parameters:
              Name: {Type: String}
            Mappings:
              M: {a: {b: c}}
            Conditions:
              Yes_: !Equals [!Ref Name, a]
            Resources:
              A:
                Type: AWS::SNS::Topic
                Condition: Yes_
                DependsOn: Gone #! IAC103
                Properties:
                  TopicName: !Sub "${Name}-${Nobody}-${AWS::Region}-${!Literal}" #! IAC103
                  DisplayName: !FindInMap [N, a, b] #! IAC103
                  KmsMasterKeyId: !If [No_, a, !GetAtt Missing.Arn] #! IAC103
              B:
                Type: AWS::SQS::Queue
                Properties:
                  QueueName: !Sub ["${X}-${Name}", {X: !FindInMap [M, a, b]}]
                  RedrivePolicy:
                    deadLetterTargetArn: !GetAtt A.TopicArn
                    x: {Fn::GetAtt: [A, TopicArn]}
            """,
        ),
        (
            ROS,
            """
            Parameters:
              Zone: {Type: String, AssociationProperty: "ZoneId"}
            Locals:
              L: {Type: Macro, Value: a}
            Resources:
              A:
                Type: ALIYUN::ECS::VSwitch
                Properties:
                  VpcId: {Ref: Vpc} #! IAC103
                  ZoneId: {Ref: Zone}
                  CidrBlock: {Ref: L}
                  VSwitchName: {Ref: ALIYUN::StackName}
            """,
        ),
        (
            TF,
            """
            variable "here" { type = string }
            locals { here = var.here }
            moved {
              from = aws_sns_topic.before
              to   = aws_sns_topic.here
            }
            data "aws_region" "here" {}
            module "here" {
              source = "./m"
              a      = var.gone #! IAC103
              b      = local.gone #! IAC103
              c      = module.gone.x #! IAC103
              d      = data.aws_region.gone.name #! IAC103
              e      = [for aws_x in var.here : aws_x.y if local.here]
              f      = data.aws_region.here.name
            }
            resource "aws_sns_topic" "here" {
              name = "${aws_sqs_queue.gone.name}-${module.here.x}" #! IAC103
              text = <<-EOT
                hello ${var.also_gone} #! IAC103
              EOT
              dynamic "aws_thing" {
                for_each = var.here
                content { v = aws_thing.value }
              }
            }
            """,
        ),
    ],
    "IAC104": [
        (
            CFN,
            """
            Parameters:
              Used: {Type: String}
              Unused: {Type: String} #! IAC104
            Resources:
              A: {Type: AWS::SNS::Topic, Properties: {TopicName: !Ref Used}}
            """,
        ),
        (
            ROS,
            """
            Parameters:
              Vpc: {Type: String}
              Switch:
                Type: String
                AssociationPropertyMetadata: {VpcId: "${Vpc}"}
              Unused: {Type: String} #! IAC104
            Resources:
              A: {Type: ALIYUN::ECS::Instance, Properties: {VSwitchId: {Ref: Switch}}}
            """,
        ),
        (
            TF,
            """
            variable "used" { type = string }
            variable "unused" { type = string } #! IAC104
            output "x" { value = "${var.used}" }
            """,
        ),
    ],
    "IAC105": [
        (
            CFN,
            """
            Mappings:
              M: {a: {b: c}} #! IAC105
            Conditions:
              C: !Equals [a, b] #! IAC105
            Resources:
              A: {Type: AWS::SNS::Topic}
            """,
        ),
        (
            TF,
            """
            locals {
              used   = 1
              unused = local.used #! IAC105
            }
            data "aws_region" "unused" {} #! IAC105
            data "alicloud_oss_service" "open" { enable = "On" }
            """,
        ),
    ],
    "IAC106": [
        (
            CFN,
            """
            Resources:
              A: #! IAC106
                Type: AWS::EC2::SecurityGroup
                Properties: {GroupDescription: !Ref B}
              B:
                Type: AWS::EC2::SecurityGroup
                DependsOn: [A]
                Properties: {GroupDescription: x}
              C: {Type: AWS::SNS::Topic, DependsOn: A}
            """,
        ),
        (
            TF,
            """
            locals {
              a = local.b #! IAC106
              b = local.a
            }
            resource "null_resource" "self" { #! IAC106
              triggers = { x = null_resource.self.id }
            }
            """,
        ),
    ],
    "IAC107": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::EC2::Subnet, Properties: {CidrBlock: 10.0.0.0/24}} #! IAC107
              B: {Type: AWS::EC2::Subnet, Properties: {VpcId: vpc}}
            """,
        ),
        (
            ROS,
            """
            Resources:
              A: {Type: ALIYUN::OSS::Bucket} #! IAC107
              B: {Type: ALIYUN::OSS::Bucket, Properties: {BucketName: b}}
            """,
        ),
        (
            TF,
            """
            resource "aws_iam_role" "a" { name = "x" } #! IAC107
            resource "aws_iam_role" "b" { assume_role_policy = "{}" }
            """,
        ),
    ],
    "IAC108": [
        (
            CFN,
            "Parameters: [a] #! IAC108\nResources:\n  A: {Properties: {}} #! IAC108\n  B: text #! IAC108\n",
        ),
        (ROS, "Resources:\n  A: {Type: ALIYUN::ECS::VPC, Properties: text} #! IAC108\n"),
        (TF, 'resource "one" {} #! IAC108\nsomething {} #! IAC108\nx = 1 #! IAC108\n'),
    ],
    "IAC109": [
        (
            CFN,
            """
            Parameters:
              A: {Default: x} #! IAC109
              B: {Type: String}
            Resources:
              T: {Type: AWS::SNS::Topic, Properties: {TopicName: !Sub "${A}${B}"}}
            """,
        ),
        (TF, 'variable "a" {} #! IAC109\nvariable "b" { type = any }\n'),
    ],
    "IAC110": [
        (
            CFN,
            """
            Parameters:
              A: {Type: String, AllowedValues: [a, b], Default: c} #! IAC110
              B: {Type: Number, Default: many} #! IAC110
              C: {Type: Number, MaxValue: 5, Default: 9} #! IAC110
              D: {Type: String, MinLength: 3, Default: ab} #! IAC110
              E: {Type: String, AllowedValues: [true, false], Default: "true"}
              F: {Type: Number, MinValue: 1, MaxValue: 5, Default: 3}
              G: {Type: CommaDelimitedList, AllowedValues: [a, b], Default: "a,b"}
            Resources: {}
            """,
        ),
        (ROS, "Parameters:\n  A: {Type: String, AllowedValues: [a], Default: b} #! IAC110\nResources: {}\n"),
    ],
    "IAC201": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::RDS::DBInstance
                Properties:
                  MasterUserPassword: Sup3rGeheim #! IAC201
              B:
                Type: AWS::RDS::DBInstance
                Properties:
                  MasterUserPassword: "{{resolve:secretsmanager:db:SecretString:password}}"
              C:
                Type: AWS::Lambda::Function
                Properties:
                  Environment:
                    Variables:
                      API_KEY: abcd1234efgh #! IAC201
                      TOKEN_TTL: "3600"
                      SECRET_ARN: arn:aws:secretsmanager:eu-west-1:1:secret:x
              D:
                Type: AWS::ECS::TaskDefinition
                Properties:
                  ContainerDefinitions:
                    - Environment:
                        - {Name: DB_PASSWORD, Value: correcthorse} #! IAC201
                        - {Name: DB_HOST, Value: localhost}
              E:
                Type: AWS::SSM::Parameter
                Properties:
                  Value: AKIAQWERTYUIOPASDFGH #! IAC201
              F:
                Type: AWS::SecretsManager::Secret
                Properties:
                  SecretString: '{"user": "a", "password": "{{resolve:secretsmanager:x}}"}'
            """,
        ),
        (
            ROS,
            "Resources:\n  A: {Type: ALIYUN::ECS::Instance, Properties: {Password: Geheim123}} #! IAC201\n",
        ),
        (
            TF,
            """
            provider "alicloud" {
              secret_key = "s3cr3tk3ys3cr3tk3y" #! IAC201
            }
            resource "aws_db_instance" "a" {
              password = var.password
              url      = "postgres://app:hunter22@db.example.org/app" #! IAC201
            }
            resource "aws_instance" "a" {
              user_data = <<-EOF
                export DB_PASSWORD=correct-horse #! IAC201
                export OTHER_TOKEN=$DB_PASSWORD
                aws_secret_access_key = "abcdefghijklmnopqrst0123456789ABCDEFGHIJ" #! IAC201
              EOF
            }
            resource "alicloud_log_store_index" "a" {
              token = ", '\\";=()[]{}?@&<>/:"
            }
            variable "password" { type = string }
            """,
        ),
    ],
    "IAC202": [
        (
            CFN,
            """
            Parameters:
              DbPassword: {Type: String} #! IAC202
              Hidden_Password: {Type: String, NoEcho: true}
              PasswordLength: {Type: Number}
              TokenSecretArn: {Type: String}
              KeyName: {Type: "AWS::EC2::KeyPair::KeyName"}
            Resources: {}
            """,
        ),
        (ROS, "Parameters:\n  RootPassword: {Type: String} #! IAC202\nResources: {}\n"),
        (
            TF,
            """
            variable "api_token" { type = string } #! IAC202
            variable "db_password" {
              type      = string
              sensitive = true
            }
            variable "create_password" { type = bool }
            """,
        ),
    ],
    "IAC203": [
        (
            CFN,
            """
            Parameters:
              Password: {Type: String, NoEcho: true}
            Resources:
              K: {Type: AWS::IAM::AccessKey, Properties: {UserName: !Ref Password}}
            Outputs:
              A: {Value: !Ref Password} #! IAC203
              B: {Value: !GetAtt K.SecretAccessKey} #! IAC203
              C: {Value: !Ref K}
            """,
        ),
        (
            TF,
            """
            variable "password" {
              type      = string
              sensitive = true
            }
            output "a" { value = var.password } #! IAC203
            output "b" { value = random_password.x.result } #! IAC203
            output "c" {
              value     = random_password.x.result
              sensitive = true
            }
            output "d" { value = random_string.x.result }
            """,
        ),
    ],
    "IAC204": [
        (
            CFN,
            "Parameters:\n  Password: {Type: String, Default: changeme} #! IAC204\nResources: {}\n",
        ),
        (ROS, "Parameters:\n  Password: {Type: String, NoEcho: true, Default: ''}\nResources: {}\n"),
        (TF, 'variable "password" {\n  sensitive = true\n  default   = "changeme" #! IAC204\n}\n'),
    ],
    "IAC301": [
        (
            CFN,
            """
            Parameters:
              From: {Type: String, Default: 0.0.0.0/0}
            Resources:
              A:
                Type: AWS::EC2::SecurityGroup
                Properties:
                  GroupDescription: x
                  SecurityGroupIngress:
                    - {IpProtocol: tcp, FromPort: 22, ToPort: 22, CidrIp: 0.0.0.0/0} #! IAC301
                    - {IpProtocol: tcp, FromPort: 3000, ToPort: 4000, CidrIpv6: "::/0"} #! IAC301
                    - {IpProtocol: tcp, FromPort: 22, ToPort: 22, CidrIp: 10.0.0.0/8}
                    - {IpProtocol: tcp, FromPort: 443, ToPort: 443, CidrIp: 0.0.0.0/0}
              B:
                Type: AWS::EC2::SecurityGroupIngress
                Properties:
                  IpProtocol: tcp
                  FromPort: "3389"
                  ToPort: "3389"
                  CidrIp: !Ref From #! IAC301
            """,
        ),
        (
            ROS,
            """
            Resources:
              A:
                Type: ALIYUN::ECS::SecurityGroup
                Properties:
                  SecurityGroupIngress:
                    - IpProtocol: tcp
                      PortRange: 22/22
                      SourceCidrIp: 0.0.0.0/0 #! IAC301
                    - {IpProtocol: tcp, PortRange: 22/22, SourceCidrIp: 0.0.0.0/0, Policy: drop}
                    - {IpProtocol: tcp, PortRange: 80/443, SourceCidrIp: 0.0.0.0/0}
            """,
        ),
        (
            TF,
            """
            resource "aws_security_group" "a" {
              ingress {
                from_port   = 22
                to_port     = 22
                protocol    = "tcp"
                cidr_blocks = ["10.0.0.0/8", "0.0.0.0/0"] #! IAC301
              }
            }
            resource "aws_security_group_rule" "out" {
              type              = "egress"
              from_port         = 22
              to_port           = 22
              protocol          = "tcp"
              security_group_id = "x"
              cidr_blocks       = ["0.0.0.0/0"]
            }
            resource "aws_vpc_security_group_ingress_rule" "a" {
              ip_protocol = "tcp"
              from_port   = 22
              to_port     = 22
              cidr_ipv4   = local.everywhere #! IAC301
            }
            locals { everywhere = "0.0.0.0/0" }
            resource "alicloud_security_group_rule" "a" {
              type              = "ingress"
              ip_protocol       = "tcp"
              port_range        = "3389/3389"
              security_group_id = "x"
              cidr_ip           = "0.0.0.0/0" #! IAC301
            }
            resource "google_compute_firewall" "a" {
              name          = "a"
              network       = "x"
              source_ranges = ["0.0.0.0/0"] #! IAC301
              allow {
                protocol = "tcp"
                ports    = ["80", "20-30"]
              }
            }
            resource "azurerm_network_security_group" "a" {
              security_rule {
                access                  = "Allow"
                direction               = "Inbound"
                protocol                = "Tcp"
                destination_port_ranges = ["443", "3389"]
                source_address_prefix   = "Internet" #! IAC301
              }
              security_rule {
                access                 = "Deny"
                direction              = "Inbound"
                protocol               = "Tcp"
                destination_port_range = "22"
                source_address_prefix  = "*"
              }
            }
            resource "azurerm_network_security_rule" "a" {
              access                 = "Allow"
              direction              = "Inbound"
              protocol               = "Tcp"
              destination_port_range = "22"
              source_address_prefix  = "*" #! IAC301
            }
            """,
        ),
    ],
    "IAC302": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::EC2::SecurityGroup
                Properties:
                  GroupDescription: x
                  SecurityGroupIngress: {IpProtocol: -1, CidrIp: 0.0.0.0/0} #! IAC302
                  SecurityGroupEgress: {IpProtocol: -1, CidrIp: 0.0.0.0/0}
            """,
        ),
        (
            ROS,
            """
            Resources:
              A:
                Type: ALIYUN::ECS::SecurityGroupIngress
                Properties: {IpProtocol: all, PortRange: -1/-1, SourceCidrIp: 0.0.0.0/0} #! IAC302
            """,
        ),
        (
            TF,
            """
            resource "aws_security_group" "a" {
              ingress {
                from_port   = 0
                to_port     = 65535
                protocol    = "tcp"
                cidr_blocks = ["0.0.0.0/0"] #! IAC302
              }
            }
            """,
        ),
    ],
    "IAC303": [
        (
            ROS,
            """
            Resources:
              A:
                Type: ALIYUN::ECS::SecurityGroupIngress
                Properties: {IpProtocol: tcp, PortRange: 3306/3306, SourceCidrIp: 0.0.0.0/0} #! IAC303
            """,
        ),
        (
            TF,
            """
            resource "aws_security_group" "a" {
              ingress = [{
                from_port   = 6379
                to_port     = 6379
                protocol    = "tcp"
                cidr_blocks = ["0.0.0.0/0"] #! IAC303
              }]
            }
            """,
        ),
    ],
    "IAC304": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::RDS::DBInstance, Properties: {PubliclyAccessible: true}} #! IAC304
              B: {Type: AWS::RDS::DBInstance, Properties: {PubliclyAccessible: "false"}}
            """,
        ),
        (
            ROS,
            """
            Resources:
              A:
                Type: ALIYUN::RDS::DBInstance
                Properties:
                  SecurityIPList: "10.0.0.1,0.0.0.0/0" #! IAC304
            """,
        ),
        (
            TF,
            """
            resource "alicloud_db_instance" "a" {
              security_ips = ["0.0.0.0/0"] #! IAC304
            }
            resource "google_sql_database_instance" "a" {
              settings {
                ip_configuration {
                  authorized_networks {
                    value = "0.0.0.0/0" #! IAC304
                  }
                }
              }
            }
            resource "azurerm_sql_firewall_rule" "a" { #! IAC304
              start_ip_address = "0.0.0.0"
              end_ip_address   = "255.255.255.255"
            }
            """,
        ),
    ],
    "IAC305": [
        (
            CFN,
            """
            Resources:
              A: #! IAC305
                Type: AWS::ElasticLoadBalancingV2::Listener
                Properties: {Protocol: HTTP, DefaultActions: [{Type: forward}], LoadBalancerArn: x}
              B:
                Type: AWS::ElasticLoadBalancingV2::Listener
                Properties: {Protocol: HTTP, DefaultActions: [{Type: redirect}], LoadBalancerArn: x}
              C:
                Type: AWS::CloudFront::Distribution
                Properties:
                  DistributionConfig:
                    DefaultCacheBehavior: {ViewerProtocolPolicy: allow-all} #! IAC305
            """,
        ),
    ],
    "IAC401": [
        (
            CFN,
            "Resources:\n  A: {Type: AWS::S3::Bucket, Properties: {AccessControl: PublicRead}} #! IAC401\n",
        ),
        (
            ROS,
            """
            Resources:
              A: {Type: ALIYUN::OSS::Bucket, Properties: {AccessControl: public-read}} #! IAC401
              B: {Type: ALIYUN::OSS::Bucket, Properties: {BucketName: b, AccessControl: private}}
            """,
        ),
        (
            TF,
            """
            resource "aws_s3_bucket_acl" "a" {
              acl = "public-read-write" #! IAC401
            }
            resource "google_storage_bucket_iam_binding" "a" {
              members = ["allUsers"] #! IAC401
            }
            """,
        ),
    ],
    "IAC402": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::S3::BucketPolicy
                Properties:
                  Bucket: b
                  PolicyDocument:
                    Statement:
                      - Effect: Allow
                        Principal: "*"
                        Action: s3:GetObject #! IAC402
                        Resource: x
                      - {Effect: Deny, Principal: "*", Action: "s3:*", Resource: x}
                      - {Effect: Allow, Principal: {AWS: "*"}, Action: a, Resource: x, Condition: {}}
            """,
        ),
        (
            TF,
            """
            resource "aws_s3_bucket_policy" "a" {
              bucket = "b"
              policy = jsonencode({
                Statement = [{
                  Effect    = "Allow"
                  Principal = { AWS = "*" }
                  Action    = ["s3:GetObject"] #! IAC402
                  Resource  = "x"
                }]
              })
            }
            """,
        ),
    ],
    "IAC403": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::S3::Bucket
                Properties:
                  PublicAccessBlockConfiguration:
                    BlockPublicAcls: false #! IAC403
                    BlockPublicPolicy: true
            """,
        ),
        (
            TF,
            """
            resource "aws_s3_bucket_public_access_block" "a" {
              bucket            = "b"
              block_public_acls = false #! IAC403
            }
            """,
        ),
    ],
    "IAC501": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::S3::Bucket} #! IAC501
              B:
                Type: AWS::S3::Bucket
                Properties: {BucketEncryption: {ServerSideEncryptionConfiguration: []}}
            """,
        ),
        (ROS, "Resources:\n  A: {Type: ALIYUN::OSS::Bucket, Properties: {BucketName: b}} #! IAC501\n"),
        (
            TF,
            """
            resource "aws_s3_bucket" "a" {} #! IAC501
            resource "aws_s3_bucket" "b" {}
            resource "aws_s3_bucket_server_side_encryption_configuration" "b" {
              bucket = aws_s3_bucket.b.id
            }
            resource "alicloud_oss_bucket" "a" {} #! IAC501
            """,
        ),
    ],
    "IAC502": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::EC2::Volume, Properties: {AvailabilityZone: x}} #! IAC502
              B: {Type: AWS::EC2::Volume, Properties: {AvailabilityZone: x, Encrypted: true}}
              C:
                Type: AWS::EC2::Instance
                Properties:
                  BlockDeviceMappings:
                    - Ebs: {VolumeSize: 5} #! IAC502
                    - Ebs: {VolumeSize: 5, Encrypted: true}
            """,
        ),
        (ROS, "Resources:\n  A: {Type: ALIYUN::ECS::Disk, Properties: {ZoneId: {Ref: Z}}} #! IAC502\n"),
        (TF, 'resource "aws_ebs_volume" "a" {\n  encrypted = false #! IAC502\n}\n'),
    ],
    "IAC503": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::RDS::DBInstance, Properties: {StorageEncrypted: no}} #! IAC503
              B: {Type: AWS::RDS::DBInstance, Properties: {DBClusterIdentifier: !Ref A}}
            """,
        ),
        (ROS, "Resources:\n  A: {Type: ALIYUN::RDS::DBInstance} #! IAC503\n"),
        (
            TF,
            """
            resource "aws_rds_cluster" "a" { #! IAC503
              cluster_identifier = "x"
            }
            resource "aws_db_instance" "a" { storage_encrypted = true }
            """,
        ),
    ],
    "IAC601": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::DynamoDB::Table} #! IAC601
              B: {Type: AWS::DynamoDB::Table, DeletionPolicy: Retain}
              C: {Type: AWS::RDS::DBInstance}
            """,
        ),
        (ROS, "Resources:\n  A: {Type: ALIYUN::NAS::FileSystem} #! IAC601\n"),
        (
            TF,
            """
            resource "aws_dynamodb_table" "a" { #! IAC601
            }
            resource "aws_dynamodb_table" "b" {
              lifecycle {
                prevent_destroy = true
              }
            }
            """,
        ),
    ],
    "IAC602": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::RDS::DBCluster} #! IAC602
              B: {Type: AWS::RDS::DBCluster, Properties: {DeletionProtection: true}}
            """,
        ),
        (ROS, "Resources:\n  A: {Type: ALIYUN::POLARDB::DBCluster} #! IAC602\n"),
        (TF, 'resource "aws_lb" "a" {\n  enable_deletion_protection = false #! IAC602\n}\n'),
    ],
    "IAC603": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::RDS::DBCluster, Properties: {BackupRetentionPeriod: 0}} #! IAC603
            """,
        ),
        (
            TF,
            """
            resource "aws_db_instance" "a" {} #! IAC603
            resource "aws_db_instance" "b" { backup_retention_period = 7 }
            """,
        ),
    ],
    "IAC701": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::IAM::ManagedPolicy
                Properties:
                  PolicyDocument:
                    Statement: {Effect: Allow, Action: "*", Resource: "*"} #! IAC701
              B:
                Type: AWS::IAM::Role
                Properties:
                  AssumeRolePolicyDocument: {}
                  ManagedPolicyArns: ["arn:aws:iam::aws:policy/AdministratorAccess"] #! IAC701
            """,
        ),
        (
            ROS,
            """
            Resources:
              A:
                Type: ALIYUN::RAM::ManagedPolicy
                Properties:
                  PolicyName: x
                  PolicyDocument:
                    Statement: [{Effect: Allow, Action: ["*"], Resource: ["*"]}] #! IAC701
            """,
        ),
        (
            TF,
            """
            resource "aws_iam_policy" "a" {
              policy = <<EOF
            {
              "Statement": [{
                "Effect": "Allow",
                "Action": "*", #! IAC701
                "Resource": "*"
              }]
            }
            EOF
            }
            resource "aws_iam_policy" "b" {
              policy = <<EOF
            {
              "Statement": [
                {"Effect": "Allow", "Action": "s3:*", "Resource": "${aws_s3_bucket.b.arn}/*"},
                {"Effect": "Allow", "Action": "*", "Resource": "*"} #! IAC701
              ]
            }
            EOF
            }
            resource "aws_iam_role_policy_attachment" "a" {
              role       = "x"
              policy_arn = "arn:aws:iam::aws:policy/AdministratorAccess" #! IAC701
            }
            data "aws_iam_policy_document" "a" {
              statement {
                actions   = ["s3:GetObject"]
                resources = ["*"]
              }
            }
            """,
        ),
    ],
    "IAC702": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::IAM::Policy
                Properties:
                  PolicyName: x
                  PolicyDocument:
                    Statement:
                      - {Effect: Allow, Action: "s3:*", Resource: "*"} #! IAC702
                      - {Effect: Allow, NotAction: "iam:*", Resource: "*"} #! IAC702
                      - {Effect: Allow, Action: "s3:*", Resource: !GetAtt B.Arn}
            """,
        ),
        (
            TF,
            """
            data "aws_iam_policy_document" "a" {
              statement { #! IAC702
                actions   = ["ec2:*"]
                resources = ["*"]
              }
            }
            """,
        ),
    ],
    "IAC703": [
        (
            CFN,
            """
            Resources:
              A:
                Type: AWS::IAM::Role
                Properties:
                  AssumeRolePolicyDocument:
                    Statement: [{Effect: Allow, Principal: {AWS: "*"}, Action: sts:AssumeRole}] #! IAC703
              B:
                Type: AWS::IAM::Role
                Properties:
                  AssumeRolePolicyDocument:
                    Statement: [{Effect: Allow, Principal: {Service: lambda}, Action: sts:AssumeRole}]
            """,
        ),
    ],
    "IAC801": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::EC2::Subnet, Properties: {AvailabilityZone: eu-west-1a, VpcId: x}} #! IAC801
              B: {Type: AWS::EC2::Instance, Properties: {ImageId: ami-0abcdef1234567890}} #! IAC801
              C: {Type: AWS::EC2::Subnet, Properties: {AvailabilityZone: !Select [0, !GetAZs ""]}}
            """,
        ),
        (
            ROS,
            """
            Resources:
              A:
                Type: ALIYUN::ECS::Instance
                Properties:
                  ZoneId: cn-hangzhou-h #! IAC801
                  InstanceType: ecs.g6.large #! IAC801
                  ImageId: {Ref: Image}
            """,
        ),
        (TF, 'resource "aws_ebs_volume" "a" {\n  availability_zone = "us-east-1a" #! IAC801\n}\n'),
    ],
    "IAC802": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::EC2::Subnet, Properties: {VpcId: vpc-0123456789abcdef0}} #! IAC802
              B: {Type: AWS::SNS::Topic, Properties: {X: "arn:aws:sns:us-east-1:123456789012:x"}} #! IAC802
            """,
        ),
        (ROS, "Resources:\n  A: {Type: X::Y::Z, Properties: {VpcId: vpc-bp1qpo0kug3a20qqe99um}} #! IAC802\n"),
        (TF, 'resource "aws_instance" "a" {\n  subnet_id = "subnet-12345678" #! IAC802\n}\n'),
    ],
    "IAC803": [
        (
            CFN,
            """
            Resources:
              A: {Type: AWS::Lambda::Function, Properties: {Runtime: python3.6}} #! IAC803
              B: {Type: AWS::Lambda::Function, Properties: {Runtime: python3.13}}
              C: {Type: AWS::RDS::DBInstance, Properties: {Engine: mysql, EngineVersion: "5.7.33"}} #! IAC803
              D: {Type: AWS::AutoScaling::LaunchConfiguration} #! IAC803
              E:
                Type: AWS::CloudFront::Distribution
                Properties: {ViewerCertificate: {MinimumProtocolVersion: TLSv1}} #! IAC803
            """,
        ),
        (
            TF,
            """
            terraform {
              required_version = "~> 0.12" #! IAC803
            }
            data "template_file" "a" {} #! IAC803
            resource "aws_lambda_function" "a" {
              runtime = "nodejs12.x" #! IAC803
            }
            """,
        ),
    ],
    "IAC804": [
        (
            TF,
            """
            terraform {
              required_providers {
                aws = { source = "hashicorp/aws" } #! IAC804
                null = {
                  source  = "hashicorp/null"
                  version = "~> 3.0"
                }
              }
            }
            module "a" { source = "terraform-aws-modules/vpc/aws" } #! IAC804
            module "b" {
              source  = "terraform-aws-modules/vpc/aws"
              version = "5.0.0"
            }
            module "c" { source = "git::https://example.org/x.git" } #! IAC804
            module "d" { source = "git::https://example.org/x.git?ref=v1" }
            module "e" { source = "./local" }
            """,
        ),
        (TF, 'provider "aws" { region = "x" } #! IAC804\n'),
    ],
    "IAC805": [
        (
            TF,
            """
            resource "x_y" "a" {
              b = "${var.c}" #! IAC805
              d = "${var.c}-x"
              e = var.c
            }
            """,
        ),
    ],
}

PARAMETERS = [
    pytest.param(rule, kind, text, id=f"{rule}-{kind}-{number}")
    for rule, cases in CASES.items()
    for number, (kind, text) in enumerate(cases)
]


def reviewed(kind: Kind, text: str) -> tuple[Review, set[tuple[int, str]]]:
    marked = HEADS[kind] + dedent(text).lstrip("\n")
    expected = {
        (marked.count("\n", 0, found.start()) + 1, rule)
        for found in MARK.finditer(marked)
        for rule in found.group(1).split()
    }
    return review([Source(NAMES[kind], MARK.sub("", marked))]), expected


@pytest.mark.parametrize(("rule", "kind", "text"), PARAMETERS)
def test_a_rule_is_found_in_the_lines_that_break_it_and_nowhere_else(
    rule: str, kind: Kind, text: str
) -> None:
    found, expected = reviewed(kind, text)

    lines = {(each.at.line, each.rule.id) for each in found.findings if each.rule.id == rule}

    assert lines == {each for each in expected if each[1] == rule}
    assert all(kind in each.rule.kinds for each in found.findings)


def test_the_files_inside_of_a_template_of_the_terraform_type_are_reviewed_where_they_stand() -> None:
    template = dedent(
        """\
        ROSTemplateFormatVersion: '2015-09-01'
        Transform: Aliyun::OpenTofu-v1.8
        Workspace:
          readme.md: Hello
          acl.tf: |
            resource "alicloud_oss_bucket_acl" "a" {
              acl = "public-read"
            }
          broken.tf: |
            resource {
        """
    )

    found = review([Source("t.yaml", template)])

    assert [(each.at.source.name, each.at.line, each.rule.id) for each in found.findings] == [
        ("t.yaml#acl.tf", 7, "IAC401"),
        ("t.yaml#broken.tf", 10, "IAC101"),
    ]
    assert not found.corrections


def test_variables_files_are_held_to_the_variables_there_are() -> None:
    declared = 'variable "db_password" {\n  sensitive = true\n}\nlocals { x = var.db_password }\n'

    found = review([Source("v.tf", declared), Source("a.tfvars", 'db_password = "Geheim12"\nother = 1\n')])

    rules = {(each.at.source.name, each.at.line, each.rule.id) for each in found.findings}
    assert rules >= {("a.tfvars", 1, "IAC201"), ("a.tfvars", 2, "IAC103")}


def test_without_python_hcl2_terraform_is_passed_over_and_the_rest_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("terraform", "hcl_nodes"):
        monkeypatch.delitem(sys.modules, f"a2a_agents.iac.review.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "hcl2", None)

    found = review(
        [Source("main.tf", "locals {}"), Source("t.yaml", "Resources:\n  T: {Type: AWS::S3::Bucket}\n")]
    )

    assert "python-hcl2" in found.passed_over["main.tf"]
    assert [template.source.name for template in found.templates] == ["t.yaml"]


def test_yaml_merges_are_followed() -> None:
    template = dedent(
        """\
        ROSTemplateFormatVersion: '2015-09-01'
        Resources:
          A: {Type: ALIYUN::OSS::Bucket, Properties: &a {BucketName: a, AccessControl: public-read}}
          B:
            Type: ALIYUN::OSS::Bucket
            Properties: {<<: *a, AccessControl: private}
          C:
            Type: ALIYUN::OSS::Bucket
            Properties: {<<: [*a], BucketName: c}
        """
    )

    found = [each for each in review([Source("t.yaml", template)]).findings if each.rule.id == "IAC401"]

    assert [each.message.partition(" ")[0] for each in found] == ["A", "C"]


def test_a_module_among_the_files_is_called_with_what_it_needs_and_nothing_else() -> None:
    called = 'variable "needed" { type = any }\nvariable "wanted" {\n  type    = any\n  default = 1\n}\n'
    caller = 'module "m" {\n  source = "./modules/m"\n  extra  = 1\n}\n'

    outside = 'module "o" {\n  source = "../.."\n  x      = 1\n}\n'

    found = review([Source("main.tf", caller + outside), Source("modules/m/variables.tf", called)])

    assert [(each.at.source.name, each.at.line, each.message) for each in found.findings] == [
        ("main.tf", 1, "The module m needs the variable needed."),
        ("main.tf", 3, "The module m has no variable extra."),
    ]


def test_every_rule_is_tried_in_a_language_it_is_for() -> None:
    assert CASES.keys() == {rule.id for rule in RULES if rule is not MISSING_INPUT}
    for rule in (rule for rule in RULES if rule is not MISSING_INPUT):
        tried = {kind for kind, _ in CASES[rule.id]}
        assert tried <= rule.kinds, rule.id
