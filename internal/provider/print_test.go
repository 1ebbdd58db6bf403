package provider

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestNothingPrintsAPassword(t *testing.T) {
	const canary = "cnry-print-1"
	held := image.Credential{Username: "u", Password: secret.New(canary)}
	static := credential.Static{"h.example": held}
	resolver := credential.NewResolver(static)
	text := types.StringValue(canary)
	loginType := map[string]attr.Type{"username": types.StringType, "password": types.StringType}
	logins := types.MapValueMust(types.ObjectType{AttrTypes: loginType}, map[string]attr.Value{
		"h.example": types.ObjectValueMust(loginType, map[string]attr.Value{"username": types.StringValue("u"), "password": text}),
	})
	block := types.ObjectValueMust(map[string]attr.Type{"password_wo": types.StringType}, map[string]attr.Value{"password_wo": text})
	tls := types.ObjectValueMust(map[string]attr.Type{"key": types.StringType}, map[string]attr.Value{"key": text})
	model := environmentModel{builtImage: builtImage{Registry: block}}
	model.BaseRegistry = block
	for name, value := range map[string]any{
		"services": &services{
			static: static, credentials: resolver, registries: image.New(image.Options{Credentials: resolver}), logger: slog.New(slog.DiscardHandler),
		},
		"buildkitTLS":              *newBuildkitTLS(tls),
		"buildkitModel":            buildkitModel{TLS: tls},
		"login":                    login{host: "h.example", credential: held},
		"logins":                   []login{{host: "h.example", credential: held}},
		"providerModel":            providerModel{Registries: logins},
		"environmentModel":         model,
		"artifactArguments":        artifactArguments{BaseRegistry: block},
		"registryCredentialsModel": registryCredentialsModel{Password: text},
		"opened login":             []registryCredentialsModel{{Password: text}},
		"packageLockModel":         packageLockModel{Index: block, BaseRegistry: block},
		"builtImage":               model.builtImage,
		"templateModel":            templateModel{artifactArguments: artifactArguments{BaseRegistry: block}},
		"e2bModel":                 e2bModel{APIKey: text},
		"baseImageModel":           baseImageModel{builtImage: model.builtImage, FromRegistry: block},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				if printed := fmt.Sprintf(verb, value); strings.Contains(printed, canary) {
					t.Errorf("%s shows the password: %s", verb, printed)
				}
			}
		})
	}
}
