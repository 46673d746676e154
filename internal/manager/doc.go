// Package manager is the composition root: it builds everything from a Config and an API server's address, and runs it.
// The binary, the sandbox and the tests all start here.
package manager
