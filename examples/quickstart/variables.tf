variable "base" {
  description = "The base image, pinned by digest: host/path@sha256:…. It satisfies sandbox-contract/v1 and has Python 3.13."
  type        = string
}

variable "repository" {
  description = "The repository that takes the image, with its registry host: registry.example.com/team/quickstart."
  type        = string
}

variable "lock_file" {
  description = "A requirements file with hashes. Default: requirements.lock beside this file."
  type        = string
  default     = null
}

variable "sbom_generator" {
  description = "The image that makes the SBOM, pinned by digest. Default: the provider's own."
  type        = string
  default     = null
}
