terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

variable "index_password" {
  description = "The password of the package index."
  type        = string
  ephemeral   = true
}

# A new value resolves all anew: `terraform apply -var upgrade=2026-12`.
variable "upgrade" {
  type    = string
  default = "2026-11"
}

# Without a base: uv on the machine that runs Terraform, for a target that is named.
resource "datalayer_package_lock" "analysis" {
  requirements = split("\n", file("${path.module}/requirements.in"))
  constraints  = ["urllib3<3"]

  python_version  = "3.13"
  python_platform = "x86_64-manylinux_2_28"

  index = {
    url                 = "https://packages.example.com/simple/"
    username            = "ci"
    password_wo         = var.index_password
    password_wo_version = 1
    extra_urls          = ["https://mirror.example.com/simple"]
  }

  upgrade_trigger = { month = var.upgrade }
}

output "packages" {
  value = datalayer_package_lock.analysis.packages
}
