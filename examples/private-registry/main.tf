terraform {
  required_version = ">= 1.11"

  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

variable "push_password" {
  description = "A token that may push to the repository. It is used at create and update, and kept nowhere."
  type        = string
  ephemeral   = true
}

variable "read_password" {
  description = "A token for refresh and destroy, which cannot see write-only arguments."
  type        = string
  ephemeral   = true
}

provider "datalayer" {
  registries = {
    "registry.example.com" = {
      username = "terraform"
      password = var.read_password
    }
  }
}

resource "datalayer_environment" "private" {
  name       = "private"
  base       = "registry.example.com/team/base@sha256:7f2b3c1d9e8a4f6b5c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"
  repository = "registry.example.com/team/private"

  registry = {
    username            = "pusher"
    password_wo         = var.push_password
    password_wo_version = 1
  }

  lifecycle {
    create_before_destroy = true
  }
}
