// Package describe holds the documentation to what `kubectl describe` prints: the story of two boots that failed, read the
// day after, when no event is left.
//
// It is tests alone.
package describe
