package config

import (
	"log/slog"
	"os"

	"github.com/go-logr/logr"
)

// Logger writes to standard error in the format and from the level asked for.
func (l Log) Logger() logr.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, options))
}
