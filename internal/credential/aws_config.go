package credential

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/smithy-go/middleware"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Session gives a client of the ECR API of a host's registry, held to the grants as a login would be. ok is false where the
// host is not AWS's matter.
func (r *Resolver) Session(ctx context.Context, host string) (client *ecr.Client, at ECRHost, ok bool, err error) {
	host = reference.CanonicalHost(host)
	if r.hasLogin(host) {
		return nil, ECRHost{}, false, nil
	}
	use := r.uses[host]
	who, at, ok := r.aws.identity(host, use.own)
	if !ok {
		return nil, ECRHost{}, false, nil
	}
	client, err = r.aws.clientFor(ctx, host, who, at, use.grants)
	return client, at, true, err
}

func (a *AWS) clientFor(ctx context.Context, host string, who Identity, at ECRHost, grants []Grant) (*ecr.Client, error) {
	state, policy, err := a.state(who, at, grants)
	if err != nil {
		return nil, err
	}
	leave, missed, err := state.enter(ctx, host, who)
	if err != nil {
		return nil, err
	}
	defer leave()
	if missed.session {
		return nil, missed.failure
	}
	if err := a.enterSession(ctx, state, host, who, at, policy); err != nil {
		return nil, err
	}
	return a.ecr(ctx, who, at, state.session)
}

// ecr is a client of the host's ECR API with these keys, at the same kind of endpoint as the registry's host is.
func (a *AWS) ecr(ctx context.Context, who Identity, at ECRHost, keys aws.Credentials) (*ecr.Client, error) {
	base, err := a.base(ctx, who.Profile, at)
	if err != nil {
		return nil, err
	}
	cfg := base.Copy()
	cfg.Region = at.Region
	cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys, nil })
	return ecr.NewFromConfig(cfg, func(o *ecr.Options) {
		if a.options.ECREndpoint != "" {
			o.BaseEndpoint = aws.String(a.options.ECREndpoint)
		}
		// An endpoint of one's own is of the kind that it is: the SDK takes no other word beside it.
		if at.FIPS && o.BaseEndpoint == nil {
			o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateEnabled
		}
		if at.DualStack && o.BaseEndpoint == nil {
			o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateEnabled
		}
	}), nil
}

// token asks ECR for a login.
func (a *AWS) token(ctx context.Context, host string, who Identity, at ECRHost, keys aws.Credentials) (image.Credential, time.Time, error) {
	client, err := a.ecr(ctx, who, at, keys)
	if err != nil {
		return image.Credential{}, time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, awsTimeout)
	defer cancel()
	answer, err := client.GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	misread := func(what string) error {
		return &problem.Problem{Title: "Login token of ECR is not understood", Object: host, Cause: errors.New(what), Advice: "Check what answers for the ECR API in " + at.Region + ": aws.endpoints.ecr, HTTPS_PROXY, what stands before the network."}
	}
	switch {
	case err != nil && ReadAWSError(err).misread():
		return image.Credential{}, time.Time{}, misread(ReadAWSError(err).Message)
	case err != nil:
		return image.Credential{}, time.Time{}, a.tokenRefused(ctx, host, who, at, keys, err)
	}
	if len(answer.AuthorizationData) == 0 || answer.AuthorizationData[0].ExpiresAt == nil {
		return image.Credential{}, time.Time{}, misread("the answer holds no token with an end")
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(answer.AuthorizationData[0].AuthorizationToken))
	user, password, found := strings.Cut(string(text), ":")
	if err != nil || !found || password == "" {
		return image.Credential{}, time.Time{}, misread("the token is not a user name and a password")
	}
	ends, now := *answer.AuthorizationData[0].ExpiresAt, a.options.Now()
	if !ends.After(now) {
		return image.Credential{}, time.Time{}, &problem.Problem{Title: "Login token of ECR has ended already", Object: host,
			Cause:  fmt.Errorf("it ended at %s, and by the clock of this machine it is %s", ends.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)),
			Advice: "A new token lasts 12 hours: set the clock of this machine, or check what answers for the ECR API (aws.endpoints.ecr)."}
	}
	source := "AWS"
	if who.RoleARN != "" {
		source = "the role " + who.RoleARN
	}
	return image.Credential{Username: user, Password: secret.New(password), Source: source}, ends, nil
}

// region is where STS is asked for a host. The one that is configured knows nothing of the other partitions' identities.
func (a *AWS) region(at ECRHost) (region string, configured bool) {
	if in := partitionOf(a.options.Region); a.options.Region != "" && (in == at.Partition || in == "") {
		return a.options.Region, true
	}
	return at.Region, false
}

// base is the configuration that the environment and the profile make, read when AWS is needed first in a partition.
func (a *AWS) base(ctx context.Context, profile string, at ECRHost) (aws.Config, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := baseKey{profile, at.Partition}
	if cfg, ok := a.bases[key]; ok {
		return cfg, nil
	}
	options := []func(*config.LoadOptions) error{config.WithAppID("terraform-provider-datalayer")}
	// A profile's own role and a web identity are asked for at STS too, before anything of ours is.
	if region, configured := a.region(at); configured {
		options = append(options, config.WithRegion(region))
	} else {
		options = append(options, config.WithDefaultRegion(region))
	}
	if a.options.HTTPClient != nil {
		options = append(options, config.WithHTTPClient(a.options.HTTPClient))
	}
	if a.options.STSEndpoint != "" {
		options = append(options, config.WithAPIOptions([]func(*middleware.Stack) error{atSTS(a.options.STSEndpoint)}))
	}
	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, configProblem(profile, err)
	}
	// Only now: the SDK's own client takes AWS_CA_BUNDLE while the configuration is read.
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = awshttp.NewBuildableClient()
	}
	if own, is := cfg.HTTPClient.(*awshttp.BuildableClient); is {
		cfg.HTTPClient = own.WithTransportOptions(func(transport *http.Transport) { transport.OnProxyConnectResponse = retry.FromProxy })
	}
	cfg.HTTPClient = plainWords{cfg.HTTPClient}
	a.bases[key] = cfg
	return cfg, nil
}
