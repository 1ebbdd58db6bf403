// Package provider is the Terraform surface: schemas, thin CRUD and models. The work is done by the engines it wires together.
package provider

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const defaultMaxParallel = 2

var _ provider.ProviderWithEphemeralResources = &datalayerProvider{}

// New gives the constructor that the plugin server wants. version is the release, "dev" or "test".
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &datalayerProvider{version: version} }
}

type datalayerProvider struct{ version string }

func userAgent(version string) string { return "terraform-provider-datalayer/" + version }

func (p *datalayerProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "datalayer"
	resp.Version = p.version
}

func (p *datalayerProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Turns one Python environment (a base image pinned by digest, a hash-locked set of packages, a few settings) into an immutable artifact that sandboxes are launched from.",
		Attributes: map[string]schema.Attribute{
			"buildkit": schema.SingleNestedAttribute{Optional: true, MarkdownDescription: "The BuildKit daemon that builds images. It is reached at apply, never at plan.",
				Attributes: map[string]schema.Attribute{
					"address": schema.StringAttribute{Optional: true, Validators: []validator.String{builderAddress()},
						MarkdownDescription: "`unix:///path/to/buildkitd.sock` or `tcp://host:port`; where their programs are on the machine that runs Terraform, also `docker-container://NAME` (docker), `kube-pod://POD?namespace=…&container=…&context=…` (kubectl) and `ssh://USER@HOST/path/to/buildkitd.sock` (ssh). Default: `BUILDKIT_HOST`, then the well-known sockets of a rootful (`/run/buildkit/buildkitd.sock`) and a rootless (`$XDG_RUNTIME_DIR/buildkit/buildkitd.sock`) daemon."},
					"tls":   buildkitTLSAttribute(),
					"nodes": buildkitNodesAttribute(),
					"max_parallel": schema.NumberAttribute{Optional: true, Validators: []validator.Number{invalidNumber("a whole number, at least 1", func(n int64) bool { return n >= 1 })},
						MarkdownDescription: fmt.Sprintf("How many builds run at once. Default: %d.", defaultMaxParallel)},
				}},
			"registries": schema.MapNestedAttribute{Optional: true, MarkdownDescription: "Logins for registries, by host (`registry.example.com`, with its port if it has one). They go before `aws` and the Docker configuration, whose logins and credential helpers are used for all other hosts. Hosts that are not given here may be given in `" + credential.RegistriesVariable + "`, as JSON of the same shape.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"username": schema.StringAttribute{Optional: true, MarkdownDescription: "The user name. Required without `ecr`."},
					"password": schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "The password or token. Required without `ecr`."},
					"ecr":      ecrAttribute(),
				}}},
			"aws": awsAttribute(),
			"e2b": e2bAttribute(),
		},
	}
}

type providerModel struct {
	BuildKit   types.Object `tfsdk:"buildkit"`
	Registries types.Map    `tfsdk:"registries"`
	AWS        types.Object `tfsdk:"aws"`
	E2B        types.Object `tfsdk:"e2b"`
}

// Format keeps the passwords, which Terraform's values hold in the clear, out of every way of printing.
func (providerModel) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "provider configuration")
}

type buildkitModel struct {
	Address     types.String `tfsdk:"address"`
	TLS         types.Object `tfsdk:"tls"`
	Nodes       types.Map    `tfsdk:"nodes"`
	MaxParallel types.Number `tfsdk:"max_parallel"`
}

// Format keeps the key of buildkit.tls out of every way of printing.
func (buildkitModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "buildkit") }

