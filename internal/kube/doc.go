// Package kube is where the process meets the API server: the only writer of objects, the only real clock, the cache's
// indexes, the event recorder and the classes of API errors.
//
// Nothing here decides anything. A write carries the UID and resourceVersion its caller decided on, so that a decision
// taken on a stale reading is refused by the API server instead of being carried out.
package kube
