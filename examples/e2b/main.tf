terraform {
  required_version = ">= 1.11"

  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

# The key comes from E2B_API_KEY, as E2B's own SDKs take it.
provider "datalayer" {
  e2b = {}
}

# A change of content builds the template anew in place, so create_before_destroy is not set.
resource "datalayer_e2b_template" "agent" {
  name      = var.name
  base      = var.base
  lock      = file("${path.module}/requirements.txt")
  memory_mb = var.memory_mb
  tags      = ["stable"]

  env = {
    OPENBLAS_NUM_THREADS = "1"
  }

  files = [
    {
      path    = "/home/datalayer/content/hello.py"
      content = "import six\n\nprint(six.__version__)\n"
    },
  ]
}
