terraform {
  required_version = ">= 1.11"

  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

variable "buildkit_ca" {
  description = "PEM certificate of the authority that signed the daemon's certificate."
  type        = string
}

variable "buildkit_cert" {
  description = "PEM certificate by which the daemon knows this workspace."
  type        = string
}

variable "buildkit_key" {
  description = "PEM private key of buildkit_cert. An ephemeral variable is in no plan file."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "registry_password" {
  description = "A token that may push to, read and delete from the repository."
  type        = string
  ephemeral   = true
  sensitive   = true
}

provider "datalayer" {
  buildkit = {
    address = "tcp://buildkit.example.com:1234"

    # Text, or the paths of files where the machine that runs Terraform has some.
    tls = {
      ca   = var.buildkit_ca
      cert = var.buildkit_cert
      key  = var.buildkit_key
    }
  }

  registries = {
    "registry.example.com" = {
      username = "terraform"
      password = var.registry_password
    }
  }
}

resource "datalayer_environment" "remote" {
  name       = "remote"
  base       = "registry.example.com/team/base@sha256:7f2b3c1d9e8a4f6b5c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"
  repository = "registry.example.com/team/remote"

  lifecycle {
    create_before_destroy = true
  }
}

output "reference" {
  value = datalayer_environment.remote.reference
}