func (p *datalayerProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config providerModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	s := &services{userAgent: userAgent(p.version), logger: newLogger(), maxParallel: defaultMaxParallel}
	if !config.BuildKit.IsNull() && !config.BuildKit.IsUnknown() {
		var builder buildkitModel
		if resp.Diagnostics.Append(config.BuildKit.As(ctx, &builder, objectOptions)...); resp.Diagnostics.HasError() {
			return
		}
		s.address = builder.Address.ValueString()
		s.tls, s.nodes = newBuildkitTLS(builder.TLS), stringMap(builder.Nodes)
		if !builder.MaxParallel.IsNull() && !builder.MaxParallel.IsUnknown() {
			s.maxParallel = whole(builder.MaxParallel)
		}
	}
	given, err := credential.ParseRegistries(os.Getenv(credential.RegistriesVariable))
	if err != nil {
		appendProblems(&resp.Diagnostics, err, credential.RegistriesVariable+" cannot be read")
		return
	}
	if s.registriesUnknown = config.Registries.IsUnknown(); !s.registriesUnknown {
		s.hostsUnknown = addRegistries(ctx, &given, config.Registries.Elements(), &resp.Diagnostics)
	}
	s.static = given.Logins
	s.clients = image.Options{Transport: image.NewTransport(), UserAgent: s.userAgent, Logger: s.logger}
	s.aws = newAWS(ctx, config.AWS, given.ECR, s, &resp.Diagnostics)
	s.credentials = credential.NewResolver(s.static).WithAWS(s.aws)
	s.registries = s.client(s.credentials, nil)
	s.addE2B(ctx, config.E2B, &resp.Diagnostics)
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = s, s, s
}

// addRegistries puts the configuration's registries over those of the environment, and gives the hosts of which not all is
// known yet.
func addRegistries(ctx context.Context, given *credential.Registries, entries map[string]attr.Value, diagnostics *diag.Diagnostics) (unknown map[string]bool) {
	spelled, unknown := map[string]string{}, map[string]bool{}
	for _, address := range slices.Sorted(maps.Keys(entries)) {
		entry, at := entries[address], path.Root("registries").AtMapKey(address)
		host, err := reference.ParseHost(address)
		if err != nil {
			for _, fault := range problem.From(err, "Invalid registry host") {
				diagnostics.AddAttributeError(at, fault.Title, fault.Detail())
			}
			continue
		}
		if other, twice := spelled[host]; twice {
			diagnostics.AddAttributeError(at, "Two logins for one registry", fmt.Sprintf("registries[%q] and registries[%q] are both %s. Keep one of them.", other, address, host))
			continue
		}
		spelled[host], unknown[host] = address, !whollyKnown(ctx, entry)
		delete(given.Logins, host)
		delete(given.ECR, host)
		username, password, ecr := member[types.String](entry, "username"), member[types.String](entry, "password"), member[types.Object](entry, "ecr")
		if !ecr.IsNull() && (!username.IsNull() || !password.IsNull()) {
			diagnostics.AddAttributeError(at, "Two ways to one registry's login", fmt.Sprintf("registries[%q] has ecr and a username or password. ecr gets the login from AWS: keep one of the two.", address))
			continue
		}
		switch {
		case entry.IsUnknown() || ecr.IsUnknown() || username.IsUnknown() || password.IsUnknown():
		case !ecr.IsNull():
			addIdentity(ctx, given.ECR, host, entry, at, diagnostics)
		case strings.TrimSpace(username.ValueString()) == "" || strings.TrimSpace(password.ValueString()) == "":
			diagnostics.AddAttributeError(at, "Empty registry login", fmt.Sprintf("registries[%q] has an empty or blank username or password. Remove the entry to use %s or the Docker configuration for this host, or set ecr for a registry of Amazon ECR.", address, credential.RegistriesVariable))
		case len(passwordFaults(password)) > 0:
			appendProblems(diagnostics, passwordFaults(password, "registries", problem.Key(address), "password"), "Invalid registry password")
		default:
			for _, fault := range problem.From(credential.CheckLogin(username.ValueString()), "Invalid registry login") {
				diagnostics.AddAttributeError(at.AtName("username"), fault.Title, fault.Detail())
			}
			given.Logins[host] = image.Credential{Username: username.ValueString(), Password: secret.New(password.ValueString()), Source: "the provider's registries"}
		}
	}
	return unknown
}

func (p *datalayerProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newEnvironmentResource, newBaseImageResource, newPackageLockResource, newTemplateResource}
}

func (p *datalayerProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newImageDataSource}
}

func (p *datalayerProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newRegistryCredentials}
}
