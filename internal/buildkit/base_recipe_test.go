package buildkit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// plainConfig is that of an image with all that a base must not take over.
const plainConfig = `{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/local/bin:/usr/bin","LANG=de_DE.UTF-8","GPG_KEY=ABC"],
"Labels":{"maintainer":"somebody","io.datalayer.environment.cache-key":"an environment's"},"User":"app","WorkingDir":"/app","Entrypoint":["/start"],"Cmd":["python3"],
"Volumes":{"/data":{}},"OnBuild":["RUN true"],"StopSignal":"SIGQUIT","Healthcheck":{"Test":["CMD","true"]},"ExposedPorts":{"8080/tcp":{}}},"rootfs":{"type":"layers","diff_ids":[]}}`

func fullBaseRecipe(t *testing.T, python string) recipe {
	t.Helper()
	r := fullRecipe(t)
	r.baseConfig = []byte(plainConfig)
	r.request.Spec = environment.Spec{}
	r.request.BaseImage = &base.Spec{Python: python, Doctor: []byte("#!/usr/bin/env python3\n")}
	r.python.Libc = "glibc 2.36"
	r.python.SitePackages = []string{"/usr/local/lib/python3.13/dist-packages", "/usr/lib/python3/dist-packages"}
	r.packages = map[string]string{"six": "1.17.0", "ipykernel": "7.4.0"}
	return r
}

func TestBaseRecipeIsTheGoldenOne(t *testing.T) {
	for _, python := range []string{base.PythonImage, base.PythonApt} {
		golden(t, fullBaseRecipe(t, python), "testdata/base-"+python+".golden")
	}
}

func TestBaseConfigKeepsTheContract(t *testing.T) {
	text, err := fullBaseRecipe(t, base.PythonImage).imageConfig()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Config  map[string]any
		History []struct {
			CreatedBy string `json:"created_by"`
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := `{"Cmd":["sleep","infinity"],"Entrypoint":["/usr/bin/tini","--"],` +
		`"Env":["PATH=/usr/local/bin:/usr/bin","LANG=C.UTF-8","GPG_KEY=ABC","HOME=/home/datalayer","LC_ALL=C.UTF-8","TZ=UTC"],"ExposedPorts":{"8080/tcp":{}},` +
		`"Labels":{"io.datalayer.base.libc":"glibc 2.36","io.datalayer.base.packages":"ipykernel==7.4.0 six==1.17.0","io.datalayer.base.site-packages":"/usr/local/lib/python3.13/dist-packages:/usr/lib/python3/dist-packages",` +
		`"io.datalayer.environment.cache-key":"sha256:key","io.datalayer.environment.python-version":"3.13","maintainer":"somebody","team":"a"},` +
		`"User":"1000:100","WorkingDir":"/home/datalayer/content"}`
	if config, err := json.Marshal(got.Config); err != nil || string(config) != want {
		t.Errorf("the config is\n%s\nwant\n%s (%v)", config, want, err)
	}
	if len(got.History) != 4 || !strings.HasPrefix(got.History[0].CreatedBy, stepApt) {
		t.Errorf("the history is %v", got.History)
	}
	configs := map[string]environment.ImageConfig{environment.DefaultPlatform: {
		User: "1000:100", WorkingDir: environment.WorkDir, Env: texts(got.Config["Env"]), Entrypoint: texts(got.Config["Entrypoint"]),
	}}
	for _, point := range environment.ContractPoints(configs) {
		if point.Met == nil || !*point.Met {
			t.Errorf("point %s of the contract is not met: %s", point.ID, point.Actual)
		}
	}
}

func texts(list any) []string {
	var all []string
	for _, entry := range list.([]any) { //nolint:forcetypeassert // A config that was just written has texts there.
		all = append(all, entry.(string)) //nolint:forcetypeassert // As above.
	}
	return all
}

func TestBaseWithoutPathGetsOne(t *testing.T) {
	r := fullBaseRecipe(t, base.PythonApt)
	r.baseConfig = []byte(`{"config":{},"rootfs":{"type":"layers"}}`)
	text, err := r.imageConfig()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Config struct{ Env []string } }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got.Config.Env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") {
		t.Errorf("the variables are %q", got.Config.Env)
	}
}
