package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// usageError is a command line that was wrong.
type usageError struct{ error }

// errHelp is a command line that asked for help and got it.
var errHelp = errors.New("help was asked for")

// exitCode is a command that picks its exit code and has said itself what it had to say.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// flags are the flags of one command, with the text that goes above them in its help.
type flags struct {
	*flag.FlagSet
	about string
}

func newFlags(name, about string) flags {
	f := flags{flag.NewFlagSet(name, flag.ContinueOnError), about}
	f.SetOutput(discard{})
	f.Usage = func() {}
	return f
}

func (f flags) help() {
	_, _ = fmt.Fprintf(os.Stdout, "Usage: sandbox %s [flags]\n\n%s\n\nFlags:\n", f.Name(), f.about)
	f.SetOutput(os.Stdout)
	f.PrintDefaults()
}

// discard keeps the flag package from printing an error that report prints better.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// parse reads the command line; nothing but flags may be on it.
func (f flags) parse(args []string) error {
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.help()
		return errHelp
	case err != nil:
		return usageError{err}
	case f.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q", f.Arg(0))}
	}
	return nil
}
