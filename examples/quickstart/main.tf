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

# A base that satisfies sandbox-contract/v1, made on a plain image.
resource "datalayer_base_image" "quickstart" {
  name       = "quickstart-base"
  repository = "${var.repository}-base"
  from       = var.from
  python     = var.python

  attestations = {
    sbom_generator = var.sbom_generator
  }

  # The old image stays until the new one is there.
  lifecycle {
    create_before_destroy = true
  }
}

# The packages, resolved once on that base and kept in the state with their hashes.
resource "datalayer_package_lock" "quickstart" {
  requirements = var.requirements
  base         = datalayer_base_image.quickstart.reference
}

# The image that sandboxes are launched from.
resource "datalayer_environment" "quickstart" {
  name           = "quickstart"
  repository     = var.repository
  base           = datalayer_base_image.quickstart.reference
  python_version = datalayer_base_image.quickstart.python_version
  base_packages  = datalayer_base_image.quickstart.packages
  base_libc      = datalayer_base_image.quickstart.libc
  lock           = datalayer_package_lock.quickstart.content

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

  lifecycle {
    create_before_destroy = true
  }
}
