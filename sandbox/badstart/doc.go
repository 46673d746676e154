// Package badstart starts the built manager where it cannot work, and compares the one line that it says with its exit
// code. The bad starts that need no API server are tested beside the command.
//
// It is tests alone.
package badstart
