variable "base" {
  description = "A base that satisfies sandbox-contract/v1, pinned by digest, where E2B can pull it."
  type        = string
}

variable "name" {
  description = "The name of the template in the team."
  type        = string
  default     = "datalayer-agent"
}

variable "memory_mb" {
  description = "Memory of a sandbox in MiB."
  type        = number
  default     = 1024
}
