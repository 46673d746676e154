// Package job builds lifecycle Jobs: the one container that works a machine's power switch, with hardened defaults.
//
// Pure: a slot, who the Job is for, the operation and its number in; a complete Job out.
package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Name is the name of the n-th Job of an operation for a claim: <claim>-up-<n> or <claim>-down-<n>.
func Name(prefix string, op v2.Operation, n int32) string {
	if op == v2.OperationStartup {
		return fmt.Sprintf("%s-up-%d", prefix, n)
	}
	return fmt.Sprintf("%s-down-%d", prefix, n)
}

// UnclaimedPrefix is the Job name prefix for an unclaimed machine: <slot>-<hash of since>, so that no earlier period's
// Job is taken for this one's.
func UnclaimedPrefix(slot string, since time.Time) string {
	sum := sha256.Sum256([]byte(since.UTC().Format(time.RFC3339)))
	return slot + "-" + hex.EncodeToString(sum[:3])
}
