terraform {
  required_version = ">= 1.11"

  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

# The AWS identity comes from the environment: AWS_PROFILE, AWS_ACCESS_KEY_ID, IAM Identity Center, an instance's role.
provider "datalayer" {
  buildkit = {
    address = "tcp://buildkit.example.com:1234"
  }

  aws = {
    role_arn         = "arn:aws:iam::444455556666:role/environment-builder"
    session_duration = "30m"
  }
}

# The base is another team's, in another account and region, and has a role of its own that can read it.
resource "datalayer_environment" "agent" {
  name       = "agent"
  base       = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/base/python@sha256:7f2b3c1d9e8a4f6b5c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"
  repository = "444455556666.dkr.ecr.us-east-1.amazonaws.com/team/agent"

  base_registry = {
    role_arn = "arn:aws:iam::111122223333:role/base-reader"
  }

  lifecycle {
    create_before_destroy = true
  }
}
