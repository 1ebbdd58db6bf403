terraform {
  required_providers {
    datalayer = {
      source = "datalayer/datalayer"
    }
  }
}

data "datalayer_image" "base" {
  image = "registry.example.com/team/base:2026.11"

  # Only what is known to be wrong stops the plan: met is null where a config alone cannot tell.
  lifecycle {
    postcondition {
      condition     = alltrue([for point in self.contract.points : point.met != false])
      error_message = join("\n", [for point in self.contract.points : "${point.id} is ${point.actual}, not ${point.expected}" if point.met == false])
    }
  }
}

output "base" {
  description = "What to write down as the base of an environment."
  value       = data.datalayer_image.base.reference
}

output "sbom" {
  description = "Digest of the SBOM for linux/amd64, if the image carries one."
  value = one([
    for a in data.datalayer_image.base.attestations : a.digest
    if a.predicate_type == "https://spdx.dev/Document" && a.platform == "linux/amd64"
  ])
}
