package e2b

import (
	"bytes"
	"io"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// WireSecret is text in JSON.
type WireSecret = wireSecret

// Requests and Answers are the types that go over the wire, by the schema of E2B's OpenAPI document that they are of.
var (
	Requests = map[string]any{
		"TemplateBuildRequestV3": BuildRequest{}, "TemplateBuildStartV2": startBody{}, "TemplateStep": Step{}, "GeneralRegistry": registryBody{},
		"AssignTemplateTagsRequest": assignTags{}, "DeleteTemplateTagsRequest": removeTags{}, "NewSandbox": newSandboxBody{}, "SandboxNetworkConfig": networkBody{},
		"SandboxTimeoutRequest": timeoutBody{}, "ConnectSandbox": timeoutBody{},
	}
	Answers = map[string]any{
		"TemplateRequestResponseV3": RequestedBuild{}, "TemplateBuildFileUpload": UploadTarget{}, "TemplateBuildInfo": BuildInfo{}, "BuildLogEntry": LogEntry{},
		"BuildStatusReason": Reason{}, "Template": ListedTemplate{}, "TemplateWithBuilds": Template{}, "TemplateBuild": Build{}, "TemplateAliasResponse": Alias{},
		"AssignedTemplateTags": assignedTags{}, "TemplateTag": Tag{}, "Sandbox": sandboxBody{}, "ListedSandbox": ListedSandbox{}, "SandboxDetail": ListedSandbox{},
	}
	// Messages are by the name of their message in envd's protocol buffers.
	Messages = map[string]any{
		"process.ProcessConfig": processConfig{}, "process.StartRequest": startRequest{}, "process.StartResponse": startResponse{}, "process.ProcessEvent": processEvent{},
		"process.ProcessEvent.StartEvent": startEvent{}, "process.ProcessEvent.DataEvent": dataEvent{}, "process.ProcessEvent.EndEvent": endEvent{},
		"process.SendSignalRequest": sendSignalRequest{}, "process.ProcessSelector": processSelector{},
		"filesystem.StatRequest": pathRequest{}, "filesystem.MakeDirRequest": pathRequest{}, "filesystem.RemoveRequest": pathRequest{}, "filesystem.MoveRequest": moveRequest{},
		"filesystem.ListDirRequest": listDirRequest{}, "filesystem.ListDirResponse": listDirResponse{}, "filesystem.StatResponse": entryResponse{}, "filesystem.EntryInfo": Entry{},
	}
	Frame  = frame
	Frames = frames
)

// NewWireSecret makes one.
func NewWireSecret(text string) WireSecret { return wireSecret{secret.New(text)} }

// Read takes the events of an execution.
func Read(events []byte) (Execution, error) {
	var e Execution
	err := e.read(readerOf(events), nil)
	return e, err
}

func readerOf(content []byte) io.Reader { return bytes.NewReader(content) }
