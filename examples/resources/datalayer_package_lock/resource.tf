terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

variable "base" {
  description = "A base image, pinned by digest."
  type        = string
}

# Python, platform and kernel stack come from the base; uv runs in a step on it.
resource "datalayer_package_lock" "analysis" {
  base         = var.base
  requirements = ["numpy", "pandas>=3,<4"]
}

resource "datalayer_environment" "analysis" {
  name       = "analysis"
  repository = "registry.example.com/team/analysis"

  base           = var.base
  python_version = datalayer_package_lock.analysis.python_version
  lock           = datalayer_package_lock.analysis.content

  lifecycle {
    create_before_destroy = true
  }
}
