package plugin

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal that nobody sits at.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine lends no terminal: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	seat, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = seat.Close() })
	return seat
}

func TestColoursAreForTerminalsAlone(t *testing.T) {
	seat := terminal(t)
	pipe, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close(); _ = other.Close() })
	for name, test := range map[string]struct {
		out     *os.File
		noColor string
		want    string
	}{
		"a terminal":                        {seat, "", "\x1b[31mred\x1b[0m"},
		"a terminal of who likes no colour": {seat, "1", "red"},
		"a pipe":                            {other, "", "red"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			p := &printer{Writer: test.out}
			if got := p.colour(red, "red"); got != test.want {
				t.Errorf("printed %q, want %q", got, test.want)
			}
		})
	}
}
