// Package admission asks the real API server about objects of ours while a manager answers its webhooks, and while none
// does: what is filled in, refused and warned of, that nothing is ever kept from ending, and that a new certificate cuts
// nobody off.
//
// It is tests alone.
package admission
