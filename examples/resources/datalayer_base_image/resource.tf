terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

# Docker Official's Python, with the kernel stack that the provider ships.
resource "datalayer_base_image" "python" {
  name       = "python-3.13"
  version    = "2026.11"
  repository = "registry.example.com/team/base"

  # The old image stays until the new one is there.
  lifecycle {
    create_before_destroy = true
  }
}

# Debian's Python, on an image from a mirror.
resource "datalayer_base_image" "debian" {
  name       = "debian-13"
  repository = "registry.example.com/team/base"

  from   = "mirror.example.com/library/debian:trixie-slim"
  python = "apt"

  labels = {
    "org.opencontainers.image.title" = "debian-13"
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "datalayer_environment" "analysis" {
  name       = "analysis"
  repository = "registry.example.com/team/analysis"

  base           = datalayer_base_image.python.reference
  python_version = datalayer_base_image.python.python_version
  base_packages  = datalayer_base_image.python.packages
  base_libc      = datalayer_base_image.python.libc

  lock = <<-EOT
    # python: 3.13
    six==1.17.0 \
        --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 \
        --hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81
  EOT

  lifecycle {
    create_before_destroy = true
  }
}
