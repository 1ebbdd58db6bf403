terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

resource "datalayer_base_image" "python" {
  name       = "python-3.13"
  repository = "registry.example.com/team/base"

  lifecycle {
    create_before_destroy = true
  }
}

# Python, platform and kernel stack come from the base; uv runs in a step on it.
resource "datalayer_package_lock" "analysis" {
  base         = datalayer_base_image.python.reference
  requirements = ["numpy", "pandas>=3,<4"]
}

resource "datalayer_environment" "analysis" {
  name       = "analysis"
  repository = "registry.example.com/team/analysis"

  # With python_version, base_packages and base_libc a lock that is stale against its base is an error at plan.
  base           = datalayer_base_image.python.reference
  python_version = datalayer_base_image.python.python_version
  base_packages  = datalayer_base_image.python.packages
  base_libc      = datalayer_base_image.python.libc
  lock           = datalayer_package_lock.analysis.content

  lifecycle {
    create_before_destroy = true
  }
}
