// Package liveview shows a sandbox while it runs: on a terminal a picture redrawn in place, anywhere else one plain line
// per change.
//
// A Frame is what there is to see at one moment, and knows nothing of Kubernetes. Render and Changes are pure: a frame
// to a picture, two frames to the lines that tell them apart. View is the thin part that writes to a file.
package liveview
