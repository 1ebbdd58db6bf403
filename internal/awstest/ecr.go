package awstest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// pageSize is how many images DescribeImages gives at once.
const pageSize = 3

type imageID struct {
	ImageDigest string `json:"imageDigest,omitempty"`
	ImageTag    string `json:"imageTag,omitempty"`
}

type ecrRequest struct {
	RegistryID     string    `json:"registryId"`
	RepositoryName string    `json:"repositoryName"`
	ImageIDs       []imageID `json:"imageIds"`
	MaxResults     int       `json:"maxResults"`
	Filter         struct {
		TagStatus string `json:"tagStatus"`
	} `json:"filter"`
	NextToken string `json:"nextToken"`
	// AcceptedMediaTypes: what is of no form among them is not found; none given means unasked.
	AcceptedMediaTypes []string `json:"acceptedMediaTypes"`
}

// unasked are the forms of a manifest that BatchGetImage gives to who names none: no index is among them.
var unasked = []string{
	"application/vnd.docker.distribution.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json", ocispec.MediaTypeImageManifest,
}

// serveECR speaks AWS's JSON protocol 1.1.
func (c *Cloud) serveECR(w http.ResponseWriter, r *http.Request, region string) {
	call := Call{Service: "ecr", Region: region}
	defer func() { c.record(call) }()
	_, call.Operation, _ = strings.Cut(r.Header.Get("X-Amz-Target"), "AmazonEC2ContainerRegistry_V20150921.")
	p, body, refused := c.signer(r, region, "ecr", &call)
	call.Body = string(body)
	if c.fault(w, r, &call) {
		return
	}
	var result any
	if refused == nil {
		result, refused = c.ecrOperation(p, region, call.Operation, body)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	call.Status = http.StatusOK
	if refused != nil {
		if strings.HasPrefix(refused.code, "AccessDenied") {
			refused.status, refused.code = http.StatusBadRequest, "AccessDeniedException"
		}
		call.Status, result = refused.status, map[string]string{"__type": refused.code, "message": refused.message}
	}
	w.WriteHeader(call.Status)
	_ = json.NewEncoder(w).Encode(result) // Who hangs up early gets nothing.
}

func (c *Cloud) ecrOperation(p *principal, region, operation string, body []byte) (any, *failure) {
	var request ecrRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, &failure{http.StatusBadRequest, "SerializationException", err.Error()}
	}
	if operation == "GetAuthorizationToken" {
		if p.allows != nil && !p.allows("ecr:"+operation, "*") {
			return nil, denied(p, "ecr:"+operation, "*")
		}
		return c.authorizationToken(p, region), nil
	}
	account := request.RegistryID
	if account == "" {
		account = p.account
	}
	resource := ARN(account, region, request.RepositoryName)
	if p.allows != nil && !p.allows("ecr:"+operation, resource) {
		refused := denied(p, "ecr:"+operation, resource)
		refused.message += " because no session policy allows the ecr:" + operation + " action"
		return nil, refused
	}
	c.mu.Lock()
	at := c.registries[account+" "+region]
	known := at != nil && at.repositories[request.RepositoryName] != nil
	c.mu.Unlock()
	if !known {
		return nil, &failure{http.StatusBadRequest, "RepositoryNotFoundException", fmt.Sprintf("The repository with name '%s' does not exist in the registry with id '%s'", request.RepositoryName, account)}
	}
	images, err := at.images(request.RepositoryName)
	if err != nil {
		return nil, &failure{http.StatusInternalServerError, "ServerException", err.Error()}
	}
	if len(request.ImageIDs) > 100 {
		return nil, &failure{http.StatusBadRequest, "InvalidParameterException", "Invalid parameter at 'imageIds' failed to satisfy constraint: 'Member must have length less than or equal to 100'"}
	}
	switch operation {
	case "DescribeImages":
		return describeImages(request, account, images)
	case "BatchGetImage":
		return batchGetImage(request, account, images), nil
	case "BatchDeleteImage":
		return batchDeleteImage(request, at, images)
	}
	return nil, &failure{http.StatusBadRequest, "UnknownOperationException", operation}
}

func (c *Cloud) authorizationToken(p *principal, region string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	password := "cnry-token-" + random(60)
	expires := c.Now().Add(c.TokenLife)
	c.tokens[password] = &token{principal: p, region: region, expires: expires}
	return map[string]any{"authorizationData": []map[string]any{{
		"authorizationToken": base64.StdEncoding.EncodeToString([]byte("AWS:" + password)),
		"expiresAt":          float64(expires.UnixMilli()) / 1000, "proxyEndpoint": "https://" + Host(p.account, region),
	}}}
}

