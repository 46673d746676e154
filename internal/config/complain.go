package config

import (
	"fmt"
	"io"
	"strings"
)

// Complain says on one line, in the name of a program, what is wrong, and answers the exit code that it is given. Where even
// that fails, the exit code is left.
func Complain(w io.Writer, program string, err error, code int) int {
	_, _ = fmt.Fprintf(w, "%s: %v\n", program, flat{err})
	return code
}

// flat is an error told on one line.
type flat struct{ error }

func (f flat) Error() string { return strings.Join(strings.Fields(f.error.Error()), " ") }

func (f flat) Unwrap() error { return f.error }
