package provider

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// The environment variables of E2B's own SDKs.
const (
	e2bKeyVariable     = "E2B_API_KEY"
	e2bDomainVariable  = "E2B_DOMAIN"
	e2bAPIVariable     = "E2B_API_URL"
	e2bSandboxVariable = "E2B_SANDBOX_URL"
)

func e2bAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: "The team at E2B that keeps templates. E2B is asked at apply and refresh, and only where there is a `datalayer_e2b_template`.",
		Attributes: map[string]schema.Attribute{
			"api_key":     schema.StringAttribute{Optional: true, Validators: []validator.String{notBlank("Empty E2B setting", "e2b.api_key")}, Sensitive: true, MarkdownDescription: "The team's API key, `e2b_…`. Default: `" + e2bKeyVariable + "`."},
			"domain":      schema.StringAttribute{Optional: true, Validators: []validator.String{notBlank("Empty E2B setting", "e2b.domain")}, MarkdownDescription: "The domain of the deployment. Default: `" + e2bDomainVariable + "`, then `" + e2b.DefaultDomain + "`."},
			"api_url":     schema.StringAttribute{Optional: true, Validators: []validator.String{notBlank("Empty E2B setting", "e2b.api_url")}, MarkdownDescription: "The address of the API. Default: `" + e2bAPIVariable + "`, then `https://api.<domain>`."},
			"sandbox_url": schema.StringAttribute{Optional: true, Validators: []validator.String{notBlank("Empty E2B setting", "e2b.sandbox_url")}, MarkdownDescription: "One address for all traffic to sandboxes. Default: `" + e2bSandboxVariable + "`, then what the deployment says."},
		}}
}

type e2bModel struct {
	APIKey     types.String `tfsdk:"api_key"`
	Domain     types.String `tfsdk:"domain"`
	APIURL     types.String `tfsdk:"api_url"`
	SandboxURL types.String `tfsdk:"sandbox_url"`
}

// Format keeps the key out of every way of printing.
func (e2bModel) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "e2b") }

// addE2B gives the services their client; none while a setting of it is not known yet.
func (s *services) addE2B(ctx context.Context, block types.Object, diagnostics *diag.Diagnostics) {
	if s.e2bUnknown = !whollyKnown(ctx, block); s.e2bUnknown {
		return
	}
	var given e2bModel
	if !block.IsNull() {
		if diagnostics.Append(block.As(ctx, &given, objectOptions)...); diagnostics.HasError() {
			return
		}
	}
	options := e2bOptions(given)
	options.UserAgent, options.Logger = s.userAgent, s.logger
	client, err := e2b.New(options)
	if err = given.blamed(err); block.IsNull() {
		s.e2bFault = err
	} else {
		appendProblems(diagnostics, err, "E2B settings cannot be used")
	}
	if s.e2b = client; client != nil && client.InTheClear() != "" {
		diagnostics.AddWarning("E2B API key in the clear", fmt.Sprintf("api_url (or %s) is http://%s, so whoever is between this machine and that host can read the API key and the login of a base. Give an https address.", e2bAPIVariable, client.InTheClear()))
	}
}

// blamed names the variable of a setting that the environment gives, in place of an attribute that nobody wrote.
func (given e2bModel) blamed(err error) error {
	var list problem.List
	for _, p := range problem.From(err, "E2B settings cannot be used") {
		said := *p
		for name, setting := range map[string]struct {
			value    types.String
			variable string
		}{
			"api_key": {given.APIKey, e2bKeyVariable}, "domain": {given.Domain, e2bDomainVariable}, "api_url": {given.APIURL, e2bAPIVariable}, "sandbox_url": {given.SandboxURL, e2bSandboxVariable},
		} {
			if setting.value.IsNull() && slices.Equal(p.Path, []any{"e2b", name}) {
				said.Path, said.Object = nil, strings.TrimSuffix(setting.variable+": "+p.Object, ": ")
			}
		}
		list = append(list, &said)
	}
	return list.Err()
}

// e2bOptions are the settings of the configuration over those of the environment.
func e2bOptions(given e2bModel) e2b.Options {
	or := func(value types.String, variable string) string {
		if value.IsNull() {
			return os.Getenv(variable)
		}
		return value.ValueString()
	}
	return e2b.Options{
		APIKey: secret.New(or(given.APIKey, e2bKeyVariable)), Domain: or(given.Domain, e2bDomainVariable),
		APIURL: or(given.APIURL, e2bAPIVariable), SandboxURL: or(given.SandboxURL, e2bSandboxVariable),
	}
}
