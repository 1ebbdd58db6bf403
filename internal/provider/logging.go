package provider

import (
	"context"
	"log/slog"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// terraformLog hands the records of the engines, which log with slog, to Terraform's own log.
type terraformLog struct{ attributes []slog.Attr }

func newLogger() *slog.Logger { return slog.New(terraformLog{}) }

// Enabled answers true: Terraform's log decides by TF_LOG.
func (terraformLog) Enabled(context.Context, slog.Level) bool { return true }

func (h terraformLog) Handle(ctx context.Context, record slog.Record) error {
	fields := map[string]any{}
	add := func(a slog.Attr) bool {
		fields[a.Key] = a.Value.Resolve().String()
		return true
	}
	for _, a := range h.attributes {
		add(a)
	}
	record.Attrs(add)
	switch {
	case record.Level >= slog.LevelError:
		tflog.Error(ctx, record.Message, fields)
	case record.Level >= slog.LevelWarn:
		tflog.Warn(ctx, record.Message, fields)
	case record.Level >= slog.LevelInfo:
		tflog.Info(ctx, record.Message, fields)
	default:
		tflog.Debug(ctx, record.Message, fields)
	}
	return nil
}

func (h terraformLog) WithAttrs(attributes []slog.Attr) slog.Handler {
	return terraformLog{attributes: append(append([]slog.Attr{}, h.attributes...), attributes...)}
}

// WithGroup keeps the fields flat, as Terraform's log has them.
func (h terraformLog) WithGroup(string) slog.Handler { return h }
