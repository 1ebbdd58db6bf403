package provider_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

const imageAddress = "data.datalayer_image.i"

// reading is the data source on this expression.
func reading(image string, arguments ...string) string {
	return fmt.Sprintf("data \"datalayer_image\" \"i\" {\n  image = %s\n  %s\n}\n", image, strings.Join(arguments, "\n  "))
}

func readImage(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(imageAddress, tfjsonpath.New(attribute), value)
}

func exactTexts(values ...string) knownvalue.Check {
	checks := make([]knownvalue.Check, len(values))
	for i, value := range values {
		checks[i] = knownvalue.StringExact(value)
	}
	return knownvalue.ListExact(checks)
}

// points checks the id and verdict of each contract point; the ones in open are null, those in broken false.
func points(open, broken []string) knownvalue.Check {
	verdicts := map[string]knownvalue.Check{}
	for _, id := range open {
		verdicts[id] = knownvalue.Null()
	}
	for _, id := range broken {
		verdicts[id] = knownvalue.Bool(false)
	}
	var checks []knownvalue.Check
	for _, id := range []string{"architecture", "user", "workdir", "home", "locale", "timezone", "entrypoint", "volume", "onbuild", "stopsignal"} {
		verdict, other := verdicts[id]
		if !other {
			verdict = knownvalue.Bool(true)
		}
		checks = append(checks, knownvalue.ObjectExact(map[string]knownvalue.Check{
			"id": knownvalue.StringExact(id), "met": verdict, "expected": matching("."), "actual": matching("."),
		}))
	}
	return knownvalue.ListExact(checks)
}

func TestImage_OfAnEnvironmentIsKnownAfterApplyAndKeepsTheContract(t *testing.T) {
	s := newStack(t)
	config := s.config(fmt.Sprintf("labels = { team = \"a\" }\n  attestations = { sbom_generator = %q }", s.GeneratorReference)) + reading(address+".reference")
	var checks []statecheck.StateCheck
	for _, output := range []string{"digest", "reference", "media_type", "manifests", "size_bytes"} {
		checks = append(checks, statecheck.CompareValuePairs(imageAddress, tfjsonpath.New(output), address, tfjsonpath.New(output), compare.ValuesSame()))
	}
	label := func(name string) statecheck.StateCheck {
		return statecheck.CompareValuePairs(imageAddress, tfjsonpath.New("contract").AtMapKey(name), address, tfjsonpath.New("artifact").AtMapKey(name), compare.ValuesSame())
	}
	checks = append(checks,
		statecheck.CompareValuePairs(imageAddress, tfjsonpath.New("attestations"), address, tfjsonpath.New("attested"), compare.ValuesSame()),
		readImage("attestations", knownvalue.ListExact([]knownvalue.Check{statement(provenance), statement(spdx)})),
		readImage("platforms", exactTexts("linux/amd64")),
		readImage("config", knownvalue.MapExact(map[string]knownvalue.Check{"linux/amd64": knownvalue.ObjectPartial(map[string]knownvalue.Check{
			"user": knownvalue.StringExact("1000:100"), "working_dir": knownvalue.StringExact("/home/datalayer/content"),
			"entrypoint": exactTexts("/usr/bin/tini", "--"), "cmd": exactTexts(), "labels": knownvalue.MapPartial(map[string]knownvalue.Check{"team": knownvalue.StringExact("a")}),
		})})),
		label("cache_key"), label("python_version"),
		readImage("contract", knownvalue.ObjectPartial(map[string]knownvalue.Check{"version": knownvalue.StringExact("sandbox-contract/v1"), "points": points(nil, nil)})),
	)
	s.run(t,
		resource.TestStep{
			Config: config, ConfigStateChecks: checks,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(imageAddress, tfjsonpath.New("digest"))}},
		},
		resource.TestStep{Config: config, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
	)
}

func TestImage_OfAStrangerSaysWhatItsConfigDoesNotMeet(t *testing.T) {
	s := newStackWithoutEngine(t)
	digest := s.foreignImage(t, [2]string{"linux", "arm64"}, map[string]any{
		"User": "datalayer", "Env": []string{"LANG=en_US.UTF-8"}, "Entrypoint": []string{"/ep.sh"}, "Cmd": []string{"jupyter", "lab"},
		"Volumes": map[string]any{"/data": map[string]any{}}, "OnBuild": []string{"RUN true"},
	})
	pinned := s.repository + "@" + digest
	for _, image := range []string{s.repository + ":moving", pinned, s.repository + ":ignored@" + digest} {
		t.Run(image, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: reading(fmt.Sprintf("%q", image)), ConfigStateChecks: []statecheck.StateCheck{
				readImage("reference", knownvalue.StringExact(pinned)), readImage("digest", knownvalue.StringExact(digest)), readImage("media_type", knownvalue.StringExact(manifestType)),
				readImage("manifests", knownvalue.MapExact(map[string]knownvalue.Check{"linux/arm64": knownvalue.StringExact(digest)})),
				readImage("platforms", exactTexts("linux/arm64")), readImage("attestations", knownvalue.ListExact(nil)),
				readImage("config", knownvalue.MapExact(map[string]knownvalue.Check{"linux/arm64": knownvalue.ObjectExact(map[string]knownvalue.Check{
					"user": knownvalue.StringExact("datalayer"), "working_dir": knownvalue.StringExact(""), "env": exactTexts("LANG=en_US.UTF-8"),
					"entrypoint": exactTexts("/ep.sh"), "cmd": exactTexts("jupyter", "lab"), "labels": knownvalue.MapExact(nil),
				})})),
				readImage("contract", knownvalue.ObjectExact(map[string]knownvalue.Check{
					"version": knownvalue.Null(), "python_version": knownvalue.Null(), "cache_key": knownvalue.Null(),
					"points": points([]string{"user", "home", "timezone", "entrypoint"}, []string{"architecture", "workdir", "locale", "volume", "onbuild"}),
				})),
			}})
		})
	}
}

