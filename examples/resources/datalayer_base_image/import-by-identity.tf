import {
  to = datalayer_base_image.python
  identity = {
    repository = "registry.example.com/team/base"
    digest     = "sha256:7f2b3c1d9e8a4f6b5c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"
  }
}
