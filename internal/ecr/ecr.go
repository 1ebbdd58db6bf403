// Package ecr is the API of Amazon ECR behind the registry protocol: what ECR does its own way there, or not at all. It
// looks images up with DescribeImages, which needs no login token, and removes them with BatchDeleteImage.
package ecr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

// maxTags bounds what is listed of one repository, with tags or without.
const maxTags = 10_000

// accepted are the forms in which manifests are asked for: an index is given as one image's manifest where it is not named.
var accepted = []string{
	ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest,
	"application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v2+json",
}

// APIs gives the API for a repository on ECR with what the resolver finds for its host, and nil for all others and for a
// host that has a login of its own. A method needs the action Describe, but Manifest needs Pull or Delete, and Untag and
// Delete need Delete too.
func APIs(resolver *credential.Resolver) func(context.Context, reference.Repository) (image.API, error) {
	return func(ctx context.Context, repo reference.Repository) (image.API, error) {
		client, at, ok, err := resolver.Session(ctx, repo.Host)
		if !ok || err != nil {
			return nil, err
		}
		return &api{client: client, repo: repo, at: at, sought: resolver.Sought(repo.Host)}, nil
	}
}

// api is one repository.
type api struct {
	client *ecr.Client
	repo   reference.Repository
	at     credential.ECRHost
	// sought says where the credentials come from.
	sought string
}

var _ image.API = &api{}

// id names an image by tag or digest.
func id(tagOrDigest string) types.ImageIdentifier {
	if reference.ValidDigest(tagOrDigest) {
		return types.ImageIdentifier{ImageDigest: aws.String(tagOrDigest)}
	}
	return types.ImageIdentifier{ImageTag: aws.String(tagOrDigest)}
}

// Head looks a tag or digest up with one request.
func (a *api) Head(ctx context.Context, tagOrDigest string) (image.Descriptor, error) {
	detail, err := a.describe(ctx, tagOrDigest)
	if err != nil {
		return image.Descriptor{}, err
	}
	return descriptor(detail), nil
}

func (a *api) describe(ctx context.Context, tagOrDigest string) (types.ImageDetail, error) {
	answer, err := a.client.DescribeImages(ctx, &ecr.DescribeImagesInput{
		RegistryId: aws.String(a.at.Account), RepositoryName: aws.String(a.repo.Path), ImageIds: []types.ImageIdentifier{id(tagOrDigest)},
	})
	if err != nil {
		return types.ImageDetail{}, a.failed("DescribeImages", tagOrDigest, err)
	}
	if len(answer.ImageDetails) == 0 || aws.ToString(answer.ImageDetails[0].ImageDigest) == "" {
		return types.ImageDetail{}, a.failed("DescribeImages", tagOrDigest, retry.Final(errors.New("the answer names no image")))
	}
	return answer.ImageDetails[0], nil
}

func descriptor(detail types.ImageDetail) image.Descriptor {
	// The size that ECR gives is that of the image, not of its manifest.
	return image.Descriptor{Digest: aws.ToString(detail.ImageDigest), MediaType: aws.ToString(detail.ImageManifestMediaType), Size: -1}
}

// Manifest gets a manifest or index with one request.
func (a *api) Manifest(ctx context.Context, tagOrDigest string) (image.Descriptor, []byte, error) {
	answer, err := a.client.BatchGetImage(ctx, &ecr.BatchGetImageInput{
		RegistryId: aws.String(a.at.Account), RepositoryName: aws.String(a.repo.Path), ImageIds: []types.ImageIdentifier{id(tagOrDigest)}, AcceptedMediaTypes: accepted,
	})
	if err != nil {
		return image.Descriptor{}, nil, a.failed("BatchGetImage", tagOrDigest, err)
	}
	for _, failure := range answer.Failures {
		return image.Descriptor{}, nil, a.refused("BatchGetImage", tagOrDigest, failure)
	}
	if len(answer.Images) == 0 || aws.ToString(answer.Images[0].ImageManifest) == "" {
		return image.Descriptor{}, nil, a.failed("BatchGetImage", tagOrDigest, retry.Final(errors.New("the answer holds no manifest")))
	}
	return image.Descriptor{MediaType: aws.ToString(answer.Images[0].ImageManifestMediaType)}, []byte(*answer.Images[0].ImageManifest), nil
}

// Tags lists the repository, a thousand images a request.
func (a *api) Tags(ctx context.Context) (points map[string]image.Descriptor, complete bool, err error) {
	points = map[string]image.Descriptor{}
	complete, err = a.list(ctx, types.TagStatusTagged, func(detail types.ImageDetail) (more bool) {
		for _, tag := range detail.ImageTags {
			points[tag] = descriptor(detail)
		}
		return len(points) <= maxTags
	})
	if err != nil {
		return nil, false, err
	}
	return points, complete, nil
}

