terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

resource "datalayer_e2b_template" "analysis" {
  name = "analysis"
  base = "registry.example.com/base/python@sha256:7f2b3c1d9e8a4f6b5c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"
  lock = file("requirements.txt")

  cpu_count = 4
  memory_mb = 4096
  tags      = ["stable"]

  env = {
    OPENBLAS_NUM_THREADS = "1"
  }
}
