// Package replay plays random histories of core/model on a real API server, through the real observer and the real commit,
// and compares the two worlds after every move: the model is not its own witness.
//
// What the world does (clients, people, kubelets, Jobs, the garbage collector) is done to the API server by the difference
// that the move makes in the model; the control plane runs none of the controllers that would do it in their own time. What
// the manager does, it does: observe, slot.Step and Commit are the code that runs at home, on a clock that is stepped. The
// API server stamps creations and deletions with its own clock, which is translated for the observer.
//
// Histories have no pods to drain, no readings of the machine's own switch (nothing observes them yet) and no namespace that
// is being deleted. It is tests alone.
package replay
