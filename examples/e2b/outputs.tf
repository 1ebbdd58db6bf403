output "reference" {
  description = "What a sandbox is launched from."
  value       = datalayer_e2b_template.agent.reference
}

output "create_env" {
  description = "Variables to pass when a sandbox is created."
  value       = datalayer_e2b_template.agent.create_env
}
