terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

# Asks AWS for the logins of ECR, here and at refresh and destroy. With a role each login is held to its grants.
provider "datalayer" {
  aws = {
    role_arn = "arn:aws:iam::111122223333:role/environment-builder"
  }
}

# A login that may pull one repository and push to it, made for this run.
ephemeral "datalayer_registry_credentials" "team" {
  host   = "111122223333.dkr.ecr.eu-west-1.amazonaws.com"
  grants = [{ repository = "team/env", actions = ["pull", "push"] }]
}

# A write-only argument takes it. Without the version, a new password alone plans nothing.
resource "datalayer_environment" "analysis" {
  name       = "analysis"
  base       = "registry.example.com/team/base@sha256:7f2b9c1d3e4a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e"
  repository = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/team/env"

  registry = {
    username    = "AWS"
    password_wo = ephemeral.datalayer_registry_credentials.team.password
  }

  lifecycle {
    create_before_destroy = true
  }
}
