terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

resource "datalayer_environment" "analysis" {
  name       = "analysis"
  version    = "2026.11"
  repository = "registry.example.com/team/analysis"

  base           = "registry.example.com/team/base@sha256:7f2b3c1d9e8a4f6b5c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"
  python_version = "3.13"

  # Made by: uv pip compile --generate-hashes --python-version 3.13 --python-platform x86_64-manylinux_2_28 requirements.in
  lock = <<-EOT
    six==1.17.0 \
        --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 \
        --hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81
  EOT

  env = {
    OPENBLAS_NUM_THREADS = "2"
  }

  apt_packages = ["git", "jq"]

  files = [
    {
      path    = "/home/datalayer/.config/analysis.toml"
      content = "theme = \"dark\"\n"
    },
    {
      path    = "/srv/analysis/run"
      mode    = "0755"
      content = <<-EOT
        #!/bin/sh
        exec python3 -m analysis "$@"
      EOT
    },
  ]

  post_install = [
    { command = "python3 -c 'import six'" },
  ]

  labels = {
    "org.opencontainers.image.title" = "analysis"
  }

  timeouts = {
    create = "30m"
  }

  # The old image stays until the new one is there.
  lifecycle {
    create_before_destroy = true
  }
}

output "reference" {
  description = "What a sandbox is launched from."
  value       = datalayer_environment.analysis.reference
}
