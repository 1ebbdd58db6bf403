terraform {
  required_version = ">= 1.11"

  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

# The BuildKit daemon is the one that BUILDKIT_HOST names, or the one at its well-known socket.
provider "datalayer" {}

resource "datalayer_environment" "quickstart" {
  name           = "quickstart"
  repository     = var.repository
  base           = var.base
  python_version = "3.13"
  lock           = file(coalesce(var.lock_file, "${path.module}/requirements.lock"))

  env = {
    OPENBLAS_NUM_THREADS = "1"
  }

  files = [
    {
      path    = "/home/datalayer/content/hello.py"
      content = <<-EOT
        import numpy
        import pandas

        print(pandas.DataFrame({"x": numpy.arange(3)}))
      EOT
    },
  ]

  attestations = {
    sbom_generator = var.sbom_generator
  }

  labels = {
    "org.opencontainers.image.title" = "quickstart"
  }

  # The old image stays until the new one is there.
  lifecycle {
    create_before_destroy = true
  }
}
