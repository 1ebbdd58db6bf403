import {
  to = datalayer_environment.analysis
  identity = {
    repository = "registry.example.com/team/analysis"
    digest     = "sha256:3b1f0c6f5d4e3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a3"
  }
}
