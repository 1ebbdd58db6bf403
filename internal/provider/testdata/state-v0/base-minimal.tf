resource "datalayer_base_image" "b" {
  name         = "minimal"
  repository   = "registry.example.com/team/base"
  attestations = { sbom = false, provenance = "none" }
}