func TestImage_ExampleStopsAtWhatIsKnownToBeWrongAlone(t *testing.T) {
	s := newStackWithoutEngine(t)
	text, err := os.ReadFile("../../examples/data-sources/datalayer_image/data-source.tf")
	must(t, err)
	_, example, _ := strings.Cut(string(text), "\n\n")
	example = strings.Replace(example, "registry.example.com/team/base:2026.11", s.repository+":moving", 1)
	config := map[string]any{"User": "datalayer", "WorkingDir": "/home/datalayer/content", "Env": []string{"LANG=C.UTF-8"}, "Entrypoint": []string{"/ep.sh"}}
	step := resource.TestStep{PreConfig: func() { s.foreignImage(t, [2]string{"linux", "amd64"}, config) }, Config: example}
	s.run(t, step)
	config["Entrypoint"] = []string{"/bin/bash"}
	step.ExpectError = says(`entrypoint is ["/bin/bash"], not none, or one that execs its arguments`)
	s.run(t, step)
}

func TestImage_IsRefusedAtPlan(t *testing.T) {
	s := newStackWithoutEngine(t)
	tests := map[string]struct {
		image string
		says  []string
	}{
		"neither tag nor digest": {`"` + s.repository + `"`, []string{"Image reference without a tag or digest", s.repository}},
		"no host":                {`"python:3.13"`, []string{"Image reference without a registry host", "python:3.13"}},
		"empty":                  {`""`, []string{"Empty image reference"}},
		"another digest":         {`"` + s.repository + `@md5:1"`, []string{"Image digest not understood", "md5:1"}},
		"no time to read":        {"\"" + s.repository + ":v1\"\n  timeouts = { read = \"0s\" }", []string{"Timeout is not positive", "timeouts.read"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s.run(t, resource.TestStep{Config: reading(tt.image), PlanOnly: true, ExpectError: says(tt.says...)})
			if requests := s.registry.Requests(); len(requests) > 0 {
				t.Errorf("the registry was asked: %v", requests)
			}
		})
	}
}

func TestImage_ThatIsNotThereIsNamed(t *testing.T) {
	s := newStackWithoutEngine(t)
	digest := "@sha256:" + strings.Repeat("0", 64)
	for _, suffix := range []string{":v1", digest, ":v1" + digest} {
		s.run(t, resource.TestStep{Config: reading(fmt.Sprintf("%q", s.repository+suffix)), ExpectError: says("Image does not exist", s.repository+suffix, "404 Not Found", "depends_on")})
	}
}

func TestImage_UsesTheProvidersLogin(t *testing.T) {
	s := newStackWithoutEngine(t)
	login := enginetest.BasicAuth(map[string]string{"robot": "cnry-right"}, nil)
	s.registry = enginetest.StartRegistry(t, login)
	image := fmt.Sprintf("%q", s.registry.Host+"/team/env:v1")
	provider := func(password string) string {
		return fmt.Sprintf("provider \"datalayer\" {\n  registries = { %q = { username = \"robot\", password = %s } }\n}\n", s.registry.Host, password)
	}
	unknown := later("password", `"cnry-right"`) + provider("terraform_data.password.output")
	found := says("Image does not exist", "404 Not Found")
	s.runUntil(t, func(*terraform.State) error { return nil },
		resource.TestStep{Config: reading(image), ExpectError: says("Image could not be inspected", "401 Unauthorized", s.registry.Host)},
		resource.TestStep{Config: provider(`"cnry-wrong"`) + reading(image), ExpectError: says("401 Unauthorized", `"robot"`)},
		resource.TestStep{Config: provider(`"cnry-right"`) + reading(image), ExpectError: found},
		resource.TestStep{Config: unknown + reading(image), ExpectError: says("401 Unauthorized", "not known until apply", "depends_on")},
		resource.TestStep{Config: unknown + reading(image, "depends_on = [terraform_data.password]"), ExpectError: found},
	)
	for _, d := range s.errors() {
		if strings.Contains(d.Summary+d.Detail, "cnry") {
			t.Errorf("an error shows the password: %s", d.Detail)
		}
	}
}
