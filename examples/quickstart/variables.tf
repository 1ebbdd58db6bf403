variable "repository" {
  description = "The repository that takes the image, with its registry host: registry.example.com/team/quickstart. Its base goes to the one beside it, registry.example.com/team/quickstart-base."
  type        = string
}

variable "requirements" {
  description = "The packages to install."
  type        = list(string)
  default     = ["numpy", "pandas"]
}

variable "from" {
  description = "The plain image that the base is made on, by tag or digest. Default: Docker Official's python:3.13-slim-bookworm."
  type        = string
  default     = null
}

variable "python" {
  description = "Where the base's Python comes from: image, if the plain image has one, or apt."
  type        = string
  default     = "image"
}

variable "sbom_generator" {
  description = "The image that makes the SBOM, pinned by digest. Default: Docker's, docker.io/docker/buildkit-syft-scanner:stable-1, resolved to a digest when an image is created."
  type        = string
  default     = null
}
