output "reference" {
  description = "What a sandbox is launched from: the image by its digest."
  value       = datalayer_environment.quickstart.reference
}

output "tag" {
  description = "A name for people; never launch from it."
  value       = datalayer_environment.quickstart.tag
}

output "packages" {
  description = "The packages installed from the lock."
  value       = datalayer_environment.quickstart.packages
}
