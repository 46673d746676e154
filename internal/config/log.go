package config

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/go-logr/logr"
)

// Log is the log's least level and its format, text or json.
type Log struct {
	Level  slog.Level
	Format string
}

// flags declares how a program logs. The level is taken after the parse, for an error of our own words.
func (l *Log) flags(flags *flag.FlagSet, level *string) {
	flags.StringVar(level, "log-level", *level, "least `level` to log: debug, info, warn or error")
	flags.StringVar(&l.Format, "log-format", "text", "`format` of the log: text or json")
}

func (l *Log) take(level string) error {
	if err := l.Level.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level %q is not one of debug, info, warn, error", level)
	}
	return nil
}

func (l *Log) validate() error {
	if !slices.Contains([]string{"text", "json"}, l.Format) {
		return fmt.Errorf("--log-format %q is not text or json", l.Format)
	}
	return nil
}

// Logger writes to standard error in the format and from the level asked for.
func (l Log) Logger() logr.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, options))
}
