package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/ecr"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// login is a resource's own way into one host: a credential, or a role that gets one.
type login struct {
	host       string
	credential image.Credential
	// role and externalID are those of a registry on ECR.
	role, externalID string
}

// access is what one operation does in one repository.
type access struct {
	repository reference.Repository
	actions    []credential.Action
}

func reads(repository reference.Repository) access {
	return access{repository, []credential.Action{credential.Pull}}
}

func looks(repository reference.Repository) access {
	return access{repository, []credential.Action{credential.Describe}}
}

func writes(repository reference.Repository) access {
	return access{repository, []credential.Action{credential.Pull, credential.Push}}
}

func removes(repository reference.Repository) access {
	return access{repository, []credential.Action{credential.Describe, credential.Delete}}
}

// resolver adds a resource's logins to the provider's, and what they are used for.
func (s *services) resolver(logins []login, uses ...access) *credential.Resolver {
	resolver := s.credentials
	for _, l := range logins {
		if l.role != "" {
			resolver = resolver.Assuming(l.host, l.role, l.externalID)
		} else {
			resolver = resolver.With(l.host, l.credential)
		}
	}
	for _, use := range uses {
		resolver = resolver.Using(use.repository.Host, credential.Grant{Repository: use.repository.Path, Actions: use.actions})
	}
	return resolver
}

// registry gives a client for what an operation does to an artifact that is there, beside building it: by the API of
// the service where there is one. Refresh and destroy have no logins of a resource.
func (s *services) registry(logins []login, uses ...access) *image.Client {
	if len(logins) == 0 && !anyECR(uses) {
		return s.registries
	}
	resolver := s.resolver(logins, uses...)
	return s.client(resolver, ecr.APIs(resolver))
}

// reader gives a client that reads by the registry protocol alone.
func (s *services) reader(logins []login, uses ...access) *image.Client {
	if len(logins) == 0 && !anyECR(uses) {
		return s.registries
	}
	return s.client(s.resolver(logins, uses...), nil)
}

// apis gives the API of the service behind a repository, if it is to be used.
type apis func(context.Context, reference.Repository) (image.API, error)

func (s *services) client(credentials image.Credentials, api apis) *image.Client {
	o := s.clients
	o.Credentials, o.API = credentials, api
	return image.New(o)
}

// ecrHost reads the host of an address, however it spells its port.
func ecrHost(host string) (credential.ECRHost, bool) {
	return credential.ParseECRHost(reference.CanonicalHost(host))
}

func anyECR(uses []access) bool {
	for _, use := range uses {
		if _, found := ecrHost(use.repository.Host); found {
			return true
		}
	}
	return false
}

// publisher gives the builder of images, and puts the credentials into the request that it is for.
func (s *services) publisher(logins []login, request *buildkit.Request) *buildkit.Publisher {
	uses := []access{reads(request.Base.Repository), writes(request.Repository)}
	for _, from := range request.Cache.Imports {
		uses = append(uses, reads(from.Repository))
	}
	if request.Cache.Export != (reference.Reference{}) {
		uses = append(uses, writes(request.Cache.Export.Repository))
	}
	if generator := request.Attestations.SBOMGenerator; generator != (reference.Reference{}) {
		uses = append(uses, reads(generator.Repository))
	}
	if len(s.nodes) > 0 {
		// What each daemon pushed for the whole is removed when the whole is there.
		uses = append(uses, removes(request.Repository))
	}
	resolver := s.resolver(logins, uses...)
	var api apis
	if len(s.nodes) > 0 {
		api = only(request.Repository, ecr.APIs(resolver))
	}
	request.Credentials, request.Secrets = resolver, s.secrets(logins)
	return &buildkit.Publisher{Registry: s.client(resolver, api), Connect: s.connect, Nodes: s.connectors(), Logger: s.logger, Now: time.Now}
}

// only leaves the other repositories to the registry protocol: what may be read there need not be looked up.
func only(repository reference.Repository, api apis) apis {
	return func(ctx context.Context, asked reference.Repository) (image.API, error) {
		if asked != repository {
			return nil, nil //nolint:nilnil // No API is an answer.
		}
		return api(ctx, asked)
	}
}

// plannedExpiry is null where no host that publisher asks can be AWS's matter, and unknown else. from is what is built on,
// attestations are as configured: the generator that is taken where they name none is not on ECR.
func (m builtImage) plannedExpiry(from types.String, attestations types.Object) types.String {
	imports := member[types.List](m.Cache, "import")
	if m.Cache.IsUnknown() || imports.IsUnknown() || attestations.IsUnknown() {
		return types.StringUnknown()
	}
	hosts := []types.String{from, m.Repository, member[types.String](m.Cache, "export"), member[types.String](attestations, "sbom_generator")}
	for _, element := range imports.Elements() {
		if text, ok := element.(types.String); ok {
			hosts = append(hosts, text)
		}
	}
	for _, address := range hosts {
		parsed, err := reference.Parse(address.ValueString())
		if address.IsUnknown() || err == nil && anyECR([]access{{repository: parsed.Repository}}) {
			return types.StringUnknown()
		}
	}
	return types.StringNull()
}

// expiry is when the last login that the request's hosts were given ends.
func expiry(request buildkit.Request) types.String {
	resolver, ok := request.Credentials.(*credential.Resolver)
	if !ok {
		return types.StringNull()
	}
	end := resolver.LastEnd()
	if end.IsZero() {
		return types.StringNull()
	}
	return types.StringValue(end.UTC().Format(time.RFC3339))
}

// loginUnknown tells that the configuration gives the host's login, or may, and it is not known yet.
func (s *services) loginUnknown(host string) bool {
	host = reference.CanonicalHost(host)
	_, isECR := credential.ParseECRHost(host)
	_, given := s.static[host]
	return s.registriesUnknown || s.hostsUnknown[host] || s.awsUnknown && isECR && !given
}

// warn says, once in the life of the provider, what the credentials that AWS gave reach.
func (s *services) warn(diagnostics *diag.Diagnostics) {
	for _, w := range s.aws.Warnings() {
		diagnostics.AddWarning(w.Title, w.Detail())
	}
}
