package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const measured = `goos: linux
BenchmarkCalls/GPULabel/slots=10-2      100   99 ns/op   50 p50-ns/op   70 p99-ns/op   0 B/op   0 allocs/op
BenchmarkCalls/GPULabel/slots=1000-2    100   99 ns/op   50 p50-ns/op   71 p99-ns/op   0 B/op   0 allocs/op
BenchmarkCalls/Nodes/slots=10-2         100   9 ns/op   1500 p50-ns/op   2000 p99-ns/op   9 B/op   3 allocs/op
BenchmarkCalls/Nodes/slots=1000-2       100   9 ns/op   150000 p50-ns/op   1200000 p99-ns/op   9 B/op   3 allocs/op
PASS
`

func TestTheTableShowsGrowth(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader(measured), &out); err != nil {
		t.Fatal(err)
	}
	want := "  median / p99 / allocs             10 slots            1000 slots  growth\n" +
		"             GPULabel      50ns / 70ns / 0       50ns / 71ns / 0    ×1.0\n" +
		"                Nodes    1.5µs / 2µs / 3   150µs / 1.2ms / 3  ×100.0\n"
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(out.String())); diff != "" {
		t.Error(diff)
	}
}

func TestASlowReadOrNoResultIsAFault(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"a slow read": {strings.Replace(measured, "150000 p50", "1500000 p50", 1), "with 1000 slots a read may take 1ms: Nodes takes 1.5ms"},
		"no result":   {"PASS\n", "no result of BenchmarkCalls on standard input"},
		"a failure":   {measured + "FAIL\tprovider\n", "FAIL\tprovider"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := run(strings.NewReader(test.in), &out); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
