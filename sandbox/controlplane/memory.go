package controlplane

import (
	"os"
	"strconv"
	"strings"
)

// The build must fit 2 cores and 8 GiB, and not fail on many cores with little memory. The largest compilations
// (generated API types) take more than 1 GiB when the collector lets the heap double, and go would start one per core:
// they run one per 2 GiB. The link at the end is alone and takes 3 GiB; a soft limit there has the collector work
// harder instead of growing further. It is a limit that never fails a build.
const (
	softLimit       = "3GiB"
	perProcessBytes = 2 << 30
)

// parallel is how many compilations may run at once.
func parallel(cores int, bytes int64) int {
	if bytes <= 0 {
		return cores
	}
	return max(1, min(cores, int(bytes/perProcessBytes)))
}

// memory is what this process may count on: the machine's memory or its cgroup's limit, whichever is smaller; zero
// where neither can be read.
func memory() int64 {
	total := totalMemory()
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return total
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || (total > 0 && total < limit) { // "max" is no number
		return total
	}
	return limit
}

func totalMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