// Untagged lists what no tag points to. ECR keeps that until somebody removes it, or a lifecycle policy does.
func (a *api) Untagged(ctx context.Context) (found []image.Descriptor, complete bool, err error) {
	complete, err = a.list(ctx, types.TagStatusUntagged, func(detail types.ImageDetail) (more bool) {
		found = append(found, descriptor(detail))
		return len(found) <= maxTags
	})
	var e *image.Error
	if errors.As(err, &e) && e.Code == "RepositoryNotFoundException" {
		return nil, true, nil
	}
	return found, complete, err
}

// list gives each image of the status to take; complete tells that take wanted all.
func (a *api) list(ctx context.Context, status types.TagStatus, take func(types.ImageDetail) (more bool)) (complete bool, err error) {
	pages := ecr.NewDescribeImagesPaginator(a.client, &ecr.DescribeImagesInput{
		RegistryId: aws.String(a.at.Account), RepositoryName: aws.String(a.repo.Path), MaxResults: aws.Int32(1000),
		Filter: &types.DescribeImagesFilter{TagStatus: status},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, a.failed("DescribeImages", "", err)
		}
		for _, detail := range page.ImageDetails {
			if !take(detail) {
				return false, nil
			}
		}
	}
	return true, nil
}

// Untag removes a tag. An image's last tag takes the image along at ECR, and so is not removed.
func (a *api) Untag(ctx context.Context, tag string) error {
	detail, err := a.describe(ctx, tag)
	switch {
	case image.NotFound(err):
		return nil
	case err != nil:
		return err
	case slices.Equal(detail.ImageTags, []string{tag}):
		return fmt.Errorf("%w: it is the only one of its image, and ECR would delete that too", image.ErrCannotUntag)
	}
	return a.remove(ctx, tag)
}

// Delete removes a digest with its tags.
func (a *api) Delete(ctx context.Context, digest string) error { return a.remove(ctx, digest) }

// remove succeeds only where the answer names what was deleted, or its list of failures says that the image is gone.
func (a *api) remove(ctx context.Context, tagOrDigest string) error {
	answer, err := a.client.BatchDeleteImage(ctx, &ecr.BatchDeleteImageInput{
		RegistryId: aws.String(a.at.Account), RepositoryName: aws.String(a.repo.Path), ImageIds: []types.ImageIdentifier{id(tagOrDigest)},
	})
	if err != nil {
		if err := a.failed("BatchDeleteImage", tagOrDigest, err); !image.NotFound(err) {
			return err
		}
		return nil
	}
	if len(answer.ImageIds)+len(answer.Failures) == 0 {
		return a.failed("BatchDeleteImage", tagOrDigest, retry.Final(errors.New("the answer names no image")))
	}
	for _, failure := range answer.Failures {
		if failure.FailureCode != types.ImageFailureCodeImageNotFound {
			return a.refused("BatchDeleteImage", tagOrDigest, failure)
		}
	}
	return nil
}

// refused is an entry of the list of failures in a successful answer.
func (a *api) refused(operation, object string, failure types.ImageFailure) *image.Error {
	e := a.problem(operation, object)
	e.Code, e.Message = string(failure.FailureCode), strings.Join(strings.Fields(aws.ToString(failure.FailureReason)), " ")
	e.Status = http.StatusConflict
	if failure.FailureCode == types.ImageFailureCodeImageNotFound {
		e.Status = http.StatusNotFound
	}
	return e
}

// statuses are what a registry would answer where the API answers 400 and a code.
var statuses = map[string]int{
	"RepositoryNotFoundException": http.StatusNotFound, "ImageNotFoundException": http.StatusNotFound,
	"AccessDeniedException": http.StatusForbidden, "UnrecognizedClientException": http.StatusUnauthorized, "InvalidSignatureException": http.StatusUnauthorized,
	"ExpiredTokenException": http.StatusUnauthorized, "ThrottlingException": http.StatusTooManyRequests, "LimitExceededException": http.StatusTooManyRequests,
}

func (a *api) failed(operation, object string, err error) *image.Error {
	said := credential.ReadAWSError(err)
	e := a.problem(operation, object)
	e.Code, e.Message, e.Status = said.Code, said.Message, said.Status
	if status, known := statuses[said.Code]; known {
		e.Status = status
	}
	if e.Status == 0 {
		e.Cause = said.Unwrap()
	}
	return e
}

func (a *api) problem(operation, object string) *image.Error {
	switch {
	case reference.ValidDigest(object):
		object = "@" + object
	case object != "":
		object = ":" + object
	}
	return &image.Error{Method: "ecr:" + operation, Host: a.repo.Host, Repository: a.repo.Path, Reference: object, Login: "AWS credentials", Sought: a.sought}
}
