package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// renewBefore is how long before the end of a password Terraform is to ask whether it can be renewed.
const renewBefore = 5 * time.Minute

// expiryKey is the private key of an opened credential under which Renew finds its expiry.
const expiryKey = "expiry"

var (
	_ ephemeral.EphemeralResourceWithConfigure      = &registryCredentials{}
	_ ephemeral.EphemeralResourceWithValidateConfig = &registryCredentials{}
	_ ephemeral.EphemeralResourceWithRenew          = &registryCredentials{}
)

func newRegistryCredentials() ephemeral.EphemeralResource { return &registryCredentials{} }

type registryCredentials struct{ services *services }

func (e *registryCredentials) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_registry_credentials"
}

func (e *registryCredentials) Configure(_ context.Context, req ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	if s, ok := req.ProviderData.(*services); ok {
		e.services = s
	}
}

func (e *registryCredentials) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The login of a registry, for other providers (docker, helm, kubernetes) and for write-only arguments. It is in no state and no plan. Where the provider's `aws` is used, an ECR registry's login is made for this one use and held to `grants`; " +
			"everywhere else it is the login that is configured: the provider's `registries`, then the Docker configuration.",
		Attributes: map[string]schema.Attribute{
			"host": schema.StringAttribute{Required: true, Validators: []validator.String{registryHost()},
				MarkdownDescription: "The registry's host, with its port if it has one: `111122223333.dkr.ecr.eu-west-1.amazonaws.com`. A repository's URL is taken for its host."},
			"grants": schema.ListNestedAttribute{Optional: true,
				MarkdownDescription: "What the login is to allow, and nothing else. Required where AWS is asked for an ECR registry. All other logins reach what they reach: a warning says so.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"repository": schema.StringAttribute{Optional: true, MarkdownDescription: "Required. The repository, with or without the host: `team/env`."},
					"actions": schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{noNulls{}},
						MarkdownDescription: "Required. One or more of " + actionList() + "."},
				}}},
			"username":   schema.StringAttribute{Computed: true, MarkdownDescription: "The user name: `AWS` for ECR."},
			"password":   schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The password or token."},
			"expires_at": schema.StringAttribute{Computed: true, MarkdownDescription: "When the password stops to work (RFC 3339); null where it is not known to end."},
		},
	}
}

// registryHost takes every spelling of a host that reference.ParseHost takes.
func registryHost() validator.String {
	return stringRule{"a registry host", func(value string) error {
		_, err := reference.ParseHost(value)
		return err
	}}
}

func actionList() string {
	names := make([]string, len(credential.Actions))
	for i, action := range credential.Actions {
		names[i] = "`" + string(action) + "`"
	}
	return strings.Join(names, ", ")
}

// ValidateConfig checks the grants; what is unknown yet is checked by Open, which waits until all is known.
func (e *registryCredentials) ValidateConfig(ctx context.Context, req ephemeral.ValidateConfigRequest, resp *ephemeral.ValidateConfigResponse) {
	var config registryCredentialsModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); !resp.Diagnostics.HasError() {
		config.grants(&resp.Diagnostics)
	}
}

func (e *registryCredentials) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var config registryCredentialsModel
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); resp.Diagnostics.HasError() {
		return
	}
	grants := config.grants(&resp.Diagnostics)
	host, err := reference.ParseHost(config.Host.ValueString())
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "Registry host cannot be read")
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if e.services.loginUnknown(host) {
		appendProblems(&resp.Diagnostics, &problem.Problem{Title: "Registry login is not known yet", Path: []any{"host"}, Object: host,
			Advice: "The provider's registries or aws hold values for it that are not known before apply, and an ephemeral resource is opened at plan too: they must come from what is known then. Apply what gives them first, or write them down."}, "Registry login is unknown")
		return
	}
	lease, err := e.services.credentials.Acquire(ctx, host, grants)
	e.services.warn(&resp.Diagnostics)
	if err != nil {
		appendProblems(&resp.Diagnostics, err, "Registry login could not be had")
		return
	}
	if lease.Narrowed && len(grants) == 0 {
		resp.Diagnostics.AddAttributeError(path.Root("grants"), "Registry login without grants", fmt.Sprintf("The login of %s is made for this use and held to grants, so without any it opens nothing. Give grants = [{ repository = \"team/env\", actions = [\"pull\"] }].", host))
		return
	}
	if lease.Login.Password.Empty() {
		appendProblems(&resp.Diagnostics, e.noPassword(lease), "Registry login is empty")
		return
	}
	if len(grants) > 0 && !lease.Narrowed {
		resp.Diagnostics.AddAttributeWarning(path.Root("grants"), "Grants do not narrow this login", fmt.Sprintf("%s is given with %s, which allows what it allows, whatever grants says. Only the login of an ECR registry is narrowed, and only where the provider's aws has a role.", host, lease.Login))
	}
	config.Username, config.Password, config.ExpiresAt = types.StringValue(lease.Login.Username), types.StringValue(lease.Login.Password.Reveal()), types.StringNull()
	if !lease.ExpiresAt.IsZero() {
		config.ExpiresAt = types.StringValue(lease.ExpiresAt.UTC().Format(time.RFC3339))
		resp.RenewAt = lease.ExpiresAt.Add(-renewBefore)
		text, err := json.Marshal(loginEnd{host, lease.ExpiresAt})
		if err != nil {
			resp.Diagnostics.AddError("Expiry of the registry login cannot be kept", err.Error())
			return
		}
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, expiryKey, text)...)
	}
	resp.Diagnostics.Append(resp.Result.Set(ctx, config)...)
}

