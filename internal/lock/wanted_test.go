package lock

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestParseWanted_CanonicalText(t *testing.T) {
	for text, want := range map[string]string{
		"numpy":                                            "numpy",
		"  Jupyter_Client ":                                "jupyter-client",
		"Pandas [Excel, aws , excel]":                      "pandas[aws,excel]",
		"pandas[]":                                         "pandas",
		"pandas >= 2.0, <4,>=2.0":                          "pandas<4,>=2.0",
		"pandas (>=2.0,<4)":                                "pandas<4,>=2.0",
		"pandas>=2.0, ; os_name=='posix'":                  "pandas>=2.0 ; os_name == 'posix'",
		"pandas (>=2.0,<4,)":                               "pandas<4,>=2.0",
		"\ufeffidna>=3  # c\r":                             "idna>=3",
		"x==1.0-RC1 # why":                                 "x==1.0rc1",
		"x == 1.*, != 1.3.*":                               "x!=1.3.*,==1.*",
		"x~=1.4; python_version<\"3.13\"":                  "x~=1.4 ; python_version < '3.13'",
		"w @ https://f.example/w-1.0.zip":                  "w @ https://f.example/w-1.0.zip",
		"w@https://f.example/w-1.0.zip ; os_name=='posix'": "w @ https://f.example/w-1.0.zip ; os_name == 'posix'",
	} {
		w, err := ParseWanted(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if w.Text != want || !strings.HasPrefix(w.Text, w.Name) {
			t.Errorf("%q: got %+v, want %q", text, w, want)
		}
		if again, err := ParseWanted(w.Text); err != nil || *again != *w {
			t.Errorf("%q is not stable: %+v, %v", w.Text, again, err)
		}
	}
	for _, text := range []string{"", " \t", "# numpy", "  # numpy", "\r", "# numpy\r", "\ufeff# numpy"} {
		if w, err := ParseWanted(text); w != nil || err != nil {
			t.Errorf("%q: got %+v, %v, want nothing", text, w, err)
		}
	}
}

func TestParseWanted_Refuses(t *testing.T) {
	for text, want := range map[string]reason{
		"numpy\n--index-url https://evil.example/": wantedLine,
		"numpy\rpandas":     wantedLine,
		"numpy\r\r":         wantedLine,
		"numpy\u2028pandas": wantedLine,
		"nu\x00mpy":         wantedLine,
		"-r other.txt":      wantedOption,
		"--extra-index-url https://u:cnry-pw@x/simple": wantedOption,
		"-e .":                          wantedOption,
		"./local":                       wantedPath,
		"../local":                      wantedPath,
		"/tmp/x-1.0-py3-none-any.whl":   wantedPath,
		"x-1.0-py3-none-any.whl":        wantedPath,
		"file:///x":                     wantedPath,
		`C:\x`:                          wantedUnread,
		"git+https://u:cnry-pw@x/y.git": wantedURL,
		"https://x/y-1.0.zip":           wantedURL,
		"y @ git+https://u:cnry-pw@x/y@" + strings.Repeat("a", 40): wantedURL,
		"y @ https://u:cnry-pw@x/y-1.0.zip":                        wantedURL,
		"y @ https://x/y-1.0.zip?t=cnry-pw":                        wantedURL,
		"y @ http://x/y-1.0.zip":                                   wantedURL,
		"y @ file:///y-1.0.zip":                                    wantedURL,
		"y @ ./y-1.0.zip":                                          wantedURL,
		"x>==1":                                                    wantedUnread,
		"x 1.0":                                                    wantedUnread,
		"x, y":                                                     wantedOne,
		"x y":                                                      wantedOne,
		"x,y":                                                      wantedOne,
		"x>=1,y>=2":                                                wantedOne,
		"x>=1 y":                                                   wantedOne,
		"x, https://u:cnry-pw@x/y.zip":                             wantedOne,
		"x>=1,,<2":                                                 wantedUnread,
		"x>=1,,":                                                   wantedUnread,
		"x,":                                                       wantedUnread,
		"x>= two":                                                  wantedUnread,
		"x>=1 --hash=sha256:00":                                    wantedUnread,
		"x>=${V}":                                                  wantedUnread,
		"x[a":                                                      wantedUnread,
		"x>1.*":                                                    wantedUnread,
		"x; nonsense":                                              wantedUnread,
		"_x":                                                       wantedUnread,
		"@":                                                        wantedUnread,
	} {
		w, err := ParseWanted(text)
		if err == nil {
			t.Errorf("%q: got %+v, want an error", text, w)
			continue
		}
		p := problem.From(err, "")[0]
		if p.Title != want.title {
			t.Errorf("%q: got %q, want %q", text, p.Title, want.title)
		}
		if strings.Contains(p.Title+p.Detail(), "cnry") {
			t.Errorf("%q: the error shows a credential: %s", text, p.Detail())
		}
	}
}

func FuzzWanted(f *testing.F) {
	for _, text := range []string{"numpy", "Pandas[x]>=2,<3; python_version<'3.13' # c", "w @ https://f.example/w-1.0.zip", "x==1.*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := ParseWanted(text)
		if err != nil || w == nil {
			return
		}
		if strings.ContainsAny(w.Text, "\n\r\\$#") && !strings.Contains(w.Text, " @ https://") && !strings.ContainsAny(w.Text, `'"`) {
			t.Fatalf("uv could misread %q", w.Text)
		}
		again, err := ParseWanted(w.Text)
		if err != nil || *again != *w {
			t.Fatalf("%q is not stable: %+v, %v", w.Text, again, err)
		}
	})
}
