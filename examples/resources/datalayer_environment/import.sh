# By the reference that the resource prints: repository and digest.
terraform import datalayer_environment.analysis registry.example.com/team/analysis@sha256:3b1f0c6f5d4e3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a3
