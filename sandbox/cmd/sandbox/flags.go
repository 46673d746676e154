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

// newFlags are the flags of one command, with the text that goes above them in its help.
func newFlags(name, about string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(discard{})
	flags.Usage = func() {
		fmt.Fprintf(os.Stdout, "Usage: sandbox %s [flags]\n\n%s\n\nFlags:\n", name, about)
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
	}
	return flags
}

// discard keeps the flag package from printing an error that report prints better.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// parse reads the command line; nothing but flags may be on it.
func parse(flags *flag.FlagSet, args []string) error {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return errHelp
	case err != nil:
		return usageError{err}
	case flags.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	}
	return nil
}
