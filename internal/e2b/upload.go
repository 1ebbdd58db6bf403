package e2b

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// UploadTarget is where the files of a COPY step go. E2B keeps them per team, under their hash.
type UploadTarget struct {
	// Present says that E2B has the files already.
	Present bool `json:"present"`
	// URL is signed: it is a secret for half an hour.
	URL string `json:"url"`
	// Headers are to be sent along, as they are.
	Headers map[string]string `json:"headers"`
}

// UploadTarget asks where to put the files of this hash.
func (c *Client) UploadTarget(ctx context.Context, templateID, hash string) (UploadTarget, error) {
	var got UploadTarget
	path := "/templates/" + url.PathEscape(templateID) + "/files/" + url.PathEscape(hash)
	_, err := c.send(ctx, call{method: http.MethodGet, path: path, into: &got})
	return got, report("E2B gave no address to upload files to", "template "+templateID, err)
}

// Upload puts an archive where E2B said, unless it is there. The same archive may be put twice, so a broken upload is
// repeated, with a new address where the old one no longer serves.
func (c *Client) Upload(ctx context.Context, templateID string, archive Archive) error {
	const title = "Files for the E2B template could not be uploaded"
	for attempt := 1; ; attempt++ {
		target, err := c.UploadTarget(ctx, templateID, archive.Hash)
		if err != nil || target.Present {
			return err
		}
		address, err := url.Parse(target.URL)
		if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
			return &problem.Problem{Title: title, Object: "template " + templateID, Cause: errors.New("E2B gave an address that is not one")}
		}
		header := http.Header{}
		for name, value := range target.Headers {
			header.Set(name, value)
		}
		// The query is sent as it came: a signature covers it.
		path := address.EscapedPath()
		if address.RawQuery != "" {
			path += "?" + address.RawQuery
		}
		base := &url.URL{Scheme: address.Scheme, Host: address.Host}
		put := call{method: http.MethodPut, path: path, base: base, header: header, raw: archive.Tar,
			object: "(signed upload address at " + address.Host + ")", hide: []secret.Value{secret.New(target.URL), secret.New(address.RawQuery)}}
		_, err = c.send(ctx, put)
		if e := requestError(err); e == nil || e.Status != http.StatusForbidden || attempt == 2 {
			return report(title, "template "+templateID, err)
		}
	}
}
