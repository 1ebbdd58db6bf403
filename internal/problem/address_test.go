package problem

import "testing"

func TestAddress_ShowsNoLogin(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"r.example.com/team/env":               "r.example.com/team/env",
		"https://h.example.com:1/simple/":      "https://h.example.com:1/simple/",
		"https://u:cnry@h.example.com/simple/": "https://…@h.example.com/simple/",
		"u:cnry@h.example.com":                 "…@h.example.com",
		"https://u:cn/ry@h.example.com":        "https://…@h.example.com",
		"https://u:cn@ry@h.example.com":        "https://…@h.example.com",
		"https://u:cn?ry@h.example.com":        "https://…",
		"https://u:cn#ry@h.example.com":        "https://…",
		"https://h.example.com/?token=cnry":    "https://h.example.com/?…",
		"https://h.example.com/?a=b@c&t=cnry":  "https://…",
		"https://u:cnry@h.example.com/?t=cnry": "https://…@h.example.com/?…",
		"https://h.example.com/#cnry":          "https://h.example.com/#…",
		"h.example.com?token=cnry":             "h.example.com?…",
		"u:cnry@https://h.example.com":         "…@https://h.example.com",
		"u:cnry://@h.example.com":              "…@h.example.com",
		"https://u:cnry\n@h.example.com\n":     "https://…@h.example.com\n",
	} {
		if got := Address(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