// find gives the image of an id.
func find(images map[string]*stored, id imageID) *stored {
	for _, image := range images {
		if (id.ImageDigest == "" || image.digest == id.ImageDigest) && (id.ImageTag == "" || slices.Contains(image.tags, id.ImageTag)) && id != (imageID{}) {
			return image
		}
	}
	return nil
}

func describeImages(request ecrRequest, account string, images map[string]*stored) (any, *failure) {
	details := []map[string]any{}
	describe := func(image *stored) {
		detail := map[string]any{"registryId": account, "repositoryName": request.RepositoryName, "imageDigest": image.digest, "imageManifestMediaType": image.mediaType, "imageSizeInBytes": len(image.raw)}
		if len(image.tags) > 0 {
			detail["imageTags"] = image.tags
		}
		details = append(details, detail)
	}
	if len(request.ImageIDs) > 0 {
		for _, id := range request.ImageIDs {
			image := find(images, id)
			if image == nil {
				return nil, &failure{http.StatusBadRequest, "ImageNotFoundException", fmt.Sprintf("The image with imageId {imageDigest:'%s', imageTag:'%s'} does not exist within the repository with name '%s' in the registry with id '%s'", id.ImageDigest, id.ImageTag, request.RepositoryName, account)}
			}
			describe(image)
		}
		return map[string]any{"imageDetails": details}, nil
	}
	digests := slices.Sorted(maps.Keys(images))
	if request.Filter.TagStatus == "TAGGED" {
		digests = slices.DeleteFunc(digests, func(digest string) bool { return len(images[digest].tags) == 0 })
	}
	if request.Filter.TagStatus == "UNTAGGED" {
		digests = slices.DeleteFunc(digests, func(digest string) bool { return len(images[digest].tags) > 0 })
	}
	start, _ := strconv.Atoi(request.NextToken)
	end := min(start+pageSize, len(digests))
	for _, digest := range digests[start:end] {
		describe(images[digest])
	}
	answer := map[string]any{"imageDetails": details}
	if end < len(digests) {
		answer["nextToken"] = strconv.Itoa(end)
	}
	return answer, nil
}

type imageFailure struct {
	ImageID       imageID `json:"imageId"`
	FailureCode   string  `json:"failureCode"`
	FailureReason string  `json:"failureReason"`
}

func batchGetImage(request ecrRequest, account string, images map[string]*stored) any {
	found, failures, accepted := []map[string]any{}, []imageFailure{}, request.AcceptedMediaTypes
	if len(accepted) == 0 {
		accepted = unasked
	}
	for _, id := range request.ImageIDs {
		image := find(images, id)
		if image == nil || !slices.Contains(accepted, image.mediaType) {
			failures = append(failures, imageFailure{id, "ImageNotFound", "Requested image not found"})
			continue
		}
		found = append(found, map[string]any{"registryId": account, "repositoryName": request.RepositoryName, "imageId": imageID{image.digest, id.ImageTag},
			"imageManifest": string(image.raw), "imageManifestMediaType": image.mediaType})
	}
	return map[string]any{"images": found, "failures": failures}
}

// batchDeleteImage has the semantics of ECR: a digest goes with all its tags; a tag goes alone, unless it is the image's
// last; what an index lists stays as long as the index.
func batchDeleteImage(request ecrRequest, at *registry, images map[string]*stored) (any, *failure) {
	deleted, failures := []imageID{}, []imageFailure{}
	for _, id := range request.ImageIDs {
		image := find(images, id)
		if image == nil {
			failures = append(failures, imageFailure{id, "ImageNotFound", "Requested image not found"})
			continue
		}
		whole := id.ImageTag == "" || len(image.tags) == 1
		if index := holder(images, image.digest); whole && index != "" {
			failures = append(failures, imageFailure{id, "ImageReferencedByManifestList", fmt.Sprintf("Requested image referenced by manifest list: [%s]", index)})
			continue
		}
		object := image.digest
		if !whole {
			object = id.ImageTag
			image.tags = slices.DeleteFunc(image.tags, func(tag string) bool { return tag == id.ImageTag })
		}
		if err := at.remove(request.RepositoryName, object); err != nil {
			return nil, &failure{http.StatusInternalServerError, "ServerException", err.Error()}
		}
		if whole {
			delete(images, image.digest)
		}
		deleted = append(deleted, imageID{image.digest, id.ImageTag})
	}
	return map[string]any{"imageIds": deleted, "failures": failures}, nil
}
