// Command bench turns the output of the provider's benchmark into one table: a row per call, a column per number of
// slots, and how much the largest costs more than the smallest. It fails when a read takes more than its bound.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// bound is how long a read may usually take in a pool of boundAt slots. The median is judged: it tells of the code
	// even on a machine that does other work.
	bound, boundAt = time.Millisecond, 1000
	// decides ends the name of a row that is no read.
	decides = "-decides"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// cell is what was measured of one call at one number of slots.
type cell struct {
	p50, p99 time.Duration
	allocs   int
}

// result is one line of a benchmark: name, slots, and the numbers with their units.
var result = regexp.MustCompile(`^BenchmarkCalls/(\S+)/slots=(\d+)\S*\s+\d+\s+(.*)$`)

func run(in io.Reader, out io.Writer) error {
	var calls []string
	var sizes []int
	cells := map[string]map[int]cell{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		found := result.FindStringSubmatch(line)
		if found == nil {
			if strings.Contains(line, "FAIL") {
				return errors.New(line)
			}
			continue
		}
		name, numbers := found[1], found[3]
		slots, err := strconv.Atoi(found[2])
		if err != nil {
			return err
		}
		if cells[name] == nil {
			calls, cells[name] = append(calls, name), map[int]cell{}
		}
		if !slices.Contains(sizes, slots) {
			sizes = append(sizes, slots)
		}
		cells[name][slots] = cell{
			time.Duration(number(numbers, "p50-ns/op")), time.Duration(number(numbers, "p99-ns/op")), int(number(numbers, "allocs/op")),
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(calls) == 0 {
		return errors.New("no result of BenchmarkCalls on standard input")
	}
	if err := table(out, calls, sizes, cells); err != nil {
		return err
	}
	return within(calls, cells)
}

// number is the number before the unit; zero: there is none.
func number(text, unit string) float64 {
	fields := strings.Fields(text)
	if i := slices.Index(fields, unit); i > 0 {
		if n, err := strconv.ParseFloat(fields[i-1], 64); err == nil {
			return n
		}
	}
	return 0
}

func table(out io.Writer, calls []string, sizes []int, cells map[string]map[int]cell) error {
	var text strings.Builder
	text.WriteString("median / p99 / allocs\t")
	for _, n := range sizes {
		fmt.Fprintf(&text, "%d slots\t", n)
	}
	text.WriteString("growth\t\n")
	for _, name := range calls {
		text.WriteString(name + "\t")
		for _, n := range sizes {
			c := cells[name][n]
			fmt.Fprintf(&text, "%s / %s / %d\t", short(c.p50), short(c.p99), c.allocs)
		}
		least, most := cells[name][slices.Min(sizes)], cells[name][slices.Max(sizes)]
		fmt.Fprintf(&text, "×%.1f\t\n", float64(most.p50)/float64(max(least.p50, 1)))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return w.Flush()
}

// short is a duration in three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3gµs", float64(d)/float64(time.Microsecond))
	}
	return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
}

func within(calls []string, cells map[string]map[int]cell) error {
	var slow []string
	for _, name := range calls {
		if c := cells[name][boundAt]; !strings.HasSuffix(name, decides) && c.p50 > bound {
			slow = append(slow, fmt.Sprintf("%s takes %s", name, c.p50))
		}
	}
	if len(slow) > 0 {
		return fmt.Errorf("with %d slots a read may take %s: %s", boundAt, bound, strings.Join(slow, ", "))
	}
	return nil
}
