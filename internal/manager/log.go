package manager

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"

	"homecluster.dev/autoscaler/internal/config"
)

// logger writes to standard error in the format and from the level asked for.
func logger(c config.Log) logr.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, options))
}

// version is set by the linker in a release.
var version string

// Version is the release, or the commit it was built from, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "devel-" + setting.Value[:12]
		}
	}
	return "devel"
}
