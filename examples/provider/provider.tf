terraform {
  required_version = ">= 1.11"

  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

variable "registry_password" {
  description = "The password for registry.example.com. An ephemeral variable is in no plan file."
  type        = string
  ephemeral   = true
}

provider "datalayer" {
  buildkit = {
    address      = "tcp://buildkit.example.com:1234"
    max_parallel = 4
  }

  # Hosts that are not listed use the Docker configuration and its credential helpers.
  registries = {
    "registry.example.com" = {
      username = "ci"
      password = var.registry_password
    }
  }
}
