package provider

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

var (
	textListType    = types.ListType{ElemType: types.StringType}
	imageConfigType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"user": types.StringType, "working_dir": types.StringType, "env": textListType, "entrypoint": textListType, "cmd": textListType,
		"labels": types.MapType{ElemType: types.StringType},
	}}
	pointType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"id": types.StringType, "met": types.BoolType, "expected": types.StringType, "actual": types.StringType,
	}}
	contractType = map[string]attr.Type{
		"version": types.StringType, "python_version": types.StringType, "cache_key": types.StringType, "points": types.ListType{ElemType: pointType},
	}
)

// described is the state of an image as the registry has it.
func (m imageModel) described(repository reference.Repository, found *image.Image, statements []image.Attestation) imageModel {
	m.Digest = types.StringValue(found.Digest)
	m.Reference = types.StringValue(repository.WithDigest(found.Digest).String())
	m.MediaType = types.StringValue(found.MediaType)
	m.Platforms = stringList(slices.Sorted(maps.Keys(found.Manifests))...)
	m.Manifests = stringMapValue(found.Manifests)
	m.SizeBytes = types.Int64Value(found.SizeBytes)
	m.Attestations = attestedValue(statements)
	configs := map[string]attr.Value{}
	for platform, config := range found.Configs {
		configs[platform] = types.ObjectValueMust(imageConfigType.AttrTypes, map[string]attr.Value{
			"user": types.StringValue(config.User), "working_dir": types.StringValue(config.WorkingDir), "env": stringList(config.Env...),
			"entrypoint": stringList(config.Entrypoint...), "cmd": stringList(config.Cmd...), "labels": stringMapValue(config.Labels),
		})
	}
	m.Config = types.MapValueMust(imageConfigType, configs)
	m.Contract = contractValue(found)
	return m
}

func contractValue(found *image.Image) types.Object {
	configs := map[string]environment.ImageConfig{}
	for platform, c := range found.Configs {
		configs[platform] = environment.ImageConfig{
			User: c.User, WorkingDir: c.WorkingDir, Env: c.Env, Entrypoint: c.Entrypoint, Volumes: c.Volumes, OnBuild: c.OnBuild, StopSignal: c.StopSignal,
		}
	}
	points := []attr.Value{}
	for _, p := range environment.ContractPoints(configs) {
		points = append(points, types.ObjectValueMust(pointType.AttrTypes, map[string]attr.Value{
			"id": types.StringValue(p.ID), "met": types.BoolPointerValue(p.Met), "expected": types.StringValue(p.Expected), "actual": types.StringValue(p.Actual),
		}))
	}
	labels := commonLabels(found)
	return types.ObjectValueMust(contractType, map[string]attr.Value{
		"version": orNull(labels[environment.LabelContract]), "python_version": orNull(labels[environment.LabelPython]),
		"cache_key": orNull(labels[environment.LabelCacheKey]), "points": types.ListValueMust(pointType, points),
	})
}