// noPassword says why there is nothing to give, and where it was looked for.
func (e *registryCredentials) noPassword(lease *credential.Lease) error {
	if !lease.Login.RefreshToken.Empty() {
		return &problem.Problem{
			Title: "Registry login is an identity token", Path: []any{"host"}, Object: lease.Host + ", " + lease.Login.String(),
			Advice: "An identity token is no user name and password, and other providers cannot use it. Give a login in the provider's registries.",
		}
	}
	p := &problem.Problem{
		Title: "No login for this registry", Path: []any{"host"}, Object: lease.Host,
		Advice: e.services.credentials.Sought(lease.Host),
	}
	if known := slices.Sorted(maps.Keys(e.services.static)); len(known) > 0 {
		p.Advice += " Logins are configured for " + strings.Join(known, ", ") + "."
	}
	return p
}

// loginEnd is what an opened login's private data holds.
type loginEnd struct {
	Host string    `json:"host"`
	At   time.Time `json:"at"`
}

// Renew is called shortly before the end. A password cannot be prolonged, and Terraform gives those who use it no new one.
func (e *registryCredentials) Renew(ctx context.Context, req ephemeral.RenewRequest, resp *ephemeral.RenewResponse) {
	text, found := req.Private.GetKey(ctx, expiryKey)
	resp.Diagnostics.Append(found...)
	var ends loginEnd
	if err := json.Unmarshal(text, &ends); err != nil {
		resp.Diagnostics.AddError("Expiry of the registry login cannot be read", err.Error())
		return
	}
	said := fmt.Sprintf("The password for %s that this run was given works until %s, and Terraform has no way to give the providers that use it a new one within a run. If they fail with 401 or 403 after that, apply again: each run opens a login of its own.", ends.Host, ends.At.UTC().Format(time.RFC3339))
	// Not every CLI shows a warning of a renewal; all keep the log.
	tflog.Warn(ctx, "Registry login is about to expire: "+said)
	resp.Diagnostics.AddWarning("Registry login is about to expire", said)
}

type registryCredentialsModel struct {
	Host      types.String `tfsdk:"host"`
	Grants    types.List   `tfsdk:"grants"`
	Username  types.String `tfsdk:"username"`
	Password  types.String `tfsdk:"password"`
	ExpiresAt types.String `tfsdk:"expires_at"`
}

// Format keeps the password out of every way of printing.
func (registryCredentialsModel) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "registry credentials")
}

// grants reads what is known of the grants, and reports what is wrong with it.
func (m registryCredentialsModel) grants(diagnostics *diag.Diagnostics) []credential.Grant {
	host, err := reference.ParseHost(m.Host.ValueString())
	if m.Host.IsUnknown() || err != nil {
		return nil // The attribute's own validator has said what is wrong.
	}
	var grants []credential.Grant
	for i, element := range m.Grants.Elements() {
		if element.IsUnknown() {
			continue
		}
		at := path.Root("grants").AtListIndex(i)
		name, actions := member[types.String](element, "repository"), member[types.List](element, "actions")
		grant, ok := credential.Grant{}, true
		if !name.IsUnknown() {
			if grant.Repository, err = pathIn(host, name.ValueString()); err != nil {
				for _, fault := range problem.From(err, "Invalid repository of a grant") {
					diagnostics.AddAttributeError(at.AtName("repository"), fault.Title, fault.Detail())
				}
				ok = false
			}
		}
		if !actions.IsUnknown() && len(actions.Elements()) == 0 {
			diagnostics.AddAttributeError(at.AtName("actions"), "Grant without actions", "Give one or more of "+actionList()+".")
			ok = false
		}
		for j, element := range actions.Elements() {
			action, isText := element.(types.String)
			if !isText || action.IsUnknown() || action.IsNull() {
				continue
			}
			if !credential.Action(action.ValueString()).Valid() {
				diagnostics.AddAttributeError(at.AtName("actions").AtListIndex(j), "Unknown action of a grant", fmt.Sprintf("%q is none of %s.", action.ValueString(), actionList()))
				ok = false
			}
			grant.Actions = append(grant.Actions, credential.Action(action.ValueString()))
		}
		if ok {
			grants = append(grants, grant)
		}
	}
	return grants
}

// pathIn gives the path of a repository of the host, written with or without it.
func pathIn(host, name string) (string, error) {
	if name == "" {
		return "", &problem.Problem{Title: "Grant without a repository", Advice: "Give the repository that the login is for: `team/env`."}
	}
	text := name
	if first, _, found := strings.Cut(name, "/"); !found || !strings.ContainsAny(first, ".:") && first != "localhost" {
		text = host + "/" + name
	}
	repository, err := reference.ParseRepository(text)
	if err != nil {
		return "", err
	}
	if reference.CanonicalHost(repository.Host) != host {
		return "", &problem.Problem{Title: "Grant for another registry", Object: name, Advice: "host is " + host + ": one login opens one registry. Use another ephemeral resource for the other one."}
	}
	return repository.Path, nil
}
