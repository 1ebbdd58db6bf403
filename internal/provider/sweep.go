package provider

import (
	"os"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/ecr"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

// Sweep is the command that removes what a killed run left. It has no provider configuration, so the environment alone
// gives it its settings; further services are those of tests.
func Sweep(version string, further ...sweep.Service) sweep.Program {
	var source *credential.AWS
	return sweep.Program{
		Warnings: func() problem.List { return source.Warnings() },
		Settings: []sweep.Setting{
			{Variable: credential.RegistriesVariable, Meaning: "logins of registries, as JSON: {HOST: {\"username\": …, \"password\": …}},\n" +
				"or {HOST: {\"ecr\": {…}}} to ask AWS with its own variables"},
			{Variable: e2bKeyVariable, Meaning: "the API key of the team at E2B; " + e2bDomainVariable + " and " + e2bAPIVariable + "\nas E2B's SDKs take them"},
			{Variable: "DOCKER_CONFIG", Meaning: "the folder of the Docker configuration, for all other registries"},
			{Variable: "AWS_PROFILE, AWS_…", Meaning: "those of the AWS SDK, where " + credential.RegistriesVariable + " says ecr"},
			{Variable: "HTTPS_PROXY, NO_PROXY", Meaning: "the proxy for all requests; HTTP_PROXY for plain HTTP"},
			{Variable: "SSL_CERT_FILE", Meaning: "a file of PEM certificates to trust (Linux)"},
		},
		Services: func(repositories []reference.Repository) ([]sweep.Service, error) {
			given, err := credential.ParseRegistries(os.Getenv(credential.RegistriesVariable))
			if err != nil {
				return nil, err
			}
			source = credential.NewAWS(credential.AWSOptions{Hosts: given.ECR})
			resolver := credential.NewResolver(given.Logins).WithAWS(source)
			transport := image.NewTransport()
			open := func(repository reference.Repository, actions ...credential.Action) *image.Client {
				using := resolver.Using(repository.Host, credential.Grant{Repository: repository.Path, Actions: actions})
				return image.New(image.Options{Credentials: using, API: ecr.APIs(using), Transport: transport, UserAgent: userAgent(version)})
			}
			templates, err := sweptTemplates(version)
			if err != nil {
				return nil, err
			}
			return append([]sweep.Service{sweep.Images(open, repositories), templates}, further...), nil
		},
	}
}

func sweptTemplates(version string) (sweep.Service, error) {
	options := e2bOptions(e2bModel{})
	options.UserAgent, options.FromEnvironment = userAgent(version), true
	// Nothing is asked of a sandbox itself, so this address cannot be at fault.
	options.SandboxURL = ""
	if options.APIKey.Empty() {
		return sweep.E2B(nil, "set "+e2bKeyVariable), nil
	}
	client, err := e2b.New(options)
	return sweep.E2B(client, ""), e2bModel{}.blamed(err)
}
