package credential

import (
	"context"
	"net/url"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// resolveEndpoint is the SDK's name for the step that finds an endpoint; signing comes after it.
const resolveEndpoint = "ResolveEndpointV2"

// atSTS sends what is asked of STS to an endpoint of one's own, whichever client asks: the SDK makes those for a profile's
// role and for a web identity itself, and takes an endpoint for them from the environment alone.
func atSTS(endpoint string) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		if _, has := stack.Finalize.Get(resolveEndpoint); !has {
			return nil
		}
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("EndpointOfOnesOwn", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			request, ok := in.Request.(*smithyhttp.Request)
			if !ok || awsmiddleware.GetServiceID(ctx) != sts.ServiceID {
				return next.HandleFinalize(ctx, in)
			}
			own, err := url.Parse(endpoint)
			if err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, err
			}
			// Every operation of STS is a POST to the root.
			request.URL.Scheme, request.URL.Host = own.Scheme, own.Host
			request.URL.Path, request.URL.RawPath = smithyhttp.JoinPath(own.Path, "/"), ""
			return next.HandleFinalize(ctx, in)
		}), resolveEndpoint, middleware.After)
	}
}
